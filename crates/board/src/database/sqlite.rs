//! `SQLite`, in the file `board.sqlite` of a directory.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{ErrorCode, ToSql, Transaction, TransactionBehavior, params_from_iter};

use super::{Connection, DatabaseValue, Row, SCHEMA};
use crate::error::BoardError;

/// How long a writer waits for another one.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Connections that are not used at present.
#[derive(Debug)]
pub struct SqlitePool {
    file: PathBuf,
    idle: Mutex<Vec<rusqlite::Connection>>,
}

impl SqlitePool {
    pub(super) fn open(directory: &Path) -> Result<Self, BoardError> {
        let failed = |error: &dyn std::fmt::Display| {
            BoardError::database(format!("opening the board in {}: {error}", directory.display()))
        };
        std::fs::create_dir_all(directory).map_err(|error| failed(&error))?;
        let pool = Self { file: directory.join("board.sqlite"), idle: Mutex::default() };
        let connection = pool.connect().map_err(|error| failed(&error))?;
        connection.execute_batch(SCHEMA).map_err(|error| failed(&error))?;
        pool.keep(connection);
        Ok(pool)
    }

    fn connect(&self) -> rusqlite::Result<rusqlite::Connection> {
        let connection = rusqlite::Connection::open(&self.file)?;
        connection.busy_timeout(LONGEST_WAIT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    }

    fn keep(&self, connection: rusqlite::Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    pub(super) fn write<T>(
        &self,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        self.within(TransactionBehavior::Immediate, work)
    }

    pub(super) fn read<T>(
        &self,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        self.within(TransactionBehavior::Deferred, work)
    }

    fn within<T>(
        &self,
        behaviour: TransactionBehavior,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = idle.map_or_else(|| self.connect(), Ok).map_err(explain)?;
        // A connection that failed is dropped, which rolls its transaction back.
        let mut transaction = connection.transaction_with_behavior(behaviour).map_err(explain)?;
        let done = work(&mut transaction)?;
        transaction.commit().map_err(explain)?;
        self.keep(connection);
        Ok(done)
    }
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
