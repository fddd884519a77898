//! The network of a run: stations, the path between them, and the peers' impairments.

use std::collections::BTreeMap;
use std::fmt;

use btu_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

mod drawn;
mod machines;

pub use btu_network::{HostName, HostRole};
pub use drawn::read_stored;
pub use drawn::{Drawn, Stations, Topology};
pub use machines::{Machine, Machines, Reached};

/// The network between the stations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Network {
    /// The library's `veth`: a bridge of this host's kernel, offloads on, as fast as this host
    /// allows.
    Veth,
    /// The library's `path`: a full-duplex line between the test station and both peers.
    Path(Path),
    /// Stations of a network file.
    Drawing(Drawn),
    /// Real hosts, and the network between them.
    Machines(Machines),
}

/// An emulated point-to-point link, equal in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Line rate, counted over the frame with preamble, check sequence and gap (24 bytes more than
    /// the driver sees).
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// Propagation delay in each direction.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Share of frames lost in each direction, independently: 0 to 1.
    pub loss: f64,
    /// Share of frames duplicated in each direction: 0 to 1.
    #[serde(default)]
    pub duplicate: f64,
    /// Share of frames in each direction that are held back so that later ones overtake them: 0 to
    /// 1.
    #[serde(default)]
    pub reorder: f64,
}

/// The network as users write it; for a path, its rate and its impairments.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self {
            Self::Veth => return f.write_str("veth"),
            Self::Machines(machines) => return machines.fmt(f),
            Self::Drawing(drawn) => return drawn.fmt(f),
            Self::Path(path) => path,
        };
        write!(f, "{}", path.rate)?;
        if path.delay > Span::ZERO {
            write!(f, ", delay {}", path.delay)?;
        }
        let shares =
            [("loss", path.loss), ("duplicates", path.duplicate), ("reordered", path.reorder)];
        let mut shares = shares.into_iter().filter(|(_, share)| *share > 0.0);
        shares.try_for_each(|(what, share)| write!(f, ", {what} {} %", share * 100.0))
    }
}

/// The impairment of incoming packets at each host. Hosts that are not named have none.
pub type Impairments = BTreeMap<HostName, Impairment>;

/// A peer's impairment of every incoming IP packet (the paper's DL and DR).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Impairment {
    /// The delay that is added to every incoming packet.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Probability that a packet is dropped: 0 to 1.
    pub loss: f64,
}

impl Impairment {
    /// Packets pass untouched.
    pub const NONE: Self = Self { delay: Span::ZERO, loss: 0.0 };

    /// DL of section 4.1: 1 ms.
    pub const DL: Self = Self { delay: Span::from_milliseconds(1), loss: 0.0 };

    /// DR of section 4.1: one packet in a hundred.
    pub const DR: Self = Self { delay: Span::ZERO, loss: 0.01 };

    /// Whether packets pass untouched.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}
