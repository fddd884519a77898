//! Traffic: which stations send what, and to which stations. For the simulator and the closed
//! forms; a raised network carries what its programs send.

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::id::StationId;

/// A flow: each of its senders sends by itself, in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The name of the flow; no other flow of the network has it.
    pub name: String,
    /// The stations that send this flow, in ascending order of their identifiers.
    pub from: Vec<StationId>,
    /// The station or stations to which the flow is sent.
    pub to: Target,
    /// How long frames are, from destination address to check sequence (64 to 1518 octets on
    /// Ethernet).
    pub sizes: Sizes,
    /// When they are sent.
    pub arrivals: Arrivals,
    /// The time at which the senders begin.
    pub start: Span,
    /// Until when; `None` means to the end.
    pub stop: Option<Span>,
}

/// The target of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Always the same station.
    Station(StationId),
    /// One of these, chosen again for each frame, never the sender itself. Ascending; at least one
    /// other than any sender.
    AnyOf(Vec<StationId>),
    /// The next station in the list of senders; the first one for the last.
    Next,
    /// The frames go to all stations.
    Broadcast,
}

/// How long frames are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// All frames have this size.
    Fixed(Bytes),
    /// One of these, with probability in proportion to its weight. Weights are positive.
    Mix(Vec<(Bytes, f64)>),
    /// Any whole number of octets between these two, evenly.
    Uniform(Bytes, Bytes),
    /// Exponential with this mean, rounded to whole octets, at least 1 and at most 65 535: for
    /// checks against queueing theory.
    Exponential(Bytes),
}

impl Sizes {
    /// The mean length in octets (for `Exponential` that of the unrounded distribution).
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) | Self::Exponential(size) => size.count() as f64,
            Self::Uniform(least, most) => (least.count() + most.count()) as f64 / 2.0,
            Self::Mix(parts) => {
                let weights: f64 = parts.iter().map(|(_, weight)| weight).sum();
                parts.iter().map(|(size, weight)| size.count() as f64 * weight).sum::<f64>()
                    / weights
            }
        }
    }
}

/// When a sender sends; rates are those of each sender.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At random, independently (Poisson), with this mean rate.
    Poisson {
        /// The number of frames per second.
        per_second: f64,
    },
    /// At equal intervals, at this rate; senders start at random moments of the first period.
    Periodic {
        /// The number of frames per second.
        per_second: f64,
    },
    /// Another frame as soon as there is room.
    Saturated,
    /// A request, its reply, a pause, and the next request.
    Closed {
        /// Mean of the exponentially distributed pause.
        think: Span,
        /// How long the reply is, from destination address to check sequence; `None` means that the
        /// request's arrival is enough.
        reply: Option<Bytes>,
        /// How long the target works on a request before it replies.
        service: Span,
    },
}
