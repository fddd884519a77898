//! `PostgreSQL`, which may be on another machine and may be restarted.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Config, IsolationLevel, NoTls, Transaction};

use super::{Connection, DatabaseValue, Row, SCHEMA};
use crate::error::BoardError;

/// A server that does not answer is one that is not there.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// How often a transaction is tried: a server that was restarted has ended all connections.
const TRIES: usize = 3;

/// How long a change waits for another one, and how long a server that was stopped may hold all others up.
const BOUNDS: &str = "SET lock_timeout = '20s'; SET idle_in_transaction_session_timeout = '30s'";

/// Connections that are not used at present.
pub struct PostgresPool {
    config: Config,
    idle: Mutex<Vec<Client>>,
}

impl std::fmt::Debug for PostgresPool {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresPool").finish_non_exhaustive()
    }
}

impl PostgresPool {
    pub(super) fn open(address: &str) -> Result<Self, BoardError> {
        let mut config: Config = address.parse().map_err(|error: postgres::Error| {
            BoardError::database(format!("reading the address of the database: {error}"))
        })?;
        config.connect_timeout(LONGEST_CONNECT).application_name("btu-board");
        let pool = Self { config, idle: Mutex::default() };
        let mut client = pool.connect()?;
        // Two servers that start at once must not make the same table.
        let lock = "SELECT pg_advisory_lock(7462742)";
        let made = client.batch_execute(lock).and_then(|()| client.batch_execute(SCHEMA));
        let made = made.and_then(|()| client.batch_execute("SELECT pg_advisory_unlock_all()"));
        made.map_err(|error| explain(&error))?;
        pool.keep(client);
        Ok(pool)
    }

    fn connect(&self) -> Result<Client, BoardError> {
        let mut client = self.config.connect(NoTls).map_err(|error| explain(&error))?;
        client.batch_execute(BOUNDS).map_err(|error| explain(&error))?;
        Ok(client)
    }

    fn keep(&self, client: Client) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }

    pub(super) fn write<T>(
        &self,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        // What waited for the change before it sees that change.
        self.tried(IsolationLevel::ReadCommitted, work)
    }

    pub(super) fn read<T>(
        &self,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        self.tried(IsolationLevel::RepeatableRead, work)
    }

    fn tried<T>(
        &self,
        level: IsolationLevel,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match self.once(level, work) {
                // What was not committed is not stored, so it can be done again.
                Err(BoardError::Again(_)) if tries > 0 => {}
                done => return done,
            }
        }
    }

    fn once<T>(
        &self,
        level: IsolationLevel,
        work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut client = idle.map_or_else(|| self.connect(), Ok)?;
        let transaction = client.build_transaction().isolation_level(level);
        let mut transaction = transaction.start().map_err(|error| explain(&error))?;
        let done = work(&mut transaction);
        let ended = match done {
            Ok(done) => {
                transaction.commit().map(|()| Ok(done)).map_err(|error| not_known(&error))?
            }
            Err(error) => {
                transaction.rollback().map(|()| Err(error)).map_err(|error| explain(&error))?
            }
        };
        self.keep(client);
        ended
    }
}

impl ToSql for DatabaseValue {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Real(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Octets(octets) => octets.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl Connection for Transaction<'_> {
    fn execute(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<u64, BoardError> {
        Transaction::execute(self, sql, &dynamic(values)).map_err(|error| explain(&error))
    }

    fn query(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<Vec<Row>, BoardError> {
        let rows =
            Transaction::query(self, sql, &dynamic(values)).map_err(|error| explain(&error))?;
        rows.iter()
            .map(|row| values_of(row).map(Row::of).map_err(|error| explain(&error)))
            .collect()
    }
}

fn dynamic(values: &[DatabaseValue]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn values_of(row: &postgres::Row) -> Result<Vec<DatabaseValue>, postgres::Error> {
    let columns = row.columns().iter().enumerate();
    columns
        .map(|(place, column)| {
            Ok(match *column.type_() {
                Type::FLOAT8 => row.try_get::<_, Option<f64>>(place)?.into(),
                Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(place)?.into(),
                Type::TEXT => row.try_get::<_, Option<String>>(place)?.into(),
                Type::INT4 => row.try_get::<_, Option<i32>>(place)?.map(i64::from).into(),
                _ => row.try_get::<_, Option<i64>>(place)?.into(),
            })
        })
        .collect()
}

/// An error before the end of a transaction: nothing of it is stored.
fn explain(error: &postgres::Error) -> BoardError {
    let said = format!("the board's database: {}", whole(error));
    let again = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
    ];
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => BoardError::Full,
        // A NUL, which no text here has, and which no name in an address has either.
        Some(code) if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE => {
            BoardError::NotFound("there is nothing of such a name".to_owned())
        }
        Some(code) if again.contains(code) => BoardError::Again(said),
        None if error.is_closed() => BoardError::Again(said),
        _ => BoardError::database(said),
    }
}

/// An error while a transaction was being committed: it may be stored or not.
fn not_known(error: &postgres::Error) -> BoardError {
    match explain(error) {
        BoardError::Again(said) if error.code().is_none() => BoardError::database(said),
        other => other,
    }
}

/// With what the server said, which the short form leaves out.
fn whole(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string)
}
