//! A run from its making to its end, as its writer and its readers see it.

use std::thread;
use std::time::{Duration, Instant};

use btu_contract::load::Load;
use btu_store::{Level, Moment, State, Store, StoreError};
use btu_studies::rate::{Component, Row};
use btu_units::Bytes;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;

use crate::sample::{
    self, StoreCells, cell, create, create_labelled, create_served, open, plan, row, temporary,
};

#[test]
fn everything_comes_back_as_it_went_in() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let tags = ["night".to_owned(), "lab".to_owned(), "night".to_owned()];
    let lock = create_labelled(&mut store, Some("before the upgrade"), &tags);
    store.save_calibration(&lock, &json!({"SEND": 4_000_000})).unwrap();
    store.save_environment(&lock, Moment::Before, &json!({"kernel": "6.18"})).unwrap();
    store.save_environment(&lock, Moment::After, &json!({"kernel": "6.18"})).unwrap();
    store.save_event(&lock, "2026-11-21T04:32:00Z", Level::Warning, "steal time of 3 %").unwrap();
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    store.finish(&lock, State::Complete, "2026-11-21T04:34:00Z").unwrap();
    let run = store.run("latest").unwrap();
    assert_eq!(run.summary.label.as_deref(), Some("before the upgrade"));
    assert_eq!(run.summary.tags, ["lab", "night"]);
    assert_eq!(run.summary.state, State::Complete);
    assert_eq!(run.summary.finished.as_deref(), Some("2026-11-21T04:34:00Z"));
    assert_eq!(
        (run.summary.planned_cells, run.summary.cells, run.summary.valid_cells),
        (240, 1, 1)
    );
    assert_eq!(run.seed, u64::MAX);
    assert_eq!((run.plan, run.plan_hash.as_str()), (plan(), "0123456789abcdef"));
    assert_eq!(run.calibration, Some(json!({"SEND": 4_000_000})));
    assert_eq!(
        run.environments.iter().map(|(moment, _)| *moment).collect::<Vec<_>>(),
        [Moment::Before, Moment::After]
    );
    assert_eq!(
        (run.events[0].level, run.events[0].text.as_str()),
        (Level::Warning, "steal time of 3 %")
    );
    assert_eq!(store.runs().unwrap(), [run.summary]);
}

#[test]
fn cells_come_back_whole_and_in_the_order_of_the_plan() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    let host = Row::Host { load: Load::Cpu };
    let mut failed = cell(1, 0, row());
    failed.faults.push("the disk activity hung".to_owned());
    let planned = [cell(0, 0, host), cell(0, 1, row()), failed];
    for stored in planned.iter().rev() {
        store.save_cell(&lock, stored).unwrap();
    }
    assert_eq!(store.cells(lock.run()).unwrap(), planned);
    assert_eq!(store.runs().unwrap()[0].valid_cells, 2);
}

#[test]
fn a_stored_cell_is_never_overwritten() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    store.save_cell(&lock, &cell(2, 0, row())).unwrap();
    let refused = store.save_cell(&lock, &cell(2, 5, row())).unwrap_err();
    assert!(matches!(refused, StoreError::CellExists { block: 2, .. }), "{refused}");
    assert_eq!(store.cells(lock.run()).unwrap()[0].position, 0);
}

#[test]
fn a_host_activity_is_stored_once_per_block_too() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    let host = Row::Host { load: Load::Transfer };
    store.save_cell(&lock, &cell(0, 0, host)).unwrap();
    store.save_cell(&lock, &cell(1, 0, host)).unwrap();
    assert!(matches!(
        store.save_cell(&lock, &cell(0, 9, host)),
        Err(StoreError::CellExists { .. })
    ));
}

#[test]
fn a_figure_that_is_no_number_is_refused() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    let mut endless = cell(0, 0, row());
    endless.network.as_mut().unwrap().goodput_bits_per_second = f64::INFINITY;
    let refused = store.save_cell(&lock, &endless).unwrap_err();
    assert!(matches!(refused, StoreError::NotFinite { field: "goodput", .. }), "{refused}");
    assert!(store.cells(lock.run()).unwrap().is_empty());
}

#[test]
fn columns_can_be_searched_with_plain_sql() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    let found: (String, i64, String, f64, i64, i64) = Connection::open(&path)
        .unwrap()
        .query_row(
            "SELECT component, message_bytes, load, goodput_bits_per_second, duration_ns, host_duration_ns FROM cells",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)),
        )
        .unwrap();
    assert_eq!(
        found,
        ("SEND_RECV".into(), 1250, "disk".into(), 941_482_753.1, 1_049_000_000, 998_000_000)
    );
}

#[test]
fn runs_are_found_by_number_uuid_and_latest() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let nothing = store.find("latest").unwrap_err().to_string();
    assert!(nothing.contains("none is stored yet; `btu rate` makes one"), "{nothing}");
    let ids = [create(&mut store).run(), create(&mut store).run()];
    let uuid = store.run("r1").unwrap().summary.uuid;
    for selector in ["r1", "R1", "1", " r1 ", &uuid, &uuid[..8], &uuid.to_uppercase()] {
        assert_eq!(store.find(selector).unwrap(), ids[0], "{selector}");
    }
    assert_eq!(store.find("latest").unwrap(), ids[1]);
    for selector in
        ["", "r", "r3", "-1", "last", &uuid[..3], "r1'; DROP TABLE runs", "99999999999999999999"]
    {
        let refused = store.find(selector).unwrap_err();
        assert!(matches!(refused, StoreError::UnknownRun { .. }), "{selector}: {refused}");
        assert!(refused.to_string().contains("`btu runs` lists"), "{refused}");
    }
}

