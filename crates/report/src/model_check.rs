//! A prediction beside what a simulation gave at the same points: the figures, what they say together, and how it looks.

mod picture;
mod text;
mod verdict;

use btu_stats::{Estimate, Interval};
use serde::Serialize;

pub use picture::check_picture;
pub use text::{check_csv, check_text};
pub use verdict::{Break, Verdict};

/// The shares within which a prediction may be called valid, from strict to generous.
pub const WITHIN: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

/// Predicted and simulated mean delays of a network at several points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCheck {
    /// The network's name.
    pub network: String,
    /// How long and how often was simulated, and with which seed.
    pub how: String,
    /// What was turned from point to point, with its unit: `data load of the busiest medium (%)`.
    pub turned: String,
    /// The network as drawn, and other ways to have it.
    pub cases: Vec<CheckCase>,
}

/// One way to have the network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckCase {
    /// What is different from the drawing; empty for the network as drawn.
    pub name: String,
    /// The flows in the drawing's order.
    pub flows: Vec<CheckFlow>,
}

/// One flow at all points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckFlow {
    /// Its name.
    pub name: String,
    /// In the order in which they were turned.
    pub points: Vec<CheckPoint>,
}

/// Two answers to one question: a flow's mean delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckPoint {
    /// Of what was turned.
    pub value: f64,
    /// Predicted share of time in frames' own bits of the busiest medium or line; above one where more is offered.
    pub utilisation: Option<f64>,
    /// Predicted mean delay in seconds; none past saturation.
    #[serde(rename = "predicted_seconds")]
    pub predicted: Option<f64>,
    /// Simulated mean delay in seconds with its interval; none where nothing arrived.
    #[serde(rename = "simulated_seconds")]
    pub simulated: Option<Estimate>,
    /// Whether the simulation was overloaded, so that its delay means nothing.
    pub overloaded: bool,
}

impl CheckPoint {
    /// The simulated mean, where it means something.
    pub fn settled(&self) -> Option<Estimate> {
        self.simulated.filter(|_| !self.overloaded)
    }

    /// By how much the prediction is off, as a share of the simulated mean, with the simulation's interval: -0.1 is 10 % too
    /// little.
    pub fn error(&self) -> Option<Estimate> {
        let (predicted, simulated) = (self.predicted?, self.settled()?);
        let of = |simulated: f64| predicted / simulated - 1.0;
        let ends = simulated.interval.filter(|ends| ends.low > 0.0);
        let interval = ends.map(|ends| Interval { low: of(ends.high), high: of(ends.low) });
        Some(Estimate { value: of(simulated.value), interval })
    }

    /// Whether both say that the network is overloaded.
    pub fn both_overloaded(&self) -> bool {
        self.predicted.is_none() && self.overloaded
    }
}
