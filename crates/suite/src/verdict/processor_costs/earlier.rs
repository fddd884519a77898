//! What far processors cost in earlier runs of a machine: a run that is nearly all far, or nearly all near,
//! cannot tell it by itself.

use std::collections::BTreeMap;

use btu_stats::Slope;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{Conditions, Far, PlacedReading};

/// Fewer runs hardly tell by how much the cost differs from run to run.
const FEWEST: usize = 3;

/// A run's slope counts from this weight on, as from two near and two far cells of one row.
const LEAST_WEIGHT: f64 = 1.0;

/// What earlier runs of a machine tell of its processors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownProcessors {
    /// The latency of near ones.
    pub near: Option<Span>,
    /// The cost of far ones, by message size.
    pub far: Vec<KnownFarCost>,
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

impl KnownFarCost {
    /// By the cells of earlier runs that did the same work between the same processors, and the near latency
    /// of these; nothing of a size that fewer than three runs tell.
    pub fn of(runs: &[Vec<PlacedReading>], near: Option<Span>) -> Vec<Self> {
        let mut sizes: BTreeMap<Bytes, Vec<Far>> = BTreeMap::new();
        for run in runs {
            let conditions = Conditions::of(run, near);
            let found = conditions.far();
            for (size, far) in found.filter(|(_, far)| far.goodput.weight() >= LEAST_WEIGHT) {
                sizes.entry(size).or_default().push(far);
            }
        }
        sizes.retain(|_, found| found.len() >= FEWEST);
        let goodputs: Vec<Vec<Slope>> =
            sizes.values().map(|found| found.iter().map(|far| far.goodput).collect()).collect();
        let known = |((message, found), goodput): ((Bytes, Vec<Far>), Option<Slope>)| {
            let weight = |far: &Far| far.goodput.weight();
            let all: f64 = found.iter().map(weight).sum();
            let slowness = found.iter().map(|far| weight(far) * far.slowness).sum::<f64>() / all;
            Some(Self { message, runs: found.len() as u32, goodput: goodput?, slowness })
        };
        sizes.into_iter().zip(Slope::next_of(&goodputs)).filter_map(known).collect()
    }
}
