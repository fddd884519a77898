//! Segments: media with many stations.

use btu_units::{BitRate, Length, Span};
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::queue::Discipline;

/// A medium that several stations share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Its name; members of a counted group are called `group-1` and so on.
    pub name: String,
    /// The key it was drawn under.
    pub group: String,
    /// Its medium.
    pub medium: Medium,
}

/// The medium of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Medium {
    /// One cable for all, CSMA/CD (IEEE 802.3, clause 4).
    SharedEthernet(SharedEthernet),
    /// A store-and-forward switch with a full-duplex line to each station.
    SwitchedEthernet(Star),
    /// A token ring (IEEE 802.5).
    TokenRing(TokenRing),
    /// FDDI's timed token (ISO 9314-2).
    Fddi(Fddi),
    /// An ATM switch with a line to each station; frames travel in AAL5 cells.
    Atm(Atm),
}

/// A shared Ethernet. Slot, gap, jam and the like are 802.3's, in bit times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedEthernet {
    /// The line rate of the cable.
    pub rate: BitRate,
    /// Length of the cable.
    pub length: Length,
    /// Speed of a signal on it, as a share of the speed of light.
    pub velocity: f64,
    /// How stations agree on which of them sends.
    pub contention: Contention,
    /// The queue in each station before its turn comes.
    pub queue: Discipline,
}

/// How stations on a shared Ethernet agree on which of them sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contention {
    /// Truncated binary exponential backoff, as the standard has it.
    Standard,
    /// Lam's idealised contention (1980): slots of twice the cable's propagation delay after each
    /// success; two or more that wait collide once and then succeed with probability 1/e per slot.
    /// A frame takes its own bits only, without preamble and gap. For checks against the closed
    /// form; it cannot be raised for real.
    Ideal,
}

/// A star: a switch and a full-duplex line to each station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Star {
    /// From a station to the switch.
    pub up: Direction,
    /// From the switch to a station; its queue is the switch's output queue.
    pub down: Direction,
    /// From the last bit of a frame until it is in its output queue.
    pub latency: Span,
}

/// An ATM star: lines count cells of 53 octets for 48 of payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atm {
    /// Lines and switch. Both directions are framed as AAL5 (8 octets of trailer, padded to whole
    /// cells, LLC/SNAP's 8 octets before the packet: RFC 2684).
    pub star: Star,
}

/// A token ring with its rate, its cable and its token's rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenRing {
    /// 4 or 16 Mb/s in the standard; others are possible.
    pub rate: BitRate,
    /// Length of the ring.
    pub length: Length,
    /// Speed of a signal on it, as a share of the speed of light.
    pub velocity: f64,
    /// The latency that each station adds to the ring, in bits.
    pub station_latency_bits: u32,
    /// The whole ring's latency, if it is given and does not follow from length and stations.
    pub ring_latency: Option<Span>,
    /// Whether a station frees the token after its last bit instead of when its frame comes back.
    pub early_release: bool,
    /// How long a station may keep the token.
    pub service: Service,
    /// The queue in each station.
    pub queue: Discipline,
}

/// How long a station may keep the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// For this time (802.5's token holding time, 10 ms by default): a station begins a frame only
    /// if it ends in time.
    HoldingTime(Span),
    /// Until it has nothing more to send.
    Exhaustive,
    /// Until it has sent the frames that waited when the token arrived.
    Gated,
    /// The station keeps the token for one frame.
    One,
}

/// An FDDI ring with its rate, its cable and its token's rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fddi {
    /// 100 Mb/s in the standard.
    pub rate: BitRate,
    /// Length of the ring.
    pub length: Length,
    /// Speed of a signal on it, as a share of the speed of light.
    pub velocity: f64,
    /// The latency that each station adds to the ring.
    pub station_latency: Span,
    /// Target token rotation time.
    pub target_rotation: Span,
    /// The queue in each station.
    pub queue: Discipline,
}
