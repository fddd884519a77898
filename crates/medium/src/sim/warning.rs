//! Warnings about a simulation's figures.

use btu_network::{Arrivals, Drawing};
use btu_stats::{Estimate, median, outliers};
use serde::Serialize;

use super::outcome::{FlowOutcome, Outcome};
use super::replication::Replication;

/// An interval wider than this share of its value to either side is low confidence.
const WIDE: f64 = 0.1;
/// A flow of which fewer frames arrive in all replications gives a poor estimate of its 99th
/// percentile.
const FEW_FRAMES: u64 = 1000;
/// The share of what an open flow offers that may be lost to full queues before it counts as
/// overload.
const LOST: f64 = 0.01;
/// The number of frames inside may grow by this share of those handed over.
const GROWN: f64 = 0.02;

/// A reason not to rely on the figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SimulationWarning {
    /// More is offered than is carried, so queues were filling all the time: the delay depends on
    /// the length of the simulation.
    Saturated {
        /// The name of the flow.
        flow: String,
        /// Frames per second handed over.
        offered: f64,
        /// Frames per second that arrived.
        delivered: f64,
    },
    /// A flow that always has one more to send: its delay is that of a queue of two, and no
    /// property of the network.
    AlwaysMore {
        /// The name of the flow.
        flow: String,
    },
    /// No frame of a flow arrived.
    Silent {
        /// The name of the flow.
        flow: String,
    },
    /// Few frames of a flow arrived.
    Few {
        /// The name of the flow.
        flow: String,
        /// The number of frames in all replications.
        frames: u64,
    },
    /// An interval is wide.
    LowConfidence {
        /// The name of the flow.
        flow: String,
        /// The value that has the interval.
        figure: &'static str,
        /// Half its width as a share of the value.
        half_width: f64,
    },
    /// One replication gave quite another mean delay than the others.
    Disagreement {
        /// The name of the flow.
        flow: String,
        /// Which replications, from 0.
        replications: Vec<usize>,
    },
}

/// All warnings about `outcome`.
pub(super) fn all(
    drawing: &Drawing,
    outcome: &Outcome,
    replications: &[Replication],
) -> Vec<SimulationWarning> {
    let mut warnings = Vec::new();
    let growing = is_growing(outcome);
    for (place, (flow, drawn)) in outcome.flows.iter().zip(&drawing.traffic).enumerate() {
        let name = || flow.name.clone();
        if flow.delivered_frames == 0 {
            warnings.push(SimulationWarning::Silent { flow: name() });
            continue;
        }
        match drawn.arrivals {
            Arrivals::Saturated => warnings.push(SimulationWarning::AlwaysMore { flow: name() }),
            Arrivals::Poisson { .. } | Arrivals::Periodic { .. } => {
                warnings.extend(saturated(flow, growing));
            }
            Arrivals::Closed { .. } => {}
        }
        if flow.delivered_frames < FEW_FRAMES {
            warnings.push(SimulationWarning::Few { flow: name(), frames: flow.delivered_frames });
        }
        warnings.extend(low_confidence(flow));
        warnings.extend(disagreement(place, flow, replications));
    }
    warnings
}

/// Whether ever more frames were inside.
fn is_growing(outcome: &Outcome) -> bool {
    let accounts = outcome.accounts;
    let grown = accounts.inside.saturating_sub(accounts.inside_at_start) as f64;
    grown > GROWN * accounts.generated as f64
        && grown > 10.0 * f64::from(outcome.settings.replications)
}

fn saturated(flow: &FlowOutcome, growing: bool) -> Option<SimulationWarning> {
    let overflow: f64 = flow
        .drops
        .iter()
        .filter(|drop| drop.cause == "queue full")
        .map(|drop| drop.share.value)
        .sum();
    let (offered, delivered) =
        (flow.offered_frames_per_second.value, flow.delivered_frames_per_second.value);
    let falls_behind = growing && delivered < offered * (1.0 - GROWN);
    (overflow > LOST || falls_behind).then(|| SimulationWarning::Saturated {
        flow: flow.name.clone(),
        offered,
        delivered,
    })
}

fn low_confidence(flow: &FlowOutcome) -> Option<SimulationWarning> {
    let delay = flow.delay.as_ref().map(|delay| ("mean delay", delay.mean));
    let figures = delay.into_iter().chain([("goodput", flow.goodput_bits_per_second)]);
    let wide =
        figures.filter_map(|(figure, estimate)| Some((figure, relative_half_width(&estimate)?)));
    let widest = wide.max_by(|(_, one), (_, other)| one.total_cmp(other));
    let (figure, half_width) = widest.filter(|&(_, half_width)| half_width > WIDE)?;
    Some(SimulationWarning::LowConfidence { flow: flow.name.clone(), figure, half_width })
}

fn relative_half_width(estimate: &Estimate) -> Option<f64> {
    estimate.relative_half_width().filter(|half| half.is_finite())
}

/// Outlying replications by the modified z-score (Iglewicz and Hoaglin 1993), as far as it matters.
fn disagreement(
    place: usize,
    flow: &FlowOutcome,
    replications: &[Replication],
) -> Option<SimulationWarning> {
    let means: Option<Vec<f64>> =
        replications.iter().map(|one| one.flows[place].delays.moments.mean()).collect();
    let means = means?;
    let middle = median(&means)?;
    let far = |&(replication, _): &(usize, f64)| (means[replication] / middle - 1.0).abs() > WIDE;
    let outlying: Vec<usize> =
        outliers(&means).into_iter().filter(far).map(|(replication, _)| replication).collect();
    (!outlying.is_empty()).then(|| SimulationWarning::Disagreement {
        flow: flow.name.clone(),
        replications: outlying,
    })
}
