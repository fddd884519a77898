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
mod bulk;
mod closed;
mod formula;
mod frames;
mod network;
mod paced;
mod ring;
mod routes;
mod saturated;
mod server;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;
mod wait;
mod warnings;

use btu_network::{Arrivals, Drawing, Flow, Sizes, StationId, Target};
use btu_units::{Bytes, Span};
use thiserror::Error;

pub use answers::{
    Bottleneck, BridgePrediction, BulkLimit, BulkTransfer, Crossing, FlowPrediction, FrameKind,
    LinePrediction, MediumKind, PacedTransfer, PacketSizes, Prediction, PredictionWarning,
    Question, Reference, RingUse, SegmentPrediction, SimulatedTransfer, Transfer, TransferLimit,
    TransferPrediction, TransferWarning,
};
pub use bulk::as_connection;
pub use formula::Formula;
pub use frames::Occupation;
pub use sweep::{Found, Range, RangeError, Resolution, last_that_holds, sweep_with};

use assemble::Solved;
use network::QueueingNetwork;
use paced::Paced;

/// The closed forms' prediction for `drawing`.
pub fn predict(drawing: &Drawing) -> Prediction {
    solve(drawing, None, None).0
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
    let Some(transfer) = &question.transfer else {
        return Ok(solve(drawing, None, question.sizes).0);
    };
    let bulk = bulk::predict(drawing, transfer, question.sizes)?;
    let (prediction, paced) = solve(drawing, Paced::of(drawing, transfer)?, question.sizes);
    let size_bytes = transfer.size.count() as f64;
    Ok(Prediction { transfer: Some(TransferPrediction { size_bytes, bulk, paced }), ..prediction })
}

/// The prediction without a transfer by TCP, and one at a declared rate.
fn solve(
    drawing: &Drawing,
    paced: Option<Paced>,
    sizes: Option<PacketSizes>,
) -> (Prediction, Option<PacedTransfer>) {
    let mut network = QueueingNetwork::of(drawing, sizes);
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
        transfer: None,
        formulas: Vec::new(),
    };
    prediction.formulas = formulas(&prediction, drawing);
    (prediction, paced.map(|paced| paced.answer(&solved)))
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
    /// There is no such station.
    #[error("there is no station `{name}`")]
    NoStation {
        /// The name that the caller gave.
        name: String,
    },
    /// There are no two stations.
    #[error("the network has no two stations, so nothing can be transferred")]
    NoStations,
    /// No way leads from one of the stations to the other.
    #[error("no transfer goes from {from} to {to}: there is no way between them")]
    Unreachable {
        /// The station that would send.
        from: String,
        /// The station that would receive.
        to: String,
    },
    /// No flow declares the rate at which software makes packets.
    #[error(
        "--against compares with the rate at which software makes packets: name its flow with \
         --flow, one with a rate of its own"
    )]
    NoRate,
}
