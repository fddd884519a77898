//! What far and slow processors cost in earlier runs of a machine: a run in which nearly all cells are alike
//! cannot tell it by itself.

use std::collections::BTreeMap;

use btu_stats::Slope;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{Conditions, Far, PlacedReading};

/// Fewer runs hardly tell by how much the cost differs from run to run.
const FEWEST: usize = 3;

/// A run's slope for far cells counts from this weight on, as from two near and two far cells of one row.
const LEAST_FAR_WEIGHT: f64 = 1.0;

/// A run's slope on slowness counts from this weight on, as from two quick cells and two whose arithmetic took
/// twice as long.
const LEAST_SLOW_WEIGHT: f64 = 0.5;

/// What earlier runs of a machine tell of its processors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownProcessors {
    /// The latency of near ones.
    pub near: Option<Span>,
    /// The cost of far and slow ones.
    pub costs: KnownCosts,
}

/// What far and slow processors cost the rated rows in earlier runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnownCosts {
    /// The cost of far ones, by message size.
    pub far: Vec<KnownFarCost>,
    /// The cost of slow ones.
    pub slow: Option<KnownSlowCost>,
}

/// What far processors cost the rated rows of a message size in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownFarCost {
    /// The message size of the rows.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The number of runs.
    pub runs: u32,
    /// The logarithm of goodput in far cells over near ones that a further run may have.
    pub goodput: Slope,
    /// By how much far cells were slower in arithmetic, as a logarithm.
    pub slowness: f64,
}

/// What slow processors cost the rated rows in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownSlowCost {
    /// The number of runs.
    pub runs: u32,
    /// The slope of goodput on slowness that a further run may have, both as logarithms.
    pub goodput: Slope,
}

impl KnownCosts {
    /// By the cells of earlier runs that did the same work between the same processors, and the near latency
    /// of these; nothing of what fewer than three runs tell.
    pub fn of(runs: &[Vec<PlacedReading>], near: Option<Span>) -> Self {
        let (mut sizes, mut slow): (BTreeMap<Bytes, Vec<Far>>, Vec<Slope>) = Default::default();
        for run in runs {
            let conditions = Conditions::of(run, near);
            let far: BTreeMap<Bytes, Far> = conditions.far().collect();
            for (size, far) in &far {
                if far.goodput.weight() >= LEAST_FAR_WEIGHT {
                    sizes.entry(*size).or_default().push(*far);
                }
            }
            slow.extend(conditions.slow(far));
        }
        slow.retain(|slope| slope.weight() >= LEAST_SLOW_WEIGHT);
        sizes.retain(|_, found| found.len() >= FEWEST);
        Self { far: of_sizes(sizes), slow: of_all(slow) }
    }

    /// Whether nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.far.is_empty() && self.slow.is_none()
    }
}

fn of_sizes(sizes: BTreeMap<Bytes, Vec<Far>>) -> Vec<KnownFarCost> {
    let goodputs: Vec<Vec<Slope>> =
        sizes.values().map(|found| found.iter().map(|far| far.goodput).collect()).collect();
    let known = |((message, found), goodput): ((Bytes, Vec<Far>), Option<Slope>)| {
        let weight = |far: &Far| far.goodput.weight();
        let all: f64 = found.iter().map(weight).sum();
        let slowness = found.iter().map(|far| weight(far) * far.slowness).sum::<f64>() / all;
        Some(KnownFarCost { message, runs: found.len() as u32, goodput: goodput?, slowness })
    };
    sizes.into_iter().zip(Slope::next_of(&goodputs)).filter_map(known).collect()
}

fn of_all(slow: Vec<Slope>) -> Option<KnownSlowCost> {
    let runs = slow.len();
    let goodput = if runs < FEWEST { None } else { Slope::next_of(&[slow]).remove(0) };
    Some(KnownSlowCost { runs: runs as u32, goodput: goodput? })
}
