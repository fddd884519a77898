//! From a network file to what closed forms expect of the network.
//!
//! Every flow is routed over the tree of segments, bridges and links; each medium and each line is a submodel of its own,
//! fed with what passes over it; and a flow's delay is the sum over its way (Kleinrock's independence assumption).

mod answers;
mod formula;

pub use answers::{
    BridgePrediction, Crossing, Doubt, FlowPrediction, FrameKind, Limit, LinePrediction, MediumKind, Prediction,
    Reference, SegmentPrediction, Transfer, TransferPrediction,
};
pub use formula::Formula;

use btu_network::Drawing;
use thiserror::Error;

/// What closed forms expect of `drawing`.
pub fn predict(drawing: &Drawing) -> Prediction {
    Prediction {
        network: drawing.name.clone(),
        doubts: Vec::new(),
        segments: Vec::new(),
        links: Vec::new(),
        bridges: Vec::new(),
        flows: Vec::new(),
        transfer: None,
        formulas: Vec::new(),
    }
}

/// The same, and how long `transfer` takes.
///
/// # Errors
/// When the drawing has no such flow.
pub fn predict_transfer(drawing: &Drawing, transfer: &Transfer) -> Result<Prediction, PredictError> {
    let known = |name: &String| drawing.traffic.iter().any(|flow| flow.name == *name);
    match transfer.flow.iter().chain(&transfer.against).find(|name| !known(name)) {
        Some(name) => Err(PredictError::NoFlow { name: name.clone(), known: names(drawing) }),
        None => Ok(predict(drawing)),
    }
}

/// A question that the drawing does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PredictError {
    /// There is no such flow.
    #[error("there is no traffic called `{name}`; there is {known}")]
    NoFlow {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// There is no flow at all.
    #[error("the network has no traffic, so nothing can be transferred: draw a flow, `[traffic.file]`")]
    NoTraffic,
}

fn names(drawing: &Drawing) -> String {
    drawing.traffic.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>().join(", ")
}
