//! Queues before transmitters.

use btu_units::{BitRate, Bytes, Probability, Span};
use serde::{Deserialize, Serialize};

/// How a queue treats frames that it cannot send at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Discipline {
    /// First in, first out; frames that do not fit are dropped.
    TailDrop {
        /// The limit of the queue.
        limit: QueueLimit,
    },
    /// Random early detection (Floyd and Jacobson 1993).
    Red(Red),
    /// Controlled delay (RFC 8289).
    Codel(Codel),
    /// Flow queueing with controlled delay (RFC 8290).
    FqCodel(FairCodel),
}

impl Default for Discipline {
    fn default() -> Self {
        Self::TailDrop { limit: QueueLimit::Suited }
    }
}

impl Discipline {
    /// How much fits into the queue.
    pub fn limit(&self) -> QueueLimit {
        match self {
            Self::TailDrop { limit } => *limit,
            Self::Red(red) => red.limit,
            Self::Codel(codel) | Self::FqCodel(FairCodel { codel, .. }) => codel.limit,
        }
    }
}

/// How much fits into a queue, the frame in transmission not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// A limit by the rate: the larger of 100 full frames and 100 ms of full frames.
    Suited,
    /// A number of frames.
    Frames(u32),
    /// A number of octets.
    Bytes(Bytes),
}

/// A frame of 1500 octets of payload with its Ethernet header, as a driver sees it.
const FULL_FRAME: u64 = 1514;

impl QueueLimit {
    /// Frames and octets before a line of `rate`: full when either number is reached. If the file
    /// asks for nothing, 100 full frames or 100 ms worth, whichever is more. 100 ms is a common
    /// round-trip time on the Internet, so one bandwidth-delay product (Villamizar and Song 1994);
    /// 100 frames is what slow interfaces have long had.
    pub fn at(self, rate: BitRate) -> (u64, Bytes) {
        match self {
            Self::Suited => {
                let tenth_of_a_second = rate.bits_per_second() / 8 / 10;
                let bytes = tenth_of_a_second.max(100 * FULL_FRAME);
                ((bytes / FULL_FRAME).max(100), Bytes::new(bytes))
            }
            Self::Frames(frames) => (frames.into(), Bytes::new(u64::MAX)),
            Self::Bytes(bytes) => (u64::MAX, bytes),
        }
    }
}

/// The parameters of random early detection (RED).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Red {
    /// The capacity of the queue, without the frame in transmission.
    pub limit: QueueLimit,
    /// Mean queue below which nothing is dropped.
    pub minimum: Bytes,
    /// Mean queue above which everything is dropped.
    pub maximum: Bytes,
    /// Drop probability just below the maximum.
    pub probability: Probability,
    /// Weight of the newest sample in the mean.
    pub weight: f64,
}

/// The parameters of controlled delay (`CoDel`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codel {
    /// The capacity of the queue, without the frame in transmission.
    pub limit: QueueLimit,
    /// Acceptable standing delay, 5 ms in the RFC.
    pub target: Span,
    /// Window in which the delay must fall below the target once, 100 ms in the RFC.
    pub interval: Span,
}

/// Flow queueing with controlled delay in each queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FairCodel {
    /// Controlled delay in each queue; its limit is that of all queues together.
    pub codel: Codel,
    /// Number of queues, 1024 in the RFC.
    pub queues: u32,
    /// Octets a queue may send in each round, 1514 in the RFC.
    pub quantum: Bytes,
}
