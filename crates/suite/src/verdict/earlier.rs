//! What earlier runs of a plan on a machine tell of a further one.

use btu_units::Span;

use super::context::Context;
use super::processor_costs::{KnownCosts, PlacedReading, UsualReadings};
use super::spreads::KnownSpreads;
use crate::plan::Plan;

/// Fewer runs hardly tell by how much their costs differ.
pub(super) const FEWEST_RUNS: usize = 3;

/// What earlier runs of a machine tell of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EarlierRuns {
    /// The latency of near processors.
    pub near: Option<Span>,
    /// The cost of far and slow processors.
    pub costs: KnownCosts,
    /// How much its speed varies.
    pub spreads: KnownSpreads,
}

impl EarlierRuns {
    /// By the cells of runs of `plan`, which did the same work between the same processors, and the near latency of these.
    pub fn of(runs: &[Vec<PlacedReading>], plan: &Plan, near: Option<Span>) -> Self {
        let costs = KnownCosts::of(runs, near);
        let mut context = Context::complete(plan.clone(), 1);
        context.known = Self { near, costs, spreads: KnownSpreads::default() };
        let spreads = KnownSpreads::of(runs, &context);
        Self { spreads, ..context.known }
    }

    /// The same with the reference of an earlier run, so that runs of a machine are all compared with one.
    #[must_use]
    pub fn compared_with(mut self, usual: Option<UsualReadings>) -> Self {
        if usual.is_some() && self.costs.usual.is_some() {
            self.costs.usual = usual;
        }
        self
    }
}
