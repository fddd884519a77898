//! `PostgreSQL`, which may be on another machine and may be restarted.

mod tls;

use std::error::Error;
use std::time::Duration;

use postgres::config::Host;
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Config, IsolationLevel, NoTls, Transaction};

use tls::TlsToDatabase;

use super::pool::{Lent, Pool, Pooled};
use super::{Absent, Connection, DatabaseValue, Row, SCHEMA, VERSION, no_board, other_version};
use crate::error::BoardError;

/// A server that does not answer is one that is not there.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// A connection over which nothing comes for so long is dead.
const LONGEST_ANSWER: Duration = Duration::from_secs(1);

/// How often a transaction is tried: a server that was restarted has ended all connections.
const TRIES: usize = 3;

/// How long a change waits for another one, and how long a server that was stopped may hold all others up.
const BOUNDS: &str = "SET lock_timeout = '20s'; SET idle_in_transaction_session_timeout = '30s'";

/// The connections of a server, which its callers use in turn.
pub struct PostgresPool {
    config: Config,
    tls: Option<TlsToDatabase>,
    clients: Pool<Client>,
}

impl Pooled for Client {
    fn is_closed(&self) -> bool {
        Client::is_closed(self)
    }
}

impl std::fmt::Debug for PostgresPool {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresPool").finish_non_exhaustive()
    }
}

impl Drop for PostgresPool {
    /// The library waits while it closes a connection, which a thread that runs the server's tasks must not.
    fn drop(&mut self) {
        let idle = self.clients.take_idle();
        std::thread::scope(|scope| {
            scope.spawn(move || drop(idle));
        });
    }
}

impl PostgresPool {
    pub(super) fn open(address: &str, absent: Absent) -> Result<Self, BoardError> {
        let (mut config, tls) = tls::read(address).map_err(|why| {
            BoardError::database(format!("reading the address of the database: {why}"))
        })?;
        config.connect_timeout(LONGEST_CONNECT).application_name("btu-board");
        let pool = Self { config, tls, clients: Pool::new() };
        let mut lent = pool.lend()?;
        if let Some(client) = &mut lent.connection {
            // Two servers that start at once must not make the same table.
            client
                .batch_execute("SELECT pg_advisory_lock(7462742)")
                .map_err(|error| explain(&error))?;
            make_tables(client, absent)?;
            client
                .batch_execute("SELECT pg_advisory_unlock_all()")
                .map_err(|error| explain(&error))?;
        }
        drop(lent);
        Ok(pool)
    }

    pub(super) fn connections(&self) -> usize {
        self.clients.open()
    }

    fn lend(&self) -> Result<Lent<'_, Client>, BoardError> {
        self.clients.lend(|| self.connect())
    }

    fn connect(&self) -> Result<Client, BoardError> {
        let client = match self.tls.clone() {
            Some(tls) => self.config.connect(tls),
            None => self.config.connect(NoTls),
        };
        let mut client = client.map_err(|error| {
            let (place, why) = (place(&self.config), whole(&error));
            let advice = tls::advice(&why);
            BoardError::database(format!("connecting to the database at {place}: {why}{advice}"))
        })?;
        client.batch_execute(BOUNDS).map_err(|error| explain(&error))?;
        Ok(client)
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
        let mut lent = self.lend()?;
        let Some(client) = &mut lent.connection else {
            return Err(BoardError::database("there is no connection to the database".to_owned()));
        };
        let done = in_transaction(client, level, work);
        if matches!(done, Err(BoardError::Again(_))) && client.is_valid(LONGEST_ANSWER).is_err() {
            lent.connection = None;
        }
        done
    }
}

fn in_transaction<T>(
    client: &mut Client,
    level: IsolationLevel,
    work: &impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
) -> Result<T, BoardError> {
    let transaction = client.build_transaction().isolation_level(level);
    let mut transaction = transaction.start().map_err(|error| explain(&error))?;
    match work(&mut transaction) {
        Ok(done) => transaction.commit().map(|()| done).map_err(|error| not_known(&error)),
        Err(error) => {
            transaction.rollback().map_err(|error| explain(&error))?;
            Err(error)
        }
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
        None if error.is_closed() || is_broken(error) => BoardError::Again(said),
        _ => BoardError::database(said),
    }
}

/// Whether the connection broke.
fn is_broken(error: &postgres::Error) -> bool {
    error.source().is_some_and(<dyn Error>::is::<std::io::Error>)
}

/// An error while a transaction was being committed: it may be stored or not.
fn not_known(error: &postgres::Error) -> BoardError {
    match explain(error) {
        BoardError::Again(said) if error.code().is_none() => BoardError::database(said),
        other => other,
    }
}

/// Makes the tables of an empty database, if they may be `absent`; those of another version are not touched.
fn make_tables(client: &mut Client, absent: Absent) -> Result<(), BoardError> {
    let found = "SELECT to_regclass('runs') IS NOT NULL, to_regclass('tables_version') IS NOT NULL";
    let found = client.query_one(found, &[]).map_err(|error| explain(&error))?;
    let has = |place: usize| found.try_get::<_, bool>(place).map_err(|error| explain(&error));
    let (has_runs, has_version) = (has(0)?, has(1)?);
    if !has_runs && absent == Absent::Refused {
        return Err(no_board("this database"));
    }
    if !has_runs {
        let version = format!(
            "CREATE TABLE tables_version (number BIGINT NOT NULL); INSERT INTO tables_version VALUES ({VERSION})"
        );
        let all = format!("BEGIN; {SCHEMA}; {version}; COMMIT");
        return client.batch_execute(&all).map_err(|error| explain(&error));
    }
    let number = if has_version {
        let row = client.query_one("SELECT number FROM tables_version", &[]);
        row.and_then(|row| row.try_get(0)).map_err(|error| explain(&error))?
    } else {
        0
    };
    if number == VERSION { Ok(()) } else { Err(other_version(number)) }
}

/// Where the database is, without a password.
fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let host = |(index, host): (usize, &Host)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => format!("{}, port {port}", path.display()),
        }
    };
    config.get_hosts().iter().enumerate().map(host).collect::<Vec<_>>().join(" or ")
}

/// With all reasons, and what the server said, which the short form leaves out.
fn whole(error: &postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.to_string();
    }
    let (mut all, mut reason) = (error.to_string(), error.source());
    while let Some(next) = reason {
        let said = next.to_string();
        if !all.contains(&said) {
            all = format!("{all}: {said}");
        }
        reason = next.source();
    }
    all
}
