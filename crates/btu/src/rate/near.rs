//! The latency of near processors, as earlier runs found it: a hypervisor may keep the processors
//! apart for a whole run, which that run alone cannot tell.

use btu_control::environment::Environment;
use btu_store::{RunRow, Store};
use btu_suite::plan::Plan;
use btu_suite::record::Apart;
use btu_units::Span;

use super::SUITE;
use crate::stored::before;

/// The number of newest runs that are read.
const MOST: usize = 20;

/// The near latency between the two sides that `plan` divides the processors into, in earlier runs
/// of this machine; `None` where none is stored, or the processors are not divided.
pub(super) fn known(
    store: &Store,
    here: &Environment,
    plan: &Plan,
) -> anyhow::Result<Option<Span>> {
    let Some(pair) = pair(plan) else { return Ok(None) };
    let mut runs = Vec::new();
    for run in store.runs()?.iter().rev().filter(|run| run.suite == SUITE) {
        if runs.len() == MOST {
            break;
        }
        // An unreadable run tells nothing.
        let Ok(row) = store.run(&run.id.to_string()) else { continue };
        if is_between(&row, pair) && is_here(&row, here) {
            runs.extend(store.core_to_core(run.id).ok());
        }
    }
    Ok(Apart::near_in(runs))
}

fn pair(plan: &Plan) -> Option<[u32; 2]> {
    plan.processors.as_ref()?.pair()
}

fn is_between(row: &RunRow, processors: [u32; 2]) -> bool {
    let plan = serde_json::from_value(row.plan.clone());
    plan.is_ok_and(|plan| pair(&plan) == Some(processors))
}

/// The same machine, with processors of the same model: one that was moved to another host of its
/// provider has other latencies.
fn is_here(row: &RunRow, here: &Environment) -> bool {
    before(row).is_some_and(|there| {
        let name = |environment: &Environment| {
            Some((environment.host.clone()?, environment.processor.model.clone()?))
        };
        name(&there).is_some() && name(&there) == name(here)
    })
}

#[cfg(test)]
mod tests {
    use btu_control::environment::collect;
    use btu_store::{Moment, NewRun};
    use btu_suite::cell::{Component, Load, Row};
    use btu_suite::network::Network;
    use btu_suite::plan::Profile;
    use btu_suite::record::{CellRecord, MachineCpu, NetworkResult, WireAccount};
    use btu_units::Bytes;

    use super::*;

    fn divided(processors: Option<&str>) -> Plan {
        let processors = processors.map(|text| text.parse().unwrap());
        Plan { processors, ..Plan::whole(7, Profile::quick(), Network::Veth) }
    }

    fn here() -> Environment {
        let mut here = collect();
        (here.host, here.processor.model) = (Some("h".to_owned()), Some("EPYC".to_owned()));
        here
    }

    fn cell(block: u32, core_to_core_ns: u64) -> CellRecord {
        let (bytes, duration) = (Bytes::new(1000), Span::from_milliseconds(1));
        let message = Bytes::new(65_536);
        CellRecord {
            row: Row::Network { component: Component::Send, message, load: Load::Idle },
            block,
            position: 0,
            faults: Vec::new(),
            network: Some(NetworkResult {
                bytes,
                duration,
                goodput_bits_per_second: 8e6,
                loss: 0.0,
            }),
            host: None,
            reports: Vec::new(),
            stations: Vec::new(),
            machine: MachineCpu { core_to_core_ns: Some(core_to_core_ns), ..MachineCpu::default() },
            wire: WireAccount::default(),
            start_skew_ns: 0,
            overhead_ns: 0,
        }
    }

    /// A run of `suite` with so many cells of this latency.
    fn store_run(
        store: &mut Store,
        suite: &str,
        plan: &Plan,
        machine: &Environment,
        (latency, cells): (u64, u32),
    ) {
        let new = NewRun {
            suite,
            profile: "quick",
            network: "veth",
            label: None,
            tags: &[],
            created: "2026-11-21T04:31:08Z",
            seed: 7,
            btu_version: "0.1.0",
            plan: &serde_json::to_value(plan).unwrap(),
            plan_hash: &plan.hash(),
            planned_cells: cells,
        };
        let lock = store.create_run(&new).unwrap();
        let machine = serde_json::to_value(machine).unwrap();
        store.save_environment(&lock, Moment::Before, &machine).unwrap();
        for block in 0..cells {
            store.save_cell(&lock, &cell(block, latency)).unwrap();
        }
    }

    #[test]
    fn only_the_same_processors_of_the_same_machine_tell() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let plan = divided(Some("test=1,rest=0"));
        let mut elsewhere = here();
        elsewhere.host = Some("another".to_owned());
        let mut other_model = here();
        other_model.processor.model = Some("Xeon".to_owned());
        let mut nameless = here();
        nameless.host = None;
        for (suite, plan, machine, seen) in [
            (SUITE, &plan, &elsewhere, (51, 20)),
            (SUITE, &plan, &other_model, (52, 20)),
            (SUITE, &plan, &nameless, (53, 20)),
            (SUITE, &divided(Some("test=2,rest=0")), &here(), (54, 20)),
            (SUITE, &divided(None), &here(), (55, 20)),
            ("speed", &plan, &here(), (56, 20)),
            (SUITE, &plan, &here(), (57, 9)),
        ] {
            store_run(&mut store, suite, plan, machine, seen);
        }
        let known = |store: &Store| known(store, &here(), &plan).unwrap();
        assert_eq!(known(&store), None);
        for (latency, expected) in [(300, 300), (61, 61), (290, 61)] {
            store_run(&mut store, SUITE, &plan, &here(), (latency, 10));
            assert_eq!(known(&store), Some(Span::from_nanoseconds(expected)));
        }
        assert_eq!(super::known(&store, &nameless, &plan).unwrap(), None);
        assert_eq!(super::known(&store, &here(), &divided(None)).unwrap(), None);
    }
}
