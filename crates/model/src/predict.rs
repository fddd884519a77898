//! Computes the closed forms' prediction for a network file.
//!
//! Every flow is routed over the tree of segments, bridges and links (`tree`, `routes`); each
//! medium and each line is a server for the frames that pass it (`server`, `network`); senders
//! without a rate of their own are given one (`saturated`, `closed`); each server has its wait
//! (`wait`); and a flow's delay is the sum over its path (`assemble`), by Kleinrock's independence
//! assumption.
//!
//! These hold for every prediction: no number is negative or infinite, and a mean that does not
//! exist is marked.

mod answers;
mod assemble;
mod closed;
mod formula;
mod frames;
mod network;
mod routes;
mod saturated;
mod server;
mod sweep;
#[cfg(test)]
mod tests;
mod transfer;
mod tree;
mod wait;
mod warnings;

use btu_network::{Arrivals, Drawing, Flow, Sizes, StationId, Target};
use btu_units::{Bytes, Span};
use thiserror::Error;

pub use answers::{
    BridgePrediction, Crossing, FlowPrediction, FrameKind, Limit, LinePrediction, MediumKind,
    PacketSizes, Prediction, PredictionWarning, Question, Reference, SegmentPrediction, Transfer,
    TransferPrediction,
};
pub use formula::Formula;
pub use frames::Occupation;
pub use sweep::{Found, Range, RangeError, Resolution, last_that_holds, sweep, sweep_with};

use assemble::Solved;
use network::Network;
use transfer::Task;

/// The closed forms' prediction for `drawing`.
pub fn predict(drawing: &Drawing) -> Prediction {
    solve(drawing, None, None)
}

/// The closed forms' prediction for one flow of such frames when no other flow uses the network.
pub fn alone(
    drawing: &Drawing,
    from: StationId,
    to: StationId,
    frame: Bytes,
    arrivals: Arrivals,
) -> Prediction {
    let (to, sizes, start) = (Target::Station(to), Sizes::Fixed(frame), Span::ZERO);
    let flow =
        Flow { name: "alone".to_owned(), from: vec![from], to, sizes, arrivals, start, stop: None };
    predict(&Drawing { traffic: vec![flow], ..drawing.clone() })
}

/// Like [`predict`], and predicts how long `transfer` takes, too.
///
/// # Errors
/// When the drawing has no such flow.
pub fn predict_transfer(
    drawing: &Drawing,
    transfer: &Transfer,
) -> Result<Prediction, PredictError> {
    predict_with(drawing, &Question { transfer: Some(transfer.clone()), sizes: None })
}

/// Like [`predict`], with all options of a [`Question`].
///
/// # Errors
/// When the drawing has no such flow.
pub fn predict_with(drawing: &Drawing, question: &Question) -> Result<Prediction, PredictError> {
    let task =
        question.transfer.as_ref().map(|transfer| Task::of(drawing, transfer)).transpose()?;
    Ok(solve(drawing, task, question.sizes))
}

fn solve(drawing: &Drawing, task: Option<Task>, sizes: Option<PacketSizes>) -> Prediction {
    let mut network = Network::of(drawing, sizes);
    network.fill();
    let responses = network.settle();
    let solved = Solved::new(&network, responses);
    let segments = solved.segments();
    let mut prediction = Prediction {
        network: drawing.name.clone(),
        warnings: warnings::of(&solved, &segments),
        segments,
        links: solved.links(),
        bridges: solved.bridges(),
        flows: solved.flows(),
        transfer: task.map(|task| task.answer(&solved)),
        formulas: Vec::new(),
    };
    prediction.formulas = formulas(&prediction, drawing);
    prediction
}

/// The formulas that were used, in a fixed order.
fn formulas(prediction: &Prediction, drawing: &Drawing) -> Vec<Reference> {
    let mut used: Vec<Formula> =
        prediction.segments.iter().map(|segment| segment.formula).collect();
    used.extend(prediction.links.iter().map(|link| link.formula));
    if drawing.traffic.iter().any(|flow| matches!(flow.arrivals, Arrivals::Closed { .. })) {
        used.push(Formula::MeanValues);
    }
    used.push(Formula::Independence);
    used.sort_unstable();
    used.dedup();
    used.into_iter().map(Formula::reference).collect()
}

/// A question that the drawing does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PredictError {
    /// There is no such flow.
    #[error("there is no traffic called `{name}`; there is {known}")]
    NoFlow {
        /// The name that the caller gave.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// There is no flow at all.
    #[error(
        "the network has no traffic, so nothing can be transferred: draw a flow, `[traffic.file]`"
    )]
    NoTraffic,
}
