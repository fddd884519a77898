//! The input of a verdict in addition to the cells.

use btu_units::Bytes;

use btu_contract::experiment::RunFacts;
use btu_contract::load::Load;

use super::plan::Plan;
use super::row::{Component, Row};

/// The plan, and what else is known of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The plan of the run.
    pub plan: Plan,
    /// The run, and the machine.
    pub run: RunFacts,
}

impl Context {
    /// A run of `plan` that ended by itself on one machine with a known number of processors.
    pub fn complete(plan: Plan, cpus: usize) -> Self {
        Self { plan, run: RunFacts::complete(cpus) }
    }

    /// The rated components that were planned, in the paper's order.
    pub(super) fn rated(&self) -> impl Iterator<Item = Component> + '_ {
        Component::RATED.into_iter().filter(|component| self.plan.components.contains(component))
    }

    /// The message sizes of the rated components.
    pub(super) fn messages(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.plan.messages.iter().copied()
    }

    /// The planned loads, idle first.
    pub(super) fn loads(&self) -> impl Iterator<Item = Load> + '_ {
        Load::ALL.into_iter().filter(|load| self.plan.loads.contains(load))
    }

    /// The planned host loads.
    pub(super) fn host_loads(&self) -> impl Iterator<Item = Load> + '_ {
        self.loads().filter(|load| *load != Load::Idle)
    }

    /// The planned rows of `component`, one per message size and load.
    pub(super) fn rows_of(&self, component: Component) -> impl Iterator<Item = Row> + '_ {
        let planned = self.plan.components.contains(&component);
        let messages = if planned { self.plan.messages_of(component) } else { &[] };
        messages.iter().flat_map(move |&message| {
            self.loads().map(move |load| Row::Network { component, message, load })
        })
    }

    /// Every rated row with a `wanted` message size and load.
    pub(super) fn rated_rows(&self, wanted: impl Fn(Bytes, Load) -> bool) -> Vec<Row> {
        let fits = |row: &Row| matches!(row, Row::Network { message, load, .. } if wanted(*message, *load));
        self.rated().flat_map(|component| self.rows_of(component)).filter(fits).collect()
    }
}
