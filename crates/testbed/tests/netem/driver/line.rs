//! A fixed rate, and queues before it, in the kernel's terms.

use btu_medium::Limit;
use btu_network::{Direction, Discipline, QueueLimit, Rate};
use btu_units::{BitRate, Bytes, Span};

use super::qdisc::{Codel, FqCodel, Qdisc};
use super::red::Red;
use super::sizes;

/// A frame with 1500 octets of payload, as a driver sees it.
const FULL_FRAME: u64 = 1514;

/// A fixed rate in the kernel's terms.
pub(super) struct KernelRate {
    rate: BitRate,
    pub(super) octets_per_second: u64,
    /// Octets that the longest frame occupies.
    pub(super) longest: u32,
    /// Octets that a full frame occupies.
    full: u64,
    /// The end of a frame's time on the line, in which it has already arrived.
    pub(super) gap: Span,
}

impl KernelRate {
    pub(super) fn of(direction: &Direction) -> Self {
        let Rate::Fixed(rate) = direction.rate else {
            panic!("the kernel has no rate that follows a trace");
        };
        let framing = direction.framing;
        let octets_per_second = sizes::octets_per_second(framing, rate.bits_per_second());
        let longest = sizes::occupied(framing, sizes::longest(direction).count());
        Self {
            rate,
            octets_per_second,
            longest: u32::try_from(longest).unwrap_or(u32::MAX),
            full: sizes::occupied(framing, FULL_FRAME),
            gap: sizes::gap(framing, octets_per_second),
        }
    }

    /// The limit as a number of frames.
    pub(super) fn frames(&self, limit: QueueLimit) -> u32 {
        let frames = match limit {
            QueueLimit::Bytes(bytes) => (bytes.count() / FULL_FRAME).max(1) as usize,
            limit => Limit::of(limit, self.rate).frames,
        };
        u32::try_from(frames).unwrap_or(u32::MAX)
    }

    /// A number of octets on the line: the kernel counts by the size table, so each full frame's
    /// octets include their framing.
    fn octets(&self, limit: QueueLimit) -> u32 {
        let octets = match limit {
            QueueLimit::Bytes(bytes) => self.framed(bytes),
            limit => u64::from(self.frames(limit)) * self.full,
        };
        u32::try_from(octets).unwrap_or(u32::MAX)
    }

    fn framed(&self, bytes: Bytes) -> u64 {
        (u128::from(bytes.count()) * u128::from(self.full) / u128::from(FULL_FRAME)) as u64
    }

    /// The queue behind a token bucket.
    pub(super) fn queue(&self, discipline: Discipline) -> Qdisc {
        let codel = |codel: btu_network::Codel| Codel {
            target: codel.target,
            interval: codel.interval,
            limit: self.frames(codel.limit),
        };
        match discipline {
            Discipline::TailDrop { limit: limit @ QueueLimit::Bytes(_) } => {
                Qdisc::Octets(self.octets(limit))
            }
            Discipline::TailDrop { limit } => Qdisc::Frames(self.frames(limit)),
            Discipline::Codel(asked) => Qdisc::Codel(codel(asked)),
            Discipline::FqCodel(asked) => Qdisc::FqCodel(FqCodel {
                codel: codel(asked.codel),
                queues: asked.queues,
                quantum: u32::try_from(asked.quantum.count()).unwrap_or(u32::MAX),
            }),
            Discipline::Red(asked) => {
                let octets = |bytes| u32::try_from(self.framed(bytes)).unwrap_or(u32::MAX - 1);
                Qdisc::Red(Red {
                    limit: self.octets(asked.limit),
                    minimum: octets(asked.minimum),
                    maximum: octets(asked.maximum),
                    probability: asked.probability.share(),
                    weight: asked.weight,
                    frame_us: self.time_of(1.0) * 1e6,
                })
            }
        }
    }

    /// Seconds of this number of full frames.
    pub(super) fn time_of(&self, frames: f64) -> f64 {
        frames * self.full as f64 / self.octets_per_second as f64
    }
}
