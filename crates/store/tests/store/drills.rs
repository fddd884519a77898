//! Fault drills: a killed writer, a full disk, a run that another process is writing.
//!
//! A drill that needs another process starts this test program again with one of its ignored tests,
//! which is the other process when [`DATABASE`] is set and does nothing otherwise.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use btu_store::{State, Store, StoreError};
use rusqlite::Connection;

use crate::sample::{StoreCells, cell, create, open, row, temporary};

/// Names the database for the other process.
pub(crate) const DATABASE: &str = "BTU_STORE_DRILL";

pub(crate) fn other_part(program: &mut Command, part: &str, database: &Path) -> Child {
    program
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", part])
        .env(DATABASE, database)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Starts the writer and reads its acknowledgements until `count` cells are stored.
fn writer_with_cells(database: &Path, count: u32) -> (Child, impl Iterator<Item = u32>) {
    let mut writer = other_part(&mut this_program(), "drills::writer", database);
    let output = BufReader::new(writer.stdout.take().unwrap());
    let mut stored = output
        .lines()
        .filter_map(|line| line.unwrap().strip_prefix("stored ")?.parse::<u32>().ok());
    stored.find(|&block| block + 1 >= count).expect("the writer ended early");
    (writer, stored)
}

#[test]
#[ignore = "the writer's part of other tests"]
fn writer() {
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let mut store = open(Path::new(&database));
    let lock = create(&mut store);
    println!();
    for block in 0.. {
        store.save_cell(&lock, &cell(block, 0, row())).unwrap();
        println!("stored {block}");
    }
}

#[test]
fn every_acknowledged_cell_survives_a_killed_writer() {
    for cells in [1, 7, 30] {
        let (_directory, path) = temporary();
        let (mut writer, rest) = writer_with_cells(&path, cells);
        writer.kill().unwrap();
        writer.wait().unwrap();
        let acknowledged = rest.last().map_or(cells, |block| block + 1);
        check_after_kill(&path, acknowledged);
    }
}

#[test]
fn a_writer_may_be_killed_while_it_begins() {
    for milliseconds in 0..20 {
        let (_directory, path) = temporary();
        let mut writer = other_part(&mut this_program(), "drills::writer", &path);
        std::thread::sleep(Duration::from_millis(milliseconds));
        writer.kill().unwrap();
        let output = writer.wait_with_output().unwrap();
        let acknowledged =
            String::from_utf8_lossy(&output.stdout).matches("stored ").count() as u32;
        if open(&path).runs().unwrap().is_empty() {
            assert_eq!(acknowledged, 0);
        } else {
            check_after_kill(&path, acknowledged);
        }
    }
}

/// All acknowledged cells are there, one more at most, and the run can be resumed.
fn check_after_kill(path: &Path, acknowledged: u32) {
    let store = open(path);
    let integrity: String = Connection::open(path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
    let run = store.run("latest").unwrap().summary;
    assert_eq!(run.state, State::Interrupted);
    let blocks: Vec<u32> = store.cells(run.id).unwrap().iter().map(|cell| cell.block).collect();
    assert!(blocks.iter().copied().eq(0..blocks.len() as u32), "gaps in {blocks:?}");
    assert!(
        (acknowledged..=acknowledged + 1).contains(&(blocks.len() as u32)),
        "{acknowledged} {blocks:?}"
    );
    let lock = store.lock(run.id).unwrap();
    store.reopen(&lock).unwrap();
    store.save_cell(&lock, &cell(u32::MAX, 0, row())).unwrap();
}

#[test]
fn a_run_that_is_being_written_can_be_read_but_not_taken() {
    let (_directory, path) = temporary();
    let (mut writer, _rest) = writer_with_cells(&path, 5);
    let reader = open(&path);
    let run = reader.run("latest").unwrap().summary;
    assert_eq!(run.state, State::Running);
    assert!(reader.cells(run.id).unwrap().len() >= 5);
    let refused = reader.lock(run.id).unwrap_err();
    assert!(
        matches!(refused, StoreError::Locked { owner: Some(pid), .. } if pid == writer.id()),
        "{refused}"
    );
    writer.kill().unwrap();
    writer.wait().unwrap();
    reader.lock(run.id).unwrap();
}

/// Stores cells until the disk is full; returns their number.
fn fill(store: &Store, lock: &btu_store::RunLock) -> u32 {
    for block in 0..1000 {
        match store.save_cell(lock, &cell(block, 0, row())) {
            Ok(()) => {}
            Err(error) => {
                assert!(matches!(error, StoreError::Full { .. }), "{error}");
                return block;
            }
        }
    }
    panic!("the disk never filled up");
}

#[test]
#[ignore = "the part of another test inside its own mount namespace"]
fn on_a_small_disk() {
    let Some(directory) = std::env::var_os(DATABASE) else { return };
    let mount_point = Path::new(&directory);
    let options = Some("size=1m");
    nix::mount::mount(
        Some("tmpfs"),
        mount_point,
        Some("tmpfs"),
        nix::mount::MsFlags::empty(),
        options,
    )
    .unwrap();
    let path = mount_point.join("runs.sqlite");
    let mut store = open(&path);
    let lock = create(&mut store);
    let stored = fill(&store, &lock);
    assert!(stored > 0);
    assert_eq!(store.cells(lock.run()).unwrap().len(), stored as usize);
    drop((store, lock));
    let store = open(&path);
    assert_eq!(store.cells(store.find("latest").unwrap()).unwrap().len(), stored as usize);
    println!("\nsmall disk: stored {stored} cells");
}

#[test]
fn a_full_disk_keeps_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut command) = with_mounts() else {
        return skip("no user and mount namespaces here, so no small disk to fill");
    };
    let output = other_part(&mut command, "drills::on_a_small_disk", directory.path())
        .wait_with_output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("small disk: stored"), "{text}");
}

/// This program in a mount namespace of its own, if the system allows that.
pub(crate) fn with_mounts() -> Option<Command> {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "--"])
        .arg(std::env::current_exe().unwrap());
    let probe =
        Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    probe.is_ok_and(|status| status.success()).then_some(command)
}

/// Prints that a drill was skipped; fails where CI requires it.
pub(crate) fn skip(reason: &str) {
    eprintln!("LAB SKIPPED: {reason}");
    assert!(
        std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
        "BTU_LAB=required, but {reason}"
    );
}
