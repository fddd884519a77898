//! The accounts of a cell's activities among all that was observed.

use super::{Displayed, Drawn};
use btu_contract::experiment::Observation;
use btu_contract::record::{DatagramsSent, Outcome};

/// How many broadcasts were sent, if any were.
pub(super) fn broadcast(seen: &Observation) -> Option<&DatagramsSent> {
    let mut outcomes =
        seen.reports.iter().filter_map(|placed| Some(&placed.result.as_ref().ok()?.outcome));
    outcomes.find_map(|outcome| match outcome {
        Outcome::DatagramsSent(sent) => Some(sent),
        _ => None,
    })
}

/// Units a second of a test of x11perf.
pub(super) fn x11perf(seen: &Observation) -> Option<f64> {
    let mut outcomes =
        seen.reports.iter().filter_map(|placed| Some(&placed.result.as_ref().ok()?.outcome));
    outcomes.find_map(|outcome| match outcome {
        Outcome::X11perf { per_second } => Some(*per_second),
        _ => None,
    })
}

/// The accounts of the two ends.
pub(super) fn accounts(seen: &Observation) -> Option<(&Drawn, &Displayed)> {
    let outcomes =
        || seen.reports.iter().filter_map(|placed| Some(&placed.result.as_ref().ok()?.outcome));
    let drawn = outcomes().find_map(|outcome| match outcome {
        Outcome::Drawn(drawn) | Outcome::DrawnInside { drawn, .. } => Some(drawn),
        _ => None,
    });
    let displayed = outcomes().find_map(|outcome| match outcome {
        Outcome::Displayed(displayed) | Outcome::DrawnInside { displayed, .. } => Some(displayed),
        _ => None,
    });
    drawn.zip(displayed)
}