#[test]
fn the_latest_run_is_none_that_others_made_of_a_server() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let served = create_served(&mut store).run();
    assert!(matches!(store.find("latest"), Err(StoreError::UnknownRun { .. })));
    let own = create(&mut store).run();
    create_served(&mut store);
    assert_eq!(store.find("latest").unwrap(), own);
    assert_eq!(store.find("r1").unwrap(), served);
}

#[test]
fn a_prefix_that_fits_two_runs_is_refused_with_both() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    for uuid in ["abcd1111-0000-4000-8000-000000000000", "abcd2222-0000-4000-8000-000000000000"] {
        let run = create(&mut store).run();
        let connection = Connection::open(&path).unwrap();
        connection
            .execute("UPDATE runs SET uuid = ?1 WHERE id = ?2", (uuid, run.number()))
            .unwrap();
    }
    let refused = store.find("abcd").unwrap_err();
    assert!(
        matches!(&refused, StoreError::Ambiguous { candidates, .. } if candidates == "r1, r2"),
        "{refused}"
    );
    assert_eq!(store.find("abcd2").unwrap().to_string(), "r2");
}

#[test]
fn uuids_are_random_and_of_version_four() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    (0..50).for_each(|_| drop(create(&mut store)));
    let mut uuids: Vec<_> = store.runs().unwrap().into_iter().map(|run| run.uuid).collect();
    for uuid in &uuids {
        let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert_eq!(uuid.as_bytes()[14], b'4', "{uuid}");
        assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
    }
    uuids.sort();
    uuids.dedup();
    assert_eq!(uuids.len(), 50);
}

#[test]
fn a_run_is_running_as_long_as_somebody_writes_it() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    let state = |store: &Store| store.runs().unwrap()[0].state;
    let reader = open(&path);
    assert_eq!(state(&reader), State::Running);
    let run = lock.run();
    drop(lock);
    assert_eq!(state(&reader), State::Interrupted);
    let lock = store.lock(run).unwrap();
    store.finish(&lock, State::Failed, sample::CREATED).unwrap();
    store.reopen(&lock).unwrap();
    assert_eq!(state(&reader), State::Running);
    assert_eq!(reader.run("latest").unwrap().summary.finished, None);
    store.finish(&lock, State::Complete, sample::CREATED).unwrap();
    assert_eq!(state(&reader), State::Complete);
}

#[test]
fn many_writers_of_different_runs_do_not_disturb_each_other() {
    let (_directory, path) = temporary();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut store = open(&path);
                let lock = create(&mut store);
                (0..20).for_each(|block| store.save_cell(&lock, &cell(block, 0, row())).unwrap());
                store.finish(&lock, State::Complete, sample::CREATED).unwrap();
            });
        }
    });
    let runs = open(&path).runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.cells).collect::<Vec<_>>(), [20; 4]);
}

/// A clock that was set, and the pause before a run is resumed, are no time of the run.
#[test]
fn time_that_a_run_took_is_measured_and_not_subtracted() {
    const WORK: Duration = Duration::from_millis(40);
    const PAUSE: Duration = Duration::from_millis(300);
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let began = Instant::now();
    let lock = create(&mut store);
    let run = lock.run();
    thread::sleep(WORK);
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    // As if it were killed: what its cells took stays.
    drop(lock);
    let spent = |store: &Store| Duration::from(store.summary(run).unwrap().spent.unwrap());
    assert!(spent(&store) >= WORK);
    thread::sleep(PAUSE);
    let lock = store.lock(run).unwrap();
    store.reopen(&lock).unwrap();
    thread::sleep(WORK);
    store.finish(&lock, State::Complete, "1999-01-01T00:00:00Z").unwrap();
    let found = spent(&store);
    assert!(found >= 2 * WORK && found + PAUSE <= began.elapsed(), "{found:?}");
}

#[test]
fn an_unreadable_cell_is_named() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    Connection::open(&path).unwrap().execute("UPDATE cells SET record = x'00'", []).unwrap();
    let refused = store.cells(lock.run()).unwrap_err();
    assert!(
        matches!(&refused, StoreError::DamagedRun { run, .. } if *run == lock.run()),
        "{refused}"
    );
    assert!(refused.to_string().contains("`btu runs rm r1 --yes` deletes this one"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn rates_come_back_to_the_last_bit(goodput in prop::num::f64::NORMAL, loss in 0.0..1.0, overlap in 0.0..1.0) {
        let (_directory, path) = temporary();
        let mut store = open(&path);
        let lock = create(&mut store);
        let row = Row::Network { component: Component::Udp, message: Bytes::new(u64::MAX), load: Load::Idle };
        let mut cell = cell(u32::MAX, u32::MAX, row);
        let network = cell.network.as_mut().unwrap();
        (network.goodput_bits_per_second, network.loss) = (goodput, loss);
        cell.host.as_mut().unwrap().overlap = overlap;
        store.save_cell(&lock, &cell).unwrap();
        prop_assert_eq!(store.cells(lock.run()).unwrap(), [cell]);
    }
}
