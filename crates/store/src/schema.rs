//! Opening the database file and bringing its schema up to date.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rusqlite_migration::{M, Migrations};

use crate::error::StoreError;
use crate::foreign::{Object, be_careful, difference, objects, refuse_journal_of_several};
use crate::lock::Locks;

/// One file per schema version, oldest first; `PRAGMA user_version` counts those that were applied.
const MIGRATIONS: &[M<'static>] = &[M::up(include_str!("migrations/001-runs.sql"))];

/// `PRAGMA application_id`, set by the first migration: the four letters `BTUr`.
const APPLICATION_ID: i64 = i32::from_be_bytes(*b"BTUr") as i64;

/// Longest wait for another process's transaction; ours take milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the file, which exists, and upgrades it when it is older than this program.
pub(crate) fn open(path: &Path, locks: &Locks) -> Result<Connection, StoreError> {
    let explain = |source| StoreError::from_sqlite(path, "open the database", source);
    refuse_journal_of_several(path)?;
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(explain)?;
    be_careful(&connection).map_err(explain)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(explain)?;
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    if version(path, &connection)? < latest() {
        upgrade(path, &mut connection, locks)?;
    }
    // A commit returns when the log has reached the device. NORMAL would lose the last cells in a
    // power cut.
    connection.pragma_update(None, "synchronous", "FULL").map_err(explain)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(explain)?;
    Ok(connection)
}

/// Opens a file that cannot be written, of the schema that this program writes. No other process
/// can write it either: otherwise `SQLite` could make the file next to it that readers and writers
/// share.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let explain = |source| StoreError::from_sqlite(path, "open the database to read it", source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let escaped =
        path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{escaped}?immutable=1");
    let connection = Connection::open_with_flags(uri, flags).map_err(explain)?;
    be_careful(&connection).map_err(explain)?;
    if version(path, &connection)? < latest() {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            what: "an older schema, which cannot be upgraded".to_owned(),
        });
    }
    Ok(connection)
}

/// The schema this program writes.
fn latest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The schema of the file, 0 when it is empty; an error when it is not ours or newer than this
/// program, or has other tables than ours.
fn version(path: &Path, connection: &Connection) -> Result<i64, StoreError> {
    let explain = |source| StoreError::from_sqlite(path, "read the schema", source);
    let (application, found, objects) = identity(connection).map_err(explain)?;
    match (application, found) {
        (0, 0) if objects.is_empty() => Ok(0),
        (APPLICATION_ID, 1..) if found <= latest() => {
            match difference(&objects, &defined(found).map_err(explain)?) {
                None => Ok(found),
                Some(what) => Err(StoreError::Damaged { path: path.to_owned(), what }),
            }
        }
        (APPLICATION_ID, 1..) => {
            Err(StoreError::NewerSchema { path: path.to_owned(), found, known: latest() })
        }
        _ => Err(StoreError::NotADatabase { path: path.to_owned() }),
    }
}

/// Application id, schema, and tables and indices, of one moment: another process may be upgrading.
fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64, BTreeSet<Object>)> {
    let moment = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    let ask = |question| moment.query_row(question, [], |row| row.get(0));
    let objects = objects(&moment)?;
    Ok((ask("PRAGMA application_id")?, ask("PRAGMA user_version")?, objects))
}

/// The tables and indices of this version of the schema.
fn defined(version: i64) -> rusqlite::Result<BTreeSet<Object>> {
    let mut made = Connection::open_in_memory()?;
    let version = usize::try_from(version).unwrap_or_default();
    match Migrations::from_slice(MIGRATIONS).to_version(&mut made, version) {
        Err(rusqlite_migration::Error::RusqliteError { err, .. }) => Err(err),
        // Our own migrations are sound, which a test checks.
        _ => objects(&made),
    }
}

/// Applies the missing migrations, one process at a time; the others then find none.
fn upgrade(path: &Path, connection: &mut Connection, locks: &Locks) -> Result<(), StoreError> {
    let _alone = locks.take_schema()?;
    let explain = |source| StoreError::from_sqlite(path, "bring the schema up to date", source);
    // The journal's mode is kept in the file, and cannot be changed inside the migration's
    // transaction.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(explain)?;
    Migrations::from_slice(MIGRATIONS).to_latest(connection).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => explain(err),
        other => StoreError::Damaged { path: path.to_owned(), what: other.to_string() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs?#.sqlite");
        std::fs::File::create(&path).unwrap();
        let connection = open(&path, &Locks::next_to(&path)).unwrap();
        let _ = connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
        drop(connection);
        let read = open_to_read(&path).unwrap();
        assert_eq!(
            read.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0)).unwrap(),
            0
        );
        assert!(read.execute("DELETE FROM runs", []).is_err());
    }

    #[test]
    fn the_migrations_are_sound() {
        Migrations::from_slice(MIGRATIONS).validate().unwrap();
    }
}
