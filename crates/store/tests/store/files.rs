//! Files and directories that differ from those that the program makes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use btu_store::{Moment, State, Store, StoreError};
use btu_units::Span;
use rusqlite::Connection;

use crate::sample::{self, cell, create, open, row, temporary};

/// A database as version 0.1.0 wrote it. It never changes: later schemas must be able to read it.
const SCHEMA_1: &str = include_str!("fixtures/schema-1.sql");

/// Like `SCHEMA_1`, for schema 2, with machines described.
const SCHEMA_2: &str = include_str!("fixtures/schema-2.sql");

/// Like `SCHEMA_2`, for schema 3, with an imported run of known time.
const SCHEMA_3: &str = include_str!("fixtures/schema-3.sql");

/// Like `SCHEMA_3`, for schema 4, with packed cells.
const SCHEMA_4: &str = include_str!("fixtures/schema-4.sql");

fn old_at(path: &Path, schema: &str) {
    Connection::open(path).unwrap().execute_batch(schema).unwrap();
}

/// Every table and index as the database defines it.
fn definitions(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut select = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_database_of_schema_1_is_read() {
    let (_directory, path) = temporary();
    old_at(&path, SCHEMA_1);
    let store = open(&path);
    let run = store.run("r1").unwrap();
    assert_eq!(run.summary.uuid, "5f0a6a3e-9c1d-4e57-8b1e-2f7f0d0c9a11");
    assert_eq!((run.summary.state, run.summary.cells), (State::Complete, 1));
    assert_eq!(run.seed, u64::MAX);
    assert_eq!(run.environments[0].0, Moment::Before);
    assert_eq!(run.events[0].text, "no frequency governor to read");
    let cells = store.cells(run.summary.id).unwrap();
    assert_eq!(cells[0].row, row());
    assert_eq!(
        cells[0].network.as_ref().unwrap().goodput_bits_per_second.to_string(),
        "941482753.1"
    );
    assert_eq!(store.run("r2").unwrap().summary.state, State::Interrupted);
}

#[test]
fn a_database_of_schema_2_is_read() {
    let (_directory, path) = temporary();
    old_at(&path, SCHEMA_2);
    let store = open(&path);
    let run = store.run("r1").unwrap();
    assert_eq!(
        (run.summary.tags.as_slice(), run.seed),
        (["fixture".to_owned()].as_slice(), u64::MAX)
    );
    assert_eq!(store.cells(run.summary.id).unwrap().len(), 1);
    let notes = store.machine_notes().unwrap();
    let said: Vec<_> = notes
        .iter()
        .map(|note| {
            (note.key.as_str(), note.name.as_deref(), note.price.as_ref().map(ToString::to_string))
        })
        .collect();
    assert_eq!((run.summary.imported, run.summary.spent), (false, None));
    assert_eq!(
        said,
        [("m00000001", None, None), ("mf0ae38c7", Some("attic"), Some("1200.50 EUR".to_owned()))]
    );
}

#[test]
fn a_database_of_schema_3_is_read() {
    let (_directory, path) = temporary();
    old_at(&path, SCHEMA_3);
    let found = open(&path).runs().unwrap();
    let own: Vec<_> = found.iter().map(|run| (run.imported, run.spent)).collect();
    assert_eq!(own, [(true, Some(Span::from_milliseconds(2500)))]);
}

#[test]
fn a_database_of_schema_4_is_read() {
    let (_directory, path) = temporary();
    let older = path.with_file_name("older.sqlite");
    old_at(&path, SCHEMA_4);
    old_at(&older, SCHEMA_3);
    let cells = |path: &Path| {
        let store = open(path);
        let run = store.run("r1").unwrap().summary.id;
        serde_json::to_string(&store.cells(run).unwrap()).unwrap()
    };
    assert!(cells(&path).len() > 1000);
    assert_eq!(cells(&path), cells(&older));
}

#[test]
fn a_new_database_has_the_schema_of_an_upgraded_one() {
    let (_directory, path) = temporary();
    open(&path);
    for (name, schema) in [
        ("first.sqlite", SCHEMA_1),
        ("second.sqlite", SCHEMA_2),
        ("third.sqlite", SCHEMA_3),
        ("fourth.sqlite", SCHEMA_4),
    ] {
        let old = path.with_file_name(name);
        old_at(&old, schema);
        open(&old);
        assert_eq!(definitions(&path), definitions(&old), "{name}");
    }
}

#[test]
fn a_newer_schema_is_left_alone() {
    let (_directory, path) = temporary();
    open(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 4711).unwrap();
    let refused = Store::open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::NewerSchema { found: 4711, .. }), "{refused}");
    assert!(refused.to_string().contains("was written by a newer btu (schema 4711"));
}

