//! The wait at each server, and its utilisation.

use std::f64::consts::E;

use btu_network::Discipline;
use btu_units::Bytes;

use super::answers::PacketSizes;
use super::frames::Class;
use super::saturated::cost;
use super::server::{FrameServer, Nature, Visit};
use crate::answer::Answer;
use crate::contention::SharedCable;
use crate::frame_times::FrameTimes;
use crate::polling::{Ring, ServiceDiscipline};
use crate::single_queue;

/// The share of a ring that a frame passes where there is none.
const IDLE_WAY: f64 = 0.5;

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
    /// Mean seconds from its first bit to its last at the receiver, in addition to those.
    pub(super) beyond: f64,
    /// Mean seconds until a frame begins.
    pub(super) waiting: Answer,
    /// Share of frames that find a line's queue full.
    pub(super) overflow: f64,
}

impl Wait {
    /// Mean seconds of all frames; none without any.
    pub(super) fn delay(&self) -> Answer {
        if self.frames > 0.0 { self.delay_of_one() } else { Answer::OUT_OF_RANGE }
    }

    /// Mean seconds of a frame like all others.
    pub(super) fn delay_of_one(&self) -> Answer {
        self.waiting.map(|wait| wait + self.occupied + self.beyond)
    }
}

/// The wait at `server` where the flows' senders have these rates.
pub(super) fn at(server: &FrameServer, classes: &[Class], rates: &[f64]) -> Wait {
    let mut sums = Sums::default();
    for visit in &server.visits {
        let frames = visit.unit * rates[classes[visit.class].flow];
        sums.frames += frames;
        sums.own_bits += frames * classes[visit.class].mean_bits;
        sums.busy += frames * visit.mean;
        sums.second += frames * visit.second;
        sums.beyond += frames * visit.beyond;
        sums.full += frames * cost(server, visit);
    }
    if sums.frames <= 0.0 {
        return Wait {
            frames: 0.0,
            own_bits: 0.0,
            data: 0.0,
            used: 0.0,
            capacity: 1.0,
            occupied: 0.0,
            beyond: server.beyond(IDLE_WAY),
            waiting: Answer::of(0.0),
            overflow: 0.0,
        };
    }
    let load = ServerLoad { server, classes, rates, sums };
    match server.nature {
        Nature::Cable { ideal } => load.cable(ideal),
        Nature::TokenRing { turn, early_release, .. } => load.token_ring(turn, early_release),
        Nature::TimedToken { .. } => load.timed_token(),
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
    beyond: f64,
    /// Seconds of a full server.
    full: f64,
}

struct ServerLoad<'a> {
    server: &'a FrameServer,
    classes: &'a [Class],
    rates: &'a [f64],
    sums: Sums,
}

impl ServerLoad<'_> {
    /// The load if `used` of the server is used and a full server would carry this share of its
    /// time as frames.
    fn answer(&self, used: f64, capacity: f64, waiting: Answer) -> Wait {
        let Sums { frames, own_bits, busy, beyond, .. } = self.sums;
        Wait {
            frames,
            own_bits: own_bits / frames,
            data: if self.server.queues() { own_bits / self.server.rate } else { 0.0 },
            used,
            capacity,
            occupied: busy / frames,
            beyond: beyond / frames,
            waiting,
            overflow: 0.0,
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
        // An ideal cable is the formula's own.
        let slot = self.server.occupation.shortest_bits() / self.server.rate;
        let delay = if ideal { cable.delay() } else { cable.delay_with_backoff(slot) };
        let waiting = delay.map(|delay| (delay - mean).max(0.0));
        let capacity = self.own_share() * mean / (mean + propagation * (1.0 + 2.0 * E));
        self.answer(cable.data_and_collisions(), capacity, waiting)
    }

    fn token_ring(&self, turn: ServiceDiscipline, early_release: bool) -> Wait {
        let ring = self.ring();
        let waiting = if early_release {
            ring.waiting(turn)
        } else {
            ring.waiting_without_early_release(turn)
        };
        self.full(waiting)
    }

    fn timed_token(&self) -> Wait {
        self.full(self.ring().waiting(ServiceDiscipline::Exhaustive))
    }

    fn ring(&self) -> Ring {
        Ring {
            stations: self.server.active as u32,
            latency: self.server.propagation,
            rate: self.sums.frames,
            times: self.times(),
        }
    }

    /// A ring is full when every station sends all that it may for each token.
    fn full(&self, waiting: Answer) -> Wait {
        let Sums { busy, full, .. } = self.sums;
        let waiting = if full < 1.0 { waiting } else { Answer::SATURATED };
        self.answer(full, self.own_share() * busy / full, waiting)
    }

    fn line(&self) -> Wait {
        let Sums { frames, busy, second, .. } = self.sums;
        let open = single_queue::waiting_of_moments(frames, busy / frames, second / frames);
        let limited = open.value.and_then(|wait| self.limited(wait * frames));
        let (waiting, overflow) =
            limited.map_or((open, 0.0), |(wait, lost)| (Answer::of(wait), lost));
        Wait { overflow, ..self.answer(busy, self.own_share(), waiting) }
    }

    /// Wait and losses where a queue that drops what does not fit is too short for so many waiting
    /// frames in the mean. Beyond twenty times the mean the limit is as good as none.
    fn limited(&self, waiting: f64) -> Option<(f64, f64)> {
        const CHECK_SEQUENCE: f64 = 4.0;
        let Some(Discipline::TailDrop { .. }) = self.server.queue else { return None };
        let octets = self.sums.own_bits / self.sums.frames / 8.0 - CHECK_SEQUENCE;
        let room = self.server.room(Bytes::new(octets.round() as u64))?;
        (room < 20.0 * (waiting + 1.0))
            .then(|| single_queue::limited(self.sums.frames, &self.times(), room as usize))
    }
}
