//! The input of a verdict in addition to the cells.

use btu_units::Bytes;

use btu_suite::cell::{Component, Load, Row};
use btu_suite::plan::Plan;
use btu_suite::record::HostClock;

use super::warning::LoadBefore;

/// The plan, and the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The plan of the run.
    pub plan: Plan,
    /// Whether it is the stored plan; else it was guessed from the cells.
    pub plan_is_known: bool,
    /// Whether the run ended by itself.
    pub complete: bool,
    /// Whether it was resumed on another machine, kernel or version of btu.
    pub resumed_elsewhere: bool,
    /// Processors that the stations shared.
    pub cpus: usize,
    /// Other programs that used the machine before or after the run.
    pub load_before: Option<LoadBefore>,
    /// The hosts' clock offsets; `None` if all stations share one clock.
    pub clocks: Vec<HostClocks>,
}

/// The offsets of a host's clocks from the controller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostClocks {
    /// The name of the host.
    pub name: String,
    /// The clocks before the last session's first cell.
    pub before: Option<HostClock>,
    /// The clocks after the last session's last cell; absent when they are not known.
    pub after: Option<HostClock>,
}

impl Context {
    /// A run of `plan` that ended by itself on one machine with a known number of processors.
    pub fn complete(plan: Plan, cpus: usize) -> Self {
        Self {
            plan,
            plan_is_known: true,
            complete: true,
            resumed_elsewhere: false,
            cpus,
            load_before: None,
            clocks: Vec::new(),
        }
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