#[test]
fn garbage_is_refused_and_kept() {
    let (_directory, path) = temporary();
    let garbage = "not a database at all ".repeat(500);
    fs::write(&path, &garbage).unwrap();
    let refused = Store::open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), garbage);
}

#[test]
fn a_database_of_another_program_is_refused_and_kept() {
    let (_directory, path) = temporary();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE runs (theirs TEXT)").unwrap();
    let refused = Store::open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused}");
    assert_eq!(definitions(&path), ["CREATE TABLE runs (theirs TEXT)"]);
}

/// A journal that names a file, after which `SQLite` would remove that file: half a transaction, and
/// the name as `pager.c` writes it.
fn leave_journal_that_names(named: &Path, path: &Path) {
    let connection = Connection::open(path).unwrap();
    let journal = path.with_file_name("runs.sqlite-journal");
    let copy = path.with_file_name("copy");
    let half = "PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; BEGIN IMMEDIATE; CREATE TABLE more (x);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 300) INSERT INTO more SELECT zeroblob(3000) FROM n;";
    connection.execute_batch(half).unwrap();
    fs::copy(path, &copy).unwrap();
    let mut octets = fs::read(&journal).unwrap();
    drop(connection);
    fs::rename(&copy, path).unwrap();
    let name = named.to_str().unwrap().as_bytes();
    let sum: u32 = name.iter().map(|octet| u32::from(*octet)).sum();
    octets.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    octets.extend(name);
    octets.extend((name.len() as u32).to_be_bytes());
    octets.extend(sum.to_be_bytes());
    octets.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(&journal, octets).unwrap();
}

#[test]
fn a_journal_of_another_removes_no_file() {
    let (directory, path) = temporary();
    drop(open(&path));
    let precious = directory.path().join("precious");
    fs::write(&precious, "a file of the user").unwrap();
    leave_journal_that_names(&precious, &path);
    let refused = Store::open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert!(precious.exists(), "the journal had it removed");
    // SQLite alone removes it: the test is about the right thing.
    Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM runs", [], |_| Ok(()))
        .unwrap();
    assert!(!precious.exists(), "the journal names no file");
}

#[test]
fn tables_of_another_do_no_work_of_his_choice() {
    let endless =
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n)";
    for (change, said) in [
        (
            format!(
                "ALTER TABLE tags RENAME TO t; CREATE VIEW tags AS SELECT 1 AS run, {endless} AS tag;"
            ),
            "\"tags\"",
        ),
        (
            format!("CREATE TRIGGER slow AFTER INSERT ON runs BEGIN SELECT {endless}; END;"),
            "trigger \"slow\"",
        ),
        ("CREATE TABLE more (x);".to_owned(), "table \"more\""),
        ("DROP INDEX events_of_run;".to_owned(), "index \"events_of_run\""),
        ("CREATE INDEX big ON runs (length(zeroblob(9)));".to_owned(), "index \"big\""),
    ] {
        let (_directory, path) = temporary();
        drop(open(&path));
        Connection::open(&path).unwrap().execute_batch(&change).unwrap();
        let refused = Store::open(&path).unwrap_err();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        assert!(refused.to_string().contains(said), "{refused}");
    }
    // What a user adds to look at the runs stays.
    let (_directory, path) = temporary();
    drop(open(&path));
    let own = "CREATE VIEW mine AS SELECT label FROM runs; ANALYZE;";
    Connection::open(&path).unwrap().execute_batch(own).unwrap();
    assert!(open(&path).runs().unwrap().is_empty());
}

