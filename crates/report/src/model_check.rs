//! A prediction next to other answers at the same points, simulated or measured: the figures, the
//! verdict, and the output.

mod measured;
mod picture;
mod text;
mod verdict;

use btu_stats::{Estimate, Interval};
use serde::Serialize;

pub use measured::{MeasuredAccounts, MeasuredFlow};
pub use picture::check_picture;
pub use text::{check_csv, check_text};
pub use verdict::{Break, RangeVerdict};

/// The shares within which a prediction may be called valid, from strict to generous.
pub const WITHIN: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

/// Predicted mean delays of a network at several points, and other answers next to them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCheck {
    /// The name of the network.
    pub network: String,
    /// The length, the number and the seed of simulations and measurements.
    pub how: String,
    /// The quantity that changes from point to point, with its unit: `data load of the busiest
    /// medium (%)`.
    pub turned: String,
    /// The network as drawn, and other ways to have it.
    pub cases: Vec<CheckCase>,
}

/// One way to have the network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckCase {
    /// The difference from the drawing; empty for the network as drawn.
    pub name: String,
    /// The kinds of answers that stand next to the prediction.
    pub answers: Vec<AnswerKind>,
    /// The flows in the drawing's order.
    pub flows: Vec<CheckFlow>,
}

btu_units::named! {
    /// The kinds of answers that may stand next to a prediction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum AnswerKind {
        /// The answer is from the simulator.
        Simulated = "simulated",
        /// The emulated network's, to real packets.
        Measured = "measured",
    }
}

/// One flow at all points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckFlow {
    /// The name of the flow.
    pub name: String,
    /// The points, in the order of the changed value.
    pub points: Vec<CheckPoint>,
}

/// Answers to one question: a flow's mean delay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckPoint {
    /// The value of the changed quantity.
    pub value: f64,
    /// Predicted share of time in frames' own bits of the busiest medium or line; above one where
    /// more is offered.
    pub utilisation: Option<f64>,
    /// Predicted mean delay in seconds; none past saturation.
    #[serde(rename = "predicted_seconds")]
    pub predicted: Option<f64>,
    /// Simulated mean delay in seconds with its interval; `None` if no frame arrived or there was
    /// no simulation.
    #[serde(rename = "simulated_seconds")]
    pub simulated: Option<Estimate>,
    /// Whether the simulation was overloaded, so that its delay means nothing.
    pub overloaded: bool,
    /// The results of real packets, if they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredFlow>,
}

impl CheckPoint {
    /// The mean delay by this answer, in seconds.
    pub fn answer(&self, kind: AnswerKind) -> Option<Estimate> {
        match kind {
            AnswerKind::Simulated => self.simulated,
            AnswerKind::Measured => self.measured.as_ref().and_then(|measured| measured.delay),
        }
    }

    /// Whether the network was overloaded by this answer.
    pub fn is_overloaded(&self, kind: AnswerKind) -> bool {
        match kind {
            AnswerKind::Simulated => self.overloaded,
            AnswerKind::Measured => {
                self.measured.as_ref().is_some_and(|measured| measured.overloaded)
            }
        }
    }

    /// Whether the measurement is void.
    pub fn is_void(&self, kind: AnswerKind) -> bool {
        kind == AnswerKind::Measured
            && self.measured.as_ref().is_some_and(|measured| !measured.void.is_empty())
    }

    /// The mean delay, if it is meaningful.
    pub fn settled(&self, kind: AnswerKind) -> Option<Estimate> {
        self.answer(kind).filter(|_| !self.is_overloaded(kind) && !self.is_void(kind))
    }

    /// By how much the prediction is off, as a share of the other answer's mean, with that one's
    /// interval: -0.1 is 10 % too little.
    pub fn error(&self, kind: AnswerKind) -> Option<Estimate> {
        let (predicted, other) = (self.predicted?, self.settled(kind)?);
        let of = |other: f64| predicted / other - 1.0;
        let ends = other.interval.filter(|ends| ends.low > 0.0);
        let interval = ends.map(|ends| Interval { low: of(ends.high), high: of(ends.low) });
        Some(Estimate { value: of(other.value), interval })
    }

    /// Whether both find the network overloaded.
    pub(crate) fn both_overloaded(&self, kind: AnswerKind) -> bool {
        self.predicted.is_none() && self.is_overloaded(kind) && !self.is_void(kind)
    }

    /// The share of the other answer's mean delay that this machine causes.
    pub fn late_share(&self, kind: AnswerKind) -> Option<f64> {
        self.measured.as_ref().filter(|_| kind == AnswerKind::Measured)?.late_share()
    }
}
