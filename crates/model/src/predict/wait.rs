//! The wait at each server, and its utilisation.

use std::f64::consts::E;

use super::answers::PacketSizes;
use super::frames::Class;
use super::server::{Nature, Server, Visit};
use crate::answer::{Answer, Warning};
use crate::contention::SharedCable;
use crate::fddi;
use crate::frame_times::FrameTimes;
use crate::polling::{Ring, Turn};
use crate::single_queue;

/// The load of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// The number of frames per second.
    pub(super) frames: f64,
    /// Mean own bits of a frame.
    pub(super) own_bits: f64,
    /// Share of time in frames' own bits.
    pub(super) data: f64,
    /// Share of time in everything; stable below one.
    pub(super) used: f64,
    /// The largest share of time in frames' own bits.
    pub(super) capacity: f64,
    /// Mean seconds that a frame occupies the server.
    pub(super) occupied: f64,
    /// Mean seconds until a frame begins.
    pub(super) waiting: Answer,
}

impl Wait {
    /// Mean seconds of a frame that occupies the server so long.
    pub(super) fn delay_of(&self, occupied: f64, server: &Server) -> Answer {
        self.waiting.map(|wait| wait + occupied + server.beyond())
    }

    /// Mean seconds of all frames; none without any.
    pub(super) fn delay(&self, server: &Server) -> Answer {
        if self.frames > 0.0 { self.delay_of(self.occupied, server) } else { Answer::OUT_OF_RANGE }
    }
}

/// The wait at `server` where the flows' senders have these rates.
pub(super) fn at(server: &Server, classes: &[Class], rates: &[f64]) -> Wait {
    let mut sums = Sums::default();
    for visit in &server.visits {
        let frames = visit.unit * rates[classes[visit.class].flow];
        sums.frames += frames;
        sums.own_bits += frames * classes[visit.class].mean_bits;
        sums.busy += frames * visit.mean;
        sums.second += frames * visit.second;
    }
    if sums.frames <= 0.0 {
        return Wait {
            frames: 0.0,
            own_bits: 0.0,
            data: 0.0,
            used: 0.0,
            capacity: 1.0,
            occupied: 0.0,
            waiting: Answer::of(0.0),
        };
    }
    let load = Load { server, classes, rates, sums };
    match server.nature {
        Nature::Cable { ideal } => load.cable(ideal),
        Nature::TokenRing { turn, early_release } => load.token_ring(turn, early_release),
        Nature::TimedToken { target } => load.timed_token(target),
        Nature::Line => load.line(),
        Nature::Delay => load.answer(0.0, 1.0, Answer::of(0.0)),
    }
}

/// Sums over all frames of a second.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    frames: f64,
    own_bits: f64,
    busy: f64,
    second: f64,
}

struct Load<'a> {
    server: &'a Server,
    classes: &'a [Class],
    rates: &'a [f64],
    sums: Sums,
}

impl Load<'_> {
    /// The load if `used` of the server is used and a full server would carry this share of its
    /// time as frames.
    fn answer(&self, used: f64, capacity: f64, waiting: Answer) -> Wait {
        let Sums { frames, own_bits, busy, .. } = self.sums;
        Wait {
            frames,
            own_bits: own_bits / frames,
            data: if self.server.queues() { own_bits / self.server.rate } else { 0.0 },
            used,
            capacity,
            occupied: busy / frames,
            waiting,
        }
    }

    /// The share of frames' own bits in what they occupy.
    fn own_share(&self) -> f64 {
        self.sums.own_bits / self.server.rate / self.sums.busy
    }

    fn times(&self) -> FrameTimes {
        let kind = |visit: &Visit| {
            let class = &self.classes[visit.class];
            let frames = visit.unit * self.rates[class.flow];
            (frames > 0.0).then(|| (frames, class.times(self.server.occupation, self.server.rate)))
        };
        FrameTimes::mix(self.server.visits.iter().filter_map(kind))
    }

    fn cable(&self, ideal: bool) -> Wait {
        let (rate, propagation) = (self.sums.frames, self.server.propagation);
        let mean = self.sums.busy / self.sums.frames;
        let times = match self.server.sizes {
            PacketSizes::Mean => FrameTimes::fixed(mean),
            PacketSizes::Drawn => self.times(),
        };
        let cable = SharedCable { rate, times, propagation };
        let mut waiting = cable.delay().map(|delay| (delay - mean).max(0.0));
        if ideal && waiting.warning == Some(Warning::Optimistic) {
            // The network is the formula's own.
            waiting.warning = None;
        }
        let capacity = self.own_share() * mean / (mean + propagation * (1.0 + 2.0 * E));
        self.answer(cable.data_and_collisions(), capacity, waiting)
    }

    fn token_ring(&self, turn: Turn, early_release: bool) -> Wait {
        let (stations, latency) = (self.server.stations.max(1), self.server.propagation);
        let ring = Ring { stations, latency, rate: self.sums.frames, times: self.times() };
        let (mean, waiting) = if early_release {
            (ring.times.mean(), ring.waiting(turn))
        } else {
            (ring.times.moments_of_at_least(latency).0, ring.waiting_without_early_release(turn))
        };
        let hop = if turn == Turn::One { latency / f64::from(stations) } else { 0.0 };
        let capacity = self.own_share() * (self.sums.busy / self.sums.frames) / (mean + hop);
        self.answer(self.sums.frames * (mean + hop), capacity, waiting)
    }

    fn timed_token(&self, target: f64) -> Wait {
        let (stations, latency) = (self.server.stations.max(1), self.server.propagation);
        let ring = Ring { stations, latency, rate: self.sums.frames, times: self.times() };
        let efficiency = fddi::efficiency(stations, target, latency).value.unwrap_or(0.0);
        let waiting = if self.sums.busy < efficiency {
            ring.waiting(Turn::Exhaustive)
        } else {
            Answer::SATURATED
        };
        self.answer(self.sums.busy / efficiency.max(1e-9), self.own_share() * efficiency, waiting)
    }

    fn line(&self) -> Wait {
        let Sums { frames, busy, second, .. } = self.sums;
        self.answer(
            busy,
            self.own_share(),
            single_queue::waiting_of_moments(frames, busy / frames, second / frames),
        )
    }
}
