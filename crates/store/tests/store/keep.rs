//! Tags, deletion, and readings.

use btu_contract::load::Load;
use btu_contract::record::{MachineCpu, Outcome, ProcessorReadings, Requested};
use btu_stats::Histogram;
use btu_store::{State, StoreError};
use btu_studies::rate::{CellRecord, Component, Reading, Row};
use btu_units::{Bytes, Span};

use crate::sample::{CREATED, StoreCells, cell, create, create_labelled, open, row, temporary};

#[test]
fn tags_come_and_go() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let first = create(&mut store).run();
    let second = create_labelled(&mut store, None, &["base".to_owned()]).run();
    assert!(store.tag(first, "base").unwrap() && !store.tag(first, "base").unwrap());
    assert!(store.tag(first, "night").unwrap());
    assert_eq!(store.tagged("base").unwrap(), [first, second]);
    assert_eq!(store.runs().unwrap()[0].tags, ["base", "night"]);
    assert!(store.untag(first, "base").unwrap() && !store.untag(first, "base").unwrap());
    assert_eq!(store.tagged("base").unwrap(), [second]);
    assert!(store.tagged("no such").unwrap().is_empty());
}

#[test]
fn what_is_no_word_is_no_tag() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let run = create(&mut store).run();
    for tag in ["", "two words", "a,b", "-x", "\u{1b}[2J", "a\nb", &"x".repeat(101)] {
        assert!(matches!(store.tag(run, tag), Err(StoreError::BadTag { .. })), "{tag:?}");
    }
    assert!(store.tag(run, "Grundlinie-für-2026/11").unwrap());
}

#[test]
fn a_deleted_run_leaves_nothing_and_its_number_is_not_given_again() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let kept = create_labelled(&mut store, None, &["base".to_owned()]);
    let lock = create_labelled(&mut store, None, &["base".to_owned()]);
    store.save_cell(&kept, &cell(0, 0, row())).unwrap();
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    store.finish(&lock, State::Complete, CREATED).unwrap();
    let gone = lock.run();
    store.delete(lock).unwrap();
    assert!(matches!(store.run(&gone.to_string()), Err(StoreError::UnknownRun { .. })));
    assert_eq!(store.cells(gone).unwrap(), []);
    assert_eq!(store.tagged("base").unwrap(), [kept.run()]);
    assert_eq!(store.cells(kept.run()).unwrap().len(), 1);
    assert_eq!(create(&mut store).run().number(), gone.number() + 1);
}

#[test]
fn a_run_that_is_being_written_cannot_be_deleted() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let held = create(&mut store);
    assert!(matches!(open(&path).lock(held.run()), Err(StoreError::Locked { .. })));
}

/// With an account of requests, from which its speed is computed.
fn answered(mut cell: CellRecord) -> CellRecord {
    let mut round_trip = Histogram::new();
    round_trip.record(50_000);
    let requested = Requested {
        requests: 1,
        answers: 1,
        lost: 0,
        lost_batches: Vec::new(),
        late: 0,
        wrong: 0,
        round_trip,
    };
    for report in cell.reports.iter_mut().filter_map(|placed| placed.result.as_mut().ok()) {
        report.outcome = Outcome::Requested(requested.clone());
    }
    cell
}

#[test]
fn readings_are_those_of_the_whole_cells() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    let interactive = Row::Network {
        component: Component::InteractiveTcp,
        message: Bytes::new(100),
        load: Load::Idle,
    };
    let rows = [row(), Row::Host { load: Load::Cpu }, interactive];
    for (position, row) in (0..).zip(rows) {
        let of_block = |block| {
            if row == interactive {
                answered(cell(block, position, row))
            } else {
                cell(block, position, row)
            }
        };
        store.save_cell(&lock, &of_block(0)).unwrap();
        let mut void = of_block(1);
        void.faults.push("hung".to_owned());
        store.save_cell(&lock, &void).unwrap();
    }
    let cells = store.cells(lock.run()).unwrap();
    let mut expected: Vec<Reading> = cells.iter().filter_map(Reading::of).collect();
    assert_eq!(expected.len(), 3);
    expected.retain(|reading| reading.row != interactive);
    assert_eq!(store.speeds(lock.run(), Reading::of_columns).unwrap(), expected);
}

#[test]
fn processors_are_those_of_valid_cells() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    for (block, latency) in (0..).zip([Some(60), None, Some(310), Some(900)]) {
        let mut cell = cell(block, 0, row());
        cell.machine.core_to_core_ns = latency;
        if latency == Some(900) {
            cell.faults.push("hung".to_owned());
        }
        store.save_cell(&lock, &cell).unwrap();
    }
    let found = store.processors(lock.run()).unwrap();
    let latencies: Vec<Option<Span>> = found.iter().map(|one| one.core_to_core).collect();
    assert_eq!(latencies, [Some(60), None, Some(310)].map(|one| one.map(Span::from_nanoseconds)));
}

#[test]
fn processors_are_read_from_columns() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    for (block, core_to_core_ns, arithmetic_ns) in
        [(0, Some(60), Some(28_000)), (1, None, None), (2, None, Some(43_000))]
    {
        let mut cell = cell(block, 0, row());
        cell.machine = MachineCpu { core_to_core_ns, arithmetic_ns, ..cell.machine };
        store.save_cell(&lock, &cell).unwrap();
    }
    let of = |core_to_core: Option<u64>, arithmetic: Option<u64>| ProcessorReadings {
        core_to_core: core_to_core.map(Span::from_nanoseconds),
        arithmetic: arithmetic.map(Span::from_nanoseconds),
    };
    let expected = [of(Some(60), Some(28_000)), of(None, None), of(None, Some(43_000))];
    assert_eq!(store.processors(lock.run()).unwrap(), expected);
}
