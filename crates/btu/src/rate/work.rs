//! The amounts of work of an earlier run: runs that do the same work differ less.

use btu_control::coordinator::EarlierWork;
use btu_control::environment::Environment;
use btu_store::{RunRow, Store};
use btu_suite::compare::Reading;
use btu_suite::plan::Plan;
use btu_suite::work::Amounts;

use crate::earlier;

/// The amounts of the newest complete run of the same plan on the machine `here` whose baselines
/// lasted about the profile's time; `None` if there is no such run, or none of its amounts fits.
pub(super) fn known(
    store: &Store,
    here: &Environment,
    plan: &Plan,
) -> anyhow::Result<Option<EarlierWork>> {
    if plan.volume.is_some() {
        return Ok(None);
    }
    let newest = earlier::ratings(store, here, plan)?.next();
    Ok(newest.and_then(|row| of(store, row, plan)))
}

fn of(store: &Store, row: RunRow, plan: &Plan) -> Option<EarlierWork> {
    let amounts: Amounts = serde_json::from_value(row.calibration?["amounts"].take()).ok()?;
    let placed = store.readings_for_rating(row.summary.id).ok()?;
    let readings: Vec<Reading> = placed.into_iter().map(|cell| cell.reading).collect();
    let amounts = amounts.fitting(&readings, plan.profile.target);
    let fits = !(amounts.volumes.is_empty() && amounts.host.is_empty());
    fits.then_some(EarlierWork { run: row.summary.uuid, amounts })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use btu_store::State;
    use btu_suite::cell::{Component, Load, Row};
    use btu_suite::record::{CellRecord, HostResult, NetworkResult};
    use btu_suite::work::{HostAmount, Volume};
    use btu_units::{Bytes, Span};

    use super::*;
    use crate::earlier::tests::{divided, here, store_run};
    use crate::rate::SUITE;

    const MESSAGE: Bytes = Bytes::new(65_536);

    fn amounts() -> Amounts {
        let of =
            |component, bytes| Volume { component, message: MESSAGE, volume: Bytes::new(bytes) };
        Amounts {
            volumes: vec![of(Component::Send, 7_000_000), of(Component::Recv, 8_000_000)],
            host: vec![HostAmount { load: Load::Cpu, amount: 700 }],
            null_cell_ns: 15_000_000,
        }
    }

    /// A cell of the first block that did the work of its row's activity.
    fn lasted(row: Row, position: u32, milliseconds: u64) -> CellRecord {
        let duration = Span::from_milliseconds(milliseconds);
        let empty = CellRecord::empty(row, 0, position);
        match row {
            Row::Network { component, message, .. } => {
                let bytes = amounts().volume(component, message).unwrap();
                let goodput_bits_per_second = bytes.bits() / duration.seconds();
                let network = NetworkResult { bytes, duration, goodput_bits_per_second, loss: 0.0 };
                CellRecord { network: Some(network), ..empty }
            }
            Row::Host { load } => {
                let work = amounts().host(load).unwrap();
                CellRecord { host: Some(HostResult { work, duration, overlap: 0.0 }), ..empty }
            }
        }
    }

    fn cells() -> Vec<CellRecord> {
        let idle = |component| Row::idle(component, MESSAGE);
        let loaded = Row::Network { component: Component::Send, message: MESSAGE, load: Load::Cpu };
        vec![
            lasted(idle(Component::Send), 0, 199),
            lasted(loaded, 1, 900),
            lasted(idle(Component::Recv), 2, 201),
            lasted(Row::Host { load: Load::Cpu }, 3, 51),
        ]
    }

    fn finished(store: &mut Store, plan: &Plan, machine: &Environment, state: State) -> RunRow {
        let lock = store_run(store, SUITE, plan, machine, &cells());
        let calibration = serde_json::json!({ "amounts": amounts() });
        store.save_calibration(&lock, &calibration).unwrap();
        store.finish(&lock, state, "2026-11-21T04:34:08Z").unwrap();
        store.run(&lock.run().to_string()).unwrap()
    }

    #[test]
    fn the_newest_complete_run_of_the_plan_tells_what_fits() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let plan = divided(None);
        let mut elsewhere = here();
        elsewhere.host = Some("another".to_owned());
        let other = Plan { messages: vec![MESSAGE], ..plan.clone() };
        finished(&mut store, &plan, &here(), State::Interrupted);
        finished(&mut store, &plan, &elsewhere, State::Complete);
        finished(&mut store, &other, &here(), State::Complete);
        assert_eq!(known(&store, &here(), &plan).unwrap(), None);

        let run = finished(&mut store, &Plan { seed: 8, ..plan.clone() }, &here(), State::Complete);
        let earlier = known(&store, &here(), &plan).unwrap().unwrap();
        assert_eq!(earlier.run, run.summary.uuid);
        // The baseline of RECV lasted more than twice as long as the profile's 100 ms.
        assert_eq!(earlier.amounts.volumes, amounts().volumes[..1]);
        assert_eq!(earlier.amounts.host, amounts().host);

        let fixed = Plan { volume: Some(Bytes::new(4_000_000)), ..plan };
        finished(&mut store, &fixed, &here(), State::Complete);
        assert_eq!(known(&store, &here(), &fixed).unwrap(), None);
    }

    #[test]
    fn a_run_that_came_with_a_file_tells_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let plan = divided(None);
        let run = finished(&mut store, &plan, &here(), State::Complete);
        let mut archive = Vec::new();
        store.export(&[run.summary.id], &mut archive).unwrap();
        let mut other = Store::open(directory.path().join("other.sqlite")).unwrap();
        other.import(Cursor::new(archive), |_| None).unwrap();
        assert_eq!(known(&other, &here(), &plan).unwrap(), None);
        assert!(known(&store, &here(), &plan).unwrap().is_some());
    }
}
