//! What is measured one after the other.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What goes over the network meanwhile. The near host is the one that asks, the far one is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing but a small request every 20 ms, as in all others.
    Idle,
    /// TCP from the near host to the far one.
    Up,
    /// TCP from the far host to the near one.
    Down,
    /// Data goes both ways at once.
    Both,
    /// Datagrams at a given rate from the near host to the far one.
    DatagramsUp,
    /// Datagrams at a given rate from the far host to the near one.
    DatagramsDown,
}

impl Phase {
    /// As it is told and stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
            Self::DatagramsUp => "datagrams-up",
            Self::DatagramsDown => "datagrams-down",
        }
    }
}

/// A phase is a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SpeedCell {
    /// What goes over the network.
    pub phase: Phase,
}

impl fmt::Display for SpeedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.phase.name())
    }
}
