//! The phases of the measurement.

use std::fmt;

use serde::{Deserialize, Serialize};

use btu_suite::reading::Quantity;

/// The traffic of a phase. The near host sends requests, the far host answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Only small requests at random moments, as in all other phases but `Connects`.
    Idle,
    /// TCP from the near host to the far one.
    Up,
    /// TCP from the far host to the near one.
    Down,
    /// Data goes both ways at once.
    Both,
    /// Connections from the near host to the far one, one after the other, each for one request.
    Connects,
    /// Datagrams at a given rate from the near host to the far one.
    DatagramsUp,
    /// Datagrams at a given rate from the far host to the near one.
    DatagramsDown,
}

impl Phase {
    /// Whether nothing but requests goes over the network.
    pub const fn is_of_requests(self) -> bool {
        matches!(self, Self::Idle | Self::Connects)
    }

    /// Its name in output and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
            Self::Connects => "connects",
            Self::DatagramsUp => "datagrams-up",
            Self::DatagramsDown => "datagrams-down",
        }
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
