//! Earlier runs of this machine.

use btu_control::environment::Environment;
use btu_store::{RunRow, State, Store};
use btu_suite::plan::{Plan, SUITE};

use crate::provenance;
use crate::stored::before;

/// The stored runs of these suites on the machine `here`, the newest first; an unreadable one tells
/// nothing.
pub(crate) fn runs<'a>(
    store: &'a Store,
    here: &'a Environment,
    is_wanted: fn(&str) -> bool,
) -> anyhow::Result<impl Iterator<Item = RunRow> + use<'a>> {
    let newest_first = store.runs()?.into_iter().rev().filter(move |run| is_wanted(&run.suite));
    let rows = newest_first.filter_map(|run| store.run(&run.id.to_string()).ok());
    Ok(rows.filter(|row| is_here(row, here)))
}

/// The complete ratings of the plan on the machine `here`, the newest first. Another machine's file may hold
/// anything, so that imported ones are left out.
pub(crate) fn ratings<'a>(
    store: &'a Store,
    here: &'a Environment,
    plan: &Plan,
) -> anyhow::Result<impl Iterator<Item = RunRow> + use<'a>> {
    let hash = plan.hash();
    // The hash is of the plan itself: a hash that is stored next to it may be wrong.
    let is_same = move |row: &RunRow| {
        serde_json::from_value(row.plan.clone()).is_ok_and(|plan: Plan| plan.hash() == hash)
    };
    let of_plan = move |row: &RunRow| {
        row.summary.state == State::Complete && !row.summary.imported && is_same(row)
    };
    Ok(runs(store, here, |suite| suite == SUITE)?.filter(of_plan))
}

/// Whether a stored run was measured on this very machine, by the same kernel and version of btu.
pub(crate) fn is_alike(row: &RunRow, here: &Environment) -> bool {
    before(row).is_some_and(|there| provenance::differences(&there, here).is_empty())
}

/// The same machine, with processors of the same model: one that was moved to another host of its
/// provider has other latencies, and another speed.
fn is_here(row: &RunRow, here: &Environment) -> bool {
    before(row).is_some_and(|there| {
        let name = |environment: &Environment| {
            Some((environment.host.clone()?, environment.processor.model.clone()?))
        };
        name(&there).is_some() && name(&there) == name(here)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use btu_control::environment::collect;
    use btu_store::{Moment, NewRun, RunLock};
    use btu_suite::cell::{Component, Row};
    use btu_suite::network::Network;
    use btu_suite::plan::{Plan, Profile};
    use btu_suite::record::{CellRecord, NetworkResult};
    use btu_units::{Bytes, Span};
    use serde_json::Value;

    use super::*;

    pub(crate) fn divided(processors: Option<&str>) -> Plan {
        let processors = processors.map(|text| text.parse().unwrap());
        Plan { processors, ..Plan::whole(7, Profile::quick(), Network::Veth) }
    }

    pub(crate) fn here() -> Environment {
        let mut here = collect();
        (here.host, here.processor.model) = (Some("h".to_owned()), Some("EPYC".to_owned()));
        here
    }

    /// A cell of the first block that moved 1000 B in 1 ms.
    pub(crate) fn cell() -> CellRecord {
        let (bytes, duration) = (Bytes::new(1000), Span::from_milliseconds(1));
        let message = Bytes::new(65_536);
        let network = NetworkResult { bytes, duration, goodput_bits_per_second: 8e6, loss: 0.0 };
        let empty = CellRecord::empty(Row::idle(Component::Send, message), 0, 0);
        CellRecord { network: Some(network), ..empty }
    }

    /// A run of `suite` with these cells, which is not complete yet.
    pub(crate) fn store_run(
        store: &mut Store,
        suite: &str,
        plan: &Plan,
        machine: &Environment,
        cells: &[CellRecord],
    ) -> RunLock {
        let stored = serde_json::to_value(plan).unwrap();
        let lock = store_plan(store, suite, &stored, &plan.hash(), machine);
        for cell in cells {
            store.save_cell(&lock, cell).unwrap();
        }
        lock
    }

    /// A run of `suite` without cells.
    pub(crate) fn store_plan(
        store: &mut Store,
        suite: &str,
        plan: &Value,
        plan_hash: &str,
        machine: &Environment,
    ) -> RunLock {
        let new = NewRun {
            suite,
            profile: "quick",
            network: "veth",
            label: None,
            tags: &[],
            created: "2026-11-21T04:31:08Z",
            seed: 7,
            btu_version: "0.1.0",
            plan,
            plan_hash,
            planned_cells: 100,
        };
        let lock = store.create_run(&new).unwrap();
        let machine = serde_json::to_value(machine).unwrap();
        store.save_environment(&lock, Moment::Before, &machine).unwrap();
        lock
    }
}
