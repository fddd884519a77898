//! One direction of a line: its rate, its delay, its queue, and what goes wrong on it.

use btu_units::{BitRate, Bytes, Probability, Span};
use serde::{Deserialize, Serialize};

use crate::queue::Discipline;

/// One direction of a line. Frames pass, in this order: queue and transmitter, propagation with
/// jitter, loss, corruption, duplication, reordering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// The rate at which bits leave.
    pub rate: Rate,
    /// What a frame occupies in addition to its own octets.
    pub framing: Framing,
    /// The queue before the transmitter.
    pub queue: Discipline,
    /// The fixed propagation delay of the line.
    pub delay: Span,
    /// Random delay on top.
    pub jitter: Option<Jitter>,
    /// The model by which the line loses frames.
    pub loss: Loss,
    /// Share of frames of which one bit is inverted.
    pub corrupt: Probability,
    /// Share of frames that arrive twice.
    pub duplicate: Probability,
    /// Frames that are overtaken.
    pub reorder: Reordering,
    /// Longest packet it takes, without Ethernet header; longer frames are dropped, and counted as
    /// such.
    pub mtu: Bytes,
}

impl Direction {
    /// The longest packet of standard Ethernet.
    pub const ETHERNET_MTU: Bytes = Bytes::new(1500);

    /// A full-duplex Ethernet line that only takes time, with the queue that its rate suggests.
    pub fn new(rate: BitRate, delay: Span) -> Self {
        Self {
            rate: Rate::Fixed(rate),
            framing: Framing::Ethernet,
            queue: Discipline::default(),
            delay,
            jitter: None,
            loss: Loss::None,
            corrupt: Probability::NEVER,
            duplicate: Probability::NEVER,
            reorder: Reordering::NEVER,
            mtu: Self::ETHERNET_MTU,
        }
    }
}

/// The rate at which bits leave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// The rate is constant.
    Fixed(BitRate),
    /// The rate follows the deliveries of a recorded link.
    Trace(Trace),
}

/// A recorded link in Mahimahi's form: at each of these times one delivery opportunity of
/// [`Trace::OPPORTUNITY`]; after the last the trace begins again. As in Mahimahi, what an
/// opportunity leaves unused is lost, and several frames may share one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Milliseconds from the start, ascending; several opportunities may fall on one. The last is
    /// the trace's length and is at least 1.
    pub opportunities_ms: Vec<u32>,
}

impl Trace {
    /// What one opportunity carries, counted over the IP packet with 4 octets of tunnel header, as
    /// Mahimahi does.
    pub const OPPORTUNITY: Bytes = Bytes::new(1504);

    /// The longest time from one opportunity to the next, also over the end of a round.
    pub fn longest_silence(&self) -> Span {
        let mut before = 0;
        let gaps = self
            .opportunities_ms
            .iter()
            .map(|&at| at.saturating_sub(std::mem::replace(&mut before, at)));
        Span::from_milliseconds(gaps.max().unwrap_or_default().into())
    }

    /// The time after which it begins again; 1 ms without any opportunity.
    pub fn lap(&self) -> Span {
        Span::from_milliseconds(self.opportunities_ms.last().copied().unwrap_or(1).max(1).into())
    }

    /// The mean rate over the whole trace.
    pub fn mean_rate(&self) -> BitRate {
        let bits = self.opportunities_ms.len() as u64 * Self::OPPORTUNITY.count() * 8;
        BitRate::from_bits_per_second(bits * 1000 / self.lap().milliseconds() as u64)
    }
}

/// What a frame occupies on a line in addition to its own octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Preamble, check sequence, padding to 64 octets, gap (IEEE 802.3).
    #[default]
    Ethernet,
    /// The packet without its Ethernet header, and so many octets around it: 8 for PPP in HDLC-like
    /// framing (RFC 1662: flag, address, control, protocol 2, check sequence 2, flag).
    Serial {
        /// Octets around each packet.
        overhead: u8,
        /// Bits on the line for each octet: 8, or 10 where start and stop bits are sent.
        bits_per_octet: u8,
    },
    /// AAL5 cells with LLC/SNAP (RFC 2684): 53 octets for each 48 of (packet without
    /// Ethernet header + 8 + 8).
    Aal5,
    /// The frame's own octets as a driver sees them, and nothing else.
    Bare,
}

/// Random delay on top of a fixed one. The sum is never negative.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Jitter {
    /// Standard deviation (normal, Pareto) or half the width (uniform).
    pub spread: Span,
    /// How it is distributed.
    pub shape: Shape,
    /// How much of each frame's deviation is the last frame's (first-order autoregression), 0 to 1.
    pub correlation: Probability,
    /// Whether a frame waits for the ones before it; otherwise frames overtake.
    pub keep_order: bool,
}

/// The distribution of a random delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Between minus and plus the spread, evenly.
    Uniform,
    /// A normal distribution.
    Normal,
    /// Pareto with shape 3, moved so that its mean is 0: mostly a little early, sometimes very
    /// late.
    Pareto,
}

/// The model by which a line loses frames.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// There is no loss.
    None,
    /// Each by itself (Bernoulli).
    Random(Probability),
    /// In bursts: a chain of two states, moved once before each frame (Gilbert 1960, Elliott 1963;
    /// the letters are those of tc-netem(8)).
    GilbertElliott {
        /// From good to bad.
        p: Probability,
        /// From bad to good.
        r: Probability,
        /// Lost in the bad state (netem's 1-h).
        bad: Probability,
        /// Lost in the good state (netem's 1-k).
        good: Probability,
    },
}

impl Loss {
    /// The share of frames lost in the long run.
    pub fn share(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Random(share) => share.share(),
            Self::GilbertElliott { p, r, bad, good } => {
                let moves = p.share() + r.share();
                let in_bad = if moves > 0.0 { p.share() / moves } else { 0.0 };
                in_bad * bad.share() + (1.0 - in_bad) * good.share()
            }
        }
    }
}

/// Frames that are held back until later ones have overtaken them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reordering {
    /// Share of frames held back.
    pub share: Probability,
    /// How many later frames overtake each.
    pub depth: u32,
}

impl Reordering {
    /// Frames stay in order. A depth of 3 makes TCP take a frame for lost (RFC 5681, section 3.2).
    pub const NEVER: Self = Self { share: Probability::NEVER, depth: 3 };
}
