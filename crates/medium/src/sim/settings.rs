//! The length and the number of replications.

use btu_network::{Arrivals, Attachment, Contention, Drawing, Flow, Medium, Rate, StationId};
use btu_units::{BitRate, Span};
use serde::Serialize;

/// The number of batches in the counted time of a replication.
pub const BATCHES: u32 = 20;

/// The number of frames of a replication when its length is not given.
const FRAMES: f64 = 200_000.0;

/// The settings of a simulation, in addition to the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Virtual time of each replication, warm-up included.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Virtual time at the start that is not counted.
    #[serde(rename = "warm_up_ns")]
    pub warm_up: Span,
    /// The number of replications of the simulation.
    pub replications: u32,
    /// Seeds all random streams.
    pub seed: u64,
}

impl Settings {
    /// The default number of replications: enough for an interval.
    pub const REPLICATIONS: u32 = 5;

    /// Settings for `drawing`: as long as about 200,000 frames take, from 2 s to 1 h; a tenth of it
    /// warm-up. They depend on the drawing alone, never on the machine.
    pub fn suited(drawing: &Drawing, seed: u64) -> Self {
        let frames_per_second: f64 =
            drawing.traffic.iter().map(|flow| expected_rate(drawing, flow)).sum();
        let duration = round(Span::from_seconds_f64(
            (FRAMES / frames_per_second.max(1e-3)).clamp(2.0, 3600.0),
        ));
        Self { replications: Self::REPLICATIONS, seed, ..Self::lasting(duration) }
    }

    /// One replication of this length, a tenth of it warm-up; seed 0.
    pub fn lasting(duration: Span) -> Self {
        let warm_up = Span::from_nanoseconds(duration.nanoseconds() / 10);
        Self { duration, warm_up, replications: 1, seed: 0 }
    }

    /// The time that counts.
    pub fn counted(&self) -> Span {
        self.duration.saturating_sub(self.warm_up)
    }
}

/// Turns every shared Ethernet's contention into Lam's idealised one.
pub fn idealise(drawing: &mut Drawing) {
    for segment in &mut drawing.segments {
        if let Medium::SharedEthernet(ethernet) = &mut segment.medium {
            ethernet.contention = Contention::Ideal;
        }
    }
}

/// The next longer 1, 2 or 5 times a power of ten seconds.
fn round(span: Span) -> Span {
    let seconds = span.seconds();
    let decade = 10f64.powi(seconds.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * decade >= seconds * 0.999);
    Span::from_seconds_f64(step.unwrap_or(10.0) * decade)
}

/// The approximate rate of frames that a flow's senders hand over, all together, per second.
fn expected_rate(drawing: &Drawing, flow: &Flow) -> f64 {
    let senders = flow.from.len() as f64;
    match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => {
            per_second * senders
        }
        Arrivals::Saturated => saturated_rate(drawing, flow),
        Arrivals::Closed { think, reply, service } => {
            let frames = if reply.is_some() { 2.0 } else { 1.0 };
            let least =
                think.seconds() + service.seconds() + frames * flow.sizes.mean() * 8.0 / 1e9;
            frames * senders / least.max(1e-6)
        }
    }
}

/// The highest rate of the senders' media: of a shared medium its rate once, of lines each line's.
fn saturated_rate(drawing: &Drawing, flow: &Flow) -> f64 {
    let mut shared = vec![false; drawing.segments.len()];
    let mut bits_per_second = 0.0;
    for &sender in &flow.from {
        let (segment, rate) = first_medium(drawing, sender);
        let counted = segment.is_some_and(|segment| std::mem::replace(&mut shared[segment], true));
        if !counted {
            bits_per_second += rate.bits_per_second() as f64;
        }
    }
    bits_per_second / (flow.sizes.mean() * 8.0).max(1.0)
}

/// The rate of the medium or line that a station sends on; where it is shared, its segment's place
/// as well.
fn first_medium(drawing: &Drawing, station: StationId) -> (Option<usize>, BitRate) {
    match drawing.station(station).attachment {
        Attachment::Segment(segment, _) => {
            let shared = Some(segment.0 as usize);
            match &drawing.segment(segment).medium {
                Medium::SharedEthernet(ethernet) => (shared, ethernet.rate),
                Medium::TokenRing(ring) => (shared, ring.rate),
                Medium::Fddi(ring) => (shared, ring.rate),
                Medium::SwitchedEthernet(star) => (None, mean_rate(&star.up.rate)),
                Medium::Atm(atm) => (None, mean_rate(&atm.star.up.rate)),
            }
        }
        Attachment::Link(link) => (None, mean_rate(&drawing.link(link).forth.rate)),
    }
}

/// A rate, or a trace's mean one.
pub(super) fn mean_rate(rate: &Rate) -> BitRate {
    match rate {
        Rate::Fixed(rate) => *rate,
        Rate::Trace(trace) => trace.mean_rate(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_as_people_round() {
        let table =
            [(2.0, 2.0), (2.1, 5.0), (13.0, 20.0), (50.0, 50.0), (3600.0, 5000.0), (700.0, 1000.0)];
        for (asked, rounded) in table {
            assert_eq!(
                round(Span::from_seconds_f64(asked)),
                Span::from_seconds_f64(rounded),
                "{asked}"
            );
        }
    }
}
