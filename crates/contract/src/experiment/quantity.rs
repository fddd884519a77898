//! The measured quantity of a cell.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The measured quantity of a cell of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Payload that arrived over time: more is better.
    Goodput,
    /// The time that it took: less is better, and its speed is one over it.
    Time,
    /// Payload from the near host to the far one over time, while data goes both ways.
    GoodputUp,
    /// Like `GoodputUp`, from the far host to the near one.
    GoodputDown,
    /// The median round trip of requests: less is better, as of times.
    RoundTrip,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Goodput => "goodput",
            Self::GoodputUp => "goodput up",
            Self::GoodputDown => "goodput down",
            Self::Time => "time",
            Self::RoundTrip => "round trip",
        })
    }
}
