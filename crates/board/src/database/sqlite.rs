//! `SQLite`, in the file `board.sqlite` of a directory.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{ErrorCode, ToSql, Transaction, TransactionBehavior, params_from_iter};

use super::pool::{Pool, Pooled};
use super::{Absent, Connection, DatabaseValue, Row, SCHEMA, VERSION, no_board, other_version};
use crate::error::BoardError;

/// How long a writer waits for another one.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// How long the journal is waited for.
const LONGEST_SETTLING: Duration = Duration::from_millis(500);

/// The connections to a file.
pub struct SqlitePool {
    file: PathBuf,
    connections: Pool<rusqlite::Connection>,
    /// Whether the journal still has what was deleted, since another program read it.
    is_unsettled: AtomicBool,
}

impl Pooled for rusqlite::Connection {
    fn is_closed(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for SqlitePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlitePool").field("file", &self.file).finish_non_exhaustive()
    }
}

impl SqlitePool {
    pub(super) fn open(directory: &Path, absent: Absent) -> Result<Self, BoardError> {
        let failed = |error: &dyn std::fmt::Display| {
            BoardError::database(format!("opening the board in {}: {error}", directory.display()))
        };
        let file = directory.join("board.sqlite");
        // A file without any table has no octets.
        let has_board = std::fs::metadata(&file).is_ok_and(|one| one.is_file() && one.len() > 0);
        if absent == Absent::Refused && !has_board {
            return Err(no_board(&directory.display().to_string()));
        }
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(directory);
        made.map_err(|error| failed(&error))?;
        let pool = Self { file, connections: Pool::new(), is_unsettled: AtomicBool::new(false) };
        // Before the journal is set, which writes into the file: one of another version stays as it is.
        let connection = rusqlite::Connection::open(&pool.file).map_err(|error| failed(&error))?;
        connection.busy_timeout(LONGEST_WAIT).map_err(|error| failed(&error))?;
        make_tables(&connection).map_err(|error| failed(&error))?;
        drop(connection);
        pool.connect().map_err(|error| failed(&error))?;
        Ok(pool)
    }

    fn connect(&self) -> rusqlite::Result<rusqlite::Connection> {
        let connection = rusqlite::Connection::open(&self.file)?;
        connection.busy_timeout(LONGEST_WAIT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // What is deleted is gone from the file, too.
        connection.pragma_update(None, "secure_delete", true)?;
        Ok(connection)
    }

    pub(super) fn write<T>(
        &self,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let done = self.within(TransactionBehavior::Immediate, work);
        if self.is_unsettled.load(Ordering::Relaxed) {
            // The change is stored; the next one tries this again.
            let _ = self.settle().map_err(BoardError::noted);
        }
        done
    }

    pub(super) fn read<T>(
        &self,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        self.within(TransactionBehavior::Deferred, work)
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.open()
    }

    /// Moves all changes from the journal to the file, and empties the journal; where another program reads it, after the
    /// next change.
    pub(super) fn settle(&self) -> Result<(), BoardError> {
        let connection = self.connect().map_err(explain)?;
        connection.busy_timeout(LONGEST_SETTLING).map_err(explain)?;
        let is_busy = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            .map_err(explain)?;
        self.is_unsettled.store(is_busy != 0, Ordering::Relaxed);
        Ok(())
    }

    fn within<T>(
        &self,
        behaviour: TransactionBehavior,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let mut lent = self.connections.lend(|| self.connect().map_err(explain))?;
        let Some(connection) = &mut lent.connection else {
            return Err(BoardError::database("there is no connection to the database".to_owned()));
        };
        // What was not committed is rolled back as the transaction is dropped.
        let mut transaction = connection.transaction_with_behavior(behaviour).map_err(explain)?;
        let done = work(&mut transaction)?;
        transaction.commit().map_err(explain)?;
        Ok(done)
    }
}

/// Makes the tables of an empty database; those of another version are not touched.
fn make_tables(connection: &rusqlite::Connection) -> Result<(), BoardError> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let transaction = transaction.map_err(explain)?;
    let number = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, i64>(0));
    let version = number("SELECT user_version FROM pragma_user_version").map_err(explain)?;
    let is_empty = number("SELECT count(*) FROM sqlite_schema").map_err(explain)? == 0;
    if !is_empty {
        return if version == VERSION { Ok(()) } else { Err(other_version(version)) };
    }
    transaction.execute_batch(SCHEMA).map_err(explain)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(explain)?;
    transaction.commit().map_err(explain)
}

impl ToSql for DatabaseValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Stored::Null),
            Self::Integer(number) => ToSqlOutput::Owned(Stored::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Owned(Stored::Real(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Octets(octets) => ToSqlOutput::Borrowed(ValueRef::Blob(octets)),
        })
    }
}

impl Connection for Transaction<'_> {
    fn execute(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<u64, BoardError> {
        let mut statement = self.prepare_cached(sql).map_err(explain)?;
        let changed = statement.execute(params_from_iter(values)).map_err(explain)?;
        Ok(changed as u64)
    }

    fn query(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<Vec<Row>, BoardError> {
        let mut statement = self.prepare_cached(sql).map_err(explain)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params_from_iter(values), |row| {
            (0..columns).map(|column| Ok(value(row.get(column)?))).collect::<Result<Vec<_>, _>>()
        });
        let rows: rusqlite::Result<Vec<_>> = rows.map_err(explain)?.collect();
        Ok(rows.map_err(explain)?.into_iter().map(Row::of).collect())
    }
}

fn value(stored: Stored) -> DatabaseValue {
    match stored {
        Stored::Null => DatabaseValue::Null,
        Stored::Integer(number) => DatabaseValue::Integer(number),
        Stored::Real(number) => DatabaseValue::Real(number),
        Stored::Text(text) => DatabaseValue::Text(text),
        Stored::Blob(octets) => DatabaseValue::Octets(octets),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of every `map_err`")]
fn explain(error: rusqlite::Error) -> BoardError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => BoardError::Full,
        _ => BoardError::database(format!("the board's database: {error}")),
    }
}