#[test]
fn a_link_of_another_makes_no_file_elsewhere() {
    let (directory, path) = temporary();
    let elsewhere = directory.path().join("elsewhere");
    symlink(&elsewhere, &path).unwrap();
    refusal(&path);
    assert!(!elsewhere.exists());
    fs::remove_file(&path).unwrap();
    symlink(&elsewhere, path.with_file_name("runs.sqlite.lock")).unwrap();
    refusal(&path);
    assert!(!elsewhere.exists());
    // A link of the user to a place with more room is followed.
    let (_other, real) = temporary();
    drop(open(&real));
    fs::remove_file(path.with_file_name("runs.sqlite.lock")).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&real, &path).unwrap();
    open(&path);
}

#[test]
fn a_damaged_page_is_told() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    (0..20).for_each(|block| store.save_cell(&lock, &cell(block, 0, row())).unwrap());
    drop((store, lock));
    let mut content = fs::read(&path).unwrap();
    content[4096..].fill(0x5a);
    fs::write(&path, content).unwrap();
    let refused = Store::open(&path).and_then(|store| store.runs()).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
}

#[test]
fn what_is_made_belongs_to_the_user_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("share/btu/runs.sqlite");
    let mut store = open(&path);
    let lock = create(&mut store);
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&directory.path().join("share")), mode(path.parent().unwrap())], [0o700; 2]);
    for name in ["runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm", "runs.sqlite.lock"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
}

#[test]
fn many_may_open_a_new_database_at_once() {
    let (_directory, path) = temporary();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| create(&mut open(&path)));
        }
    });
    assert_eq!(open(&path).runs().unwrap().len(), 8);
}

fn refusal(path: &Path) -> String {
    let refused = Store::open(path).unwrap_err();
    assert!(matches!(refused, StoreError::Unwritable { .. }), "{refused}");
    let line = refused.to_string();
    assert!(line.ends_with("set BTU_DATA to a directory that you may write to"), "{line}");
    line
}

#[test]
fn a_place_that_cannot_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&file.join("btu/runs.sqlite")).contains("file/btu"));
    assert!(refusal(Path::new("/proc/btu/runs.sqlite")).contains("`/proc/btu`"));
    let circle = directory.path().join("circle");
    symlink(&circle, &circle).unwrap();
    refusal(&circle.join("runs.sqlite"));
}

#[test]
fn a_directory_in_the_files_place_is_named() {
    let (_directory, path) = temporary();
    fs::create_dir(&path).unwrap();
    assert!(refusal(&path).contains("runs.sqlite"));
}

#[test]
fn a_read_only_directory_or_file_is_named() {
    if nix::unistd::geteuid().is_root() {
        // Rights do not bind root; a read-only mount does, and gives the program the errors of a
        // read-only file.
        return assert!(
            refusal(Path::new("/sys/kernel/runs.sqlite")).contains("/sys/kernel/runs.sqlite")
        );
    }
    let (directory, path) = temporary();
    open(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    refusal(&path);
    assert!(Store::open_to_read(&path).unwrap().runs().unwrap().is_empty(), "it can be looked at");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    refusal(&directory.path().join("other.sqlite"));
    refusal(&directory.path().join("btu/runs.sqlite"));
}

#[test]
fn a_log_that_a_killed_writer_left_is_taken_in() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    store.save_cell(&lock, &cell(0, 0, row())).unwrap();
    // The files that a killed process leaves: the database and its log, without the clean-up of the
    // last connection.
    let copy = path.with_file_name("copy.sqlite");
    fs::copy(&path, &copy).unwrap();
    fs::copy(path.with_file_name("runs.sqlite-wal"), path.with_file_name("copy.sqlite-wal"))
        .unwrap();
    let store = open(&copy);
    assert_eq!(store.cells(lock.run()).unwrap().len(), 1);
    assert_eq!(store.run("latest").unwrap().summary.created, sample::CREATED);
}
