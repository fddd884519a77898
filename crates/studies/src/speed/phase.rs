//! The phases of the measurement.

use std::fmt;

use serde::{Deserialize, Serialize};

use btu_contract::experiment::Quantity;

btu_units::named! {
    /// The traffic of a phase. The near host sends requests, the far host answers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Phase {
        /// Only small requests at random moments, as in all other phases but `Connects`.
        Idle = "idle",
        /// TCP from the near host to the far one.
        Up = "up",
        /// TCP from the far host to the near one.
        Down = "down",
        /// Data goes both ways at once.
        Both = "both",
        /// Connections from the near host to the far one, one after the other, each for one request.
        Connects = "connects",
        /// Datagrams at a given rate from the near host to the far one.
        DatagramsUp = "datagrams-up",
        /// Datagrams at a given rate from the far host to the near one.
        DatagramsDown = "datagrams-down",
    }
}

impl Phase {
    /// Whether nothing but requests goes over the network.
    pub const fn is_of_requests(self) -> bool {
        matches!(self, Self::Idle | Self::Connects)
    }

    /// What a comparison calls one of its quantities.
    pub(super) fn quantity_name(self, quantity: Quantity) -> String {
        let (data, requests) = match self {
            Self::Idle => ("goodput idle", "request time idle"),
            Self::Up => ("goodput up", "request time while uploading"),
            Self::Down => ("goodput down", "request time while downloading"),
            Self::Both => ("goodput both ways", "request time under load both ways"),
            Self::Connects => ("goodput of connections", "time of a connection with a request"),
            Self::DatagramsUp => ("datagrams up", "request time under datagrams up"),
            Self::DatagramsDown => ("datagrams down", "request time under datagrams down"),
        };
        let name = match quantity {
            Quantity::Goodput => data,
            Quantity::GoodputUp => "goodput up with data both ways",
            Quantity::GoodputDown => "goodput down with data both ways",
            Quantity::Time | Quantity::RoundTrip => requests,
        };
        name.to_owned()
    }
}

/// A phase is a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SpeedCell {
    /// The traffic.
    pub phase: Phase,
}

impl fmt::Display for SpeedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.phase.name())
    }
}
