//! Rings: which stations send, how much of the ring a frame passes, and what a station may send for
//! each token.

use std::collections::HashSet;

use btu_network::{Arrivals, Attachment, Drawing, Flow, SegmentId, StationId, Target};

use super::server::{FrameServer, Nature, ServerLocation, Visit};
use crate::fddi;
use crate::polling::ServiceDiscipline;

/// Frames that a gated station with a saturated flow has when the token comes: such a flow keeps two
/// at its station.
const KEPT: f64 = 2.0;

/// Pairs of senders and receivers above which their mean distance is taken as half a ring.
const MOST_PAIRS: usize = 1_000_000;

/// The seat of each station on its segment, in the order of the drawing; bridges follow.
pub(super) struct Seats<'a> {
    pub(super) drawing: &'a Drawing,
    seats: Vec<u32>,
}

impl<'a> Seats<'a> {
    pub(super) fn of(drawing: &'a Drawing) -> Self {
        let mut taken = vec![0; drawing.segments.len()];
        let seat = |attachment: Attachment| match attachment {
            Attachment::Segment(segment, _) => {
                let seat: &mut u32 = &mut taken[segment.0 as usize];
                *seat += 1;
                *seat - 1
            }
            Attachment::Link(_) => 0,
        };
        let seats = drawing.stations.iter().map(|station| station.attachment).map(seat).collect();
        Self { drawing, seats }
    }

    /// The share of the ring that a flow's frames (or replies) pass in the mean; half of it where
    /// one end is behind a bridge.
    pub(super) fn share(&self, flow: &Flow, reply: bool, server: &FrameServer) -> f64 {
        let ServerLocation::Segment(segment) = server.place else { return 0.5 };
        let pairs = pairs(flow);
        if pairs.is_empty() {
            return 0.5;
        }
        let there =
            |pair: &(StationId, StationId)| self.distance(*pair, SegmentId(segment), server);
        let mean = pairs.iter().map(there).sum::<f64>() / pairs.len() as f64;
        if reply { 1.0 - mean } else { mean }
    }

    fn distance(
        &self,
        (from, to): (StationId, StationId),
        ring: SegmentId,
        server: &FrameServer,
    ) -> f64 {
        let seat = |id: StationId| match self.drawing.station(id).attachment {
            Attachment::Segment(here, _) if here == ring => Some(self.seats[id.0 as usize]),
            _ => None,
        };
        let stations = server.stations.max(1);
        match (seat(from), seat(to)) {
            (Some(from), Some(to)) => {
                f64::from((to + stations - from) % stations) / f64::from(stations)
            }
            _ => 0.5,
        }
    }

    /// How many stations of a ring send by themselves or reply; each of its bridges counts as one.
    pub(super) fn active(&self, segment: u32) -> f64 {
        let here = |id: &&StationId| matches!(self.drawing.station(**id).attachment, Attachment::Segment(at, _) if at.0 == segment);
        let senders: HashSet<StationId> = self
            .drawing
            .traffic
            .iter()
            .flat_map(|flow| flow.from.iter().chain(repliers(flow)))
            .filter(here)
            .copied()
            .collect();
        let bridges = self
            .drawing
            .bridges
            .iter()
            .filter(|bridge| bridge.segments.iter().any(|(at, _)| at.0 == segment));
        (senders.len() + bridges.count()).max(1) as f64
    }
}

/// Senders and receivers; none where they are too many, and of a broadcast.
fn pairs(flow: &Flow) -> Vec<(StationId, StationId)> {
    let to_each = |list: &[StationId]| {
        let other =
            |from: StationId| list.iter().filter(move |to| **to != from).map(move |to| (from, *to));
        flow.from.iter().flat_map(|from| other(*from)).collect()
    };
    match &flow.to {
        Target::Station(one) => to_each(std::slice::from_ref(one)),
        Target::AnyOf(list) if list.len() * flow.from.len() <= MOST_PAIRS => to_each(list),
        Target::Next => {
            flow.from.iter().copied().zip(flow.from.iter().copied().cycle().skip(1)).collect()
        }
        Target::AnyOf(_) | Target::Broadcast => Vec::new(),
    }
}

/// The stations that reply to a flow.
fn repliers(flow: &Flow) -> &[StationId] {
    match (&flow.to, flow.arrivals) {
        (Target::Station(one), Arrivals::Closed { reply: Some(_), .. }) => {
            std::slice::from_ref(one)
        }
        (Target::AnyOf(list), Arrivals::Closed { reply: Some(_), .. }) => list,
        _ => &[],
    }
}

/// Seconds of a full ring that a frame takes: its own time, and its share of the token's way round
/// with every station sending all that it may.
pub(super) fn cost(server: &FrameServer, visit: &Visit) -> f64 {
    let latency = server.propagation;
    match server.nature {
        Nature::TokenRing { turn, holding, early_release } => {
            let kept = match turn {
                ServiceDiscipline::One => 1.0,
                ServiceDiscipline::Gated => KEPT,
                ServiceDiscipline::Exhaustive => frames_within(holding, visit),
            };
            let returns = if early_release { 0.0 } else { (latency - visit.mean).max(0.0) };
            visit.mean + (returns + latency / server.active) / kept
        }
        Nature::TimedToken { target } => {
            let efficiency = fddi::efficiency(server.active, target, latency).value;
            visit.mean / efficiency.unwrap_or(0.0).max(1e-9)
        }
        Nature::Cable { .. } | Nature::Line | Nature::Delay => visit.mean,
    }
}

/// Frames that end within the holding time, at least one. Of sizes that differ the last one that
/// would not fit leaves half a frame's mean excess of it unused (the inspection paradox).
fn frames_within(holding: f64, visit: &Visit) -> f64 {
    let (mean, second) = (visit.mean, visit.second);
    let differs = second > mean * mean * (1.0 + 1e-9);
    let frames = if differs {
        holding / mean - second / (2.0 * mean * mean)
    } else {
        (holding / mean + 1e-9).floor()
    };
    frames.max(1.0)
}
