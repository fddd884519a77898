//! The latency of near processors, as earlier runs found it: a hypervisor may keep the processors
//! apart for a whole run, which that run alone cannot tell.

use btu_control::environment::Environment;
use btu_store::{RunRow, Store};
use btu_suite::plan::Plan;
use btu_suite::record::Apart;
use btu_units::Span;

use super::earlier;

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
    let runs = earlier::runs(store, here)?.filter(|row| is_between(row, pair));
    let readings = runs.filter_map(|row| store.core_to_core(row.summary.id).ok());
    Ok(Apart::near_in(readings.take(MOST)))
}

fn pair(plan: &Plan) -> Option<[u32; 2]> {
    plan.processors.as_ref()?.pair()
}

fn is_between(row: &RunRow, processors: [u32; 2]) -> bool {
    let plan = serde_json::from_value(row.plan.clone());
    plan.is_ok_and(|plan| pair(&plan) == Some(processors))
}

#[cfg(test)]
mod tests {
    use btu_suite::record::{CellRecord, MachineCpu};

    use super::super::SUITE;
    use super::super::earlier::tests::{cell, divided, here, store_run};
    use super::*;

    /// So many cells of this latency.
    fn cells((latency, count): (u64, u32)) -> Vec<CellRecord> {
        let machine = MachineCpu { core_to_core_ns: Some(latency), ..MachineCpu::default() };
        (0..count).map(|block| CellRecord { block, machine, ..cell() }).collect()
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
            drop(store_run(&mut store, suite, plan, machine, &cells(seen)));
        }
        let known = |store: &Store| known(store, &here(), &plan).unwrap();
        assert_eq!(known(&store), None);
        for (latency, expected) in [(300, 300), (61, 61), (290, 61)] {
            drop(store_run(&mut store, SUITE, &plan, &here(), &cells((latency, 10))));
            assert_eq!(known(&store), Some(Span::from_nanoseconds(expected)));
        }
        assert_eq!(super::known(&store, &nameless, &plan).unwrap(), None);
        assert_eq!(super::known(&store, &here(), &divided(None)).unwrap(), None);
    }
}
