//! Files and directories that differ from those that the program makes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use btu_store::{Store, StoreError};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rusqlite::Connection;

use crate::sample::{self, StoreCells, cell, create, open, row, temporary};

/// Every table and index as the database defines it.
fn definitions(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut select = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
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

/// A program that waited for the other end would not return.
#[test]
fn pipes_in_the_files_places_are_not_waited_for() {
    let (_directory, path) = temporary();
    let mut store = open(&path);
    let lock = create(&mut store);
    let lock_file = path.with_file_name("runs.sqlite.lock");
    fs::remove_file(&lock_file).unwrap();
    mkfifo(&lock_file, Mode::S_IRWXU).unwrap();
    assert!(store.runs().unwrap_err().to_string().contains("it is not a regular file"));
    drop((store, lock));
    fs::remove_file(&path).unwrap();
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    assert!(refusal(&path).contains("it is not a regular file"));
    assert!(Store::open_to_read(&path).is_err());
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
