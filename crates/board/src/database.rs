//! The board's database: `SQLite` in a directory, or `PostgreSQL`, which several servers may share.
//!
//! Both are spoken to in the SQL that they have in common. Parameters are `$1`, `$2`, ... in the order
//! of their first use.

mod pool;
mod postgres;
mod sqlite;

use std::path::Path;

use crate::error::BoardError;

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseValue {
    /// No value.
    Null,
    /// A number of a column `BIGINT`.
    Integer(i64),
    /// A number of a column `DOUBLE PRECISION`.
    Real(f64),
    /// A text.
    Text(String),
    /// Octets of a column `BYTEA`.
    Octets(Vec<u8>),
}

impl From<&str> for DatabaseValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for DatabaseValue {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for DatabaseValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for DatabaseValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for DatabaseValue {
    fn from(is_so: bool) -> Self {
        Self::Integer(is_so.into())
    }
}

impl From<f64> for DatabaseValue {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<Vec<u8>> for DatabaseValue {
    fn from(octets: Vec<u8>) -> Self {
        Self::Octets(octets)
    }
}

impl<T: Into<DatabaseValue>> From<Option<T>> for DatabaseValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row that was read; its values are taken in their order.
#[derive(Debug)]
pub struct Row(std::vec::IntoIter<DatabaseValue>);

impl Row {
    fn of(values: Vec<DatabaseValue>) -> Self {
        Self(values.into_iter())
    }

    /// The next value.
    pub(crate) fn value(&mut self) -> DatabaseValue {
        self.0.next().unwrap_or(DatabaseValue::Null)
    }

    /// The next value as a text; empty if it is none.
    pub fn text(&mut self) -> String {
        self.maybe_text().unwrap_or_default()
    }

    /// The next value as a text, if it is one.
    pub fn maybe_text(&mut self) -> Option<String> {
        match self.value() {
            DatabaseValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The next value as a whole number; zero if it is none.
    pub fn integer(&mut self) -> i64 {
        match self.value() {
            DatabaseValue::Integer(number) => number,
            _ => 0,
        }
    }

    /// The next value as a number, if it is one.
    pub fn real(&mut self) -> Option<f64> {
        match self.value() {
            DatabaseValue::Real(number) => Some(number),
            DatabaseValue::Integer(number) => Some(number as f64),
            _ => None,
        }
    }

    /// The next value as octets; empty if it is none.
    pub fn octets(&mut self) -> Vec<u8> {
        match self.value() {
            DatabaseValue::Octets(octets) => octets,
            _ => Vec::new(),
        }
    }
}

/// A connection, within a transaction or for one query.
pub trait Connection {
    /// Changes rows; returns how many.
    fn execute(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<u64, BoardError>;

    /// Reads rows.
    fn query(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<Vec<Row>, BoardError>;

    /// The row that a query finds, if it finds one.
    fn first(&mut self, sql: &str, values: &[DatabaseValue]) -> Result<Option<Row>, BoardError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// How many changes of lists there were: with an equal number, every list is what it was.
pub fn changes(connection: &mut dyn Connection) -> Result<i64, BoardError> {
    let row = connection.first("SELECT number FROM changes WHERE one = 1", &[])?;
    Ok(row.map_or(0, |mut row| row.integer()))
}

/// The tables, in the SQL that both databases understand.
const SCHEMA: &str = include_str!("schema.sql");

/// The version of the tables, which another one than this program's would read as something else.
const VERSION: i64 = 1;

fn other_version(found: i64) -> BoardError {
    BoardError::database(format!(
        "its tables have version {found}, and this btu-board reads version {VERSION}: use the btu-board that made them"
    ))
}

fn no_board(place: &str) -> BoardError {
    BoardError::NotFound(format!("there is no board in {place}: `btu-board serve` makes one"))
}

/// What becomes of tables that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// They are made.
    Made,
    /// An error: there is no board.
    Refused,
}

/// A database.
#[derive(Debug)]
pub enum Database {
    /// In a file of a directory.
    Sqlite(sqlite::SqlitePool),
    /// A server.
    Postgres(Box<postgres::PostgresPool>),
}

impl Database {
    /// Opens the database in `directory`.
    pub fn in_directory(directory: &Path, absent: Absent) -> Result<Self, BoardError> {
        Ok(Self::Sqlite(sqlite::SqlitePool::open(directory, absent)?))
    }

    /// Opens a database of `PostgreSQL`: `postgres://USER@HOST/NAME`.
    pub fn at(address: &str, absent: Absent) -> Result<Self, BoardError> {
        Ok(Self::Postgres(Box::new(postgres::PostgresPool::open(address, absent)?)))
    }

    /// Does `work` in a transaction: all of it is stored, or nothing. No other one begins until it has
    /// ended, whichever server of the board it is of. It is done again if the database was restarted.
    pub fn write<T>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        self.change("UPDATE changes SET number = number + 1 WHERE one = 1", work)
    }

    /// As [`Self::write`], of what is in no list, so that no list has to be computed again: challenges.
    pub fn write_unlisted<T>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        self.change("UPDATE changes SET number = number WHERE one = 1", work)
    }

    /// `begin` holds the row that changes come one after another by.
    fn change<T>(
        &self,
        begin: &str,
        work: impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        let all = |connection: &mut dyn Connection| {
            connection.execute(begin, &[])?;
            work(connection)
        };
        match self {
            Self::Sqlite(pool) => pool.write(&all),
            Self::Postgres(pool) => pool.write(&all),
        }
    }

    /// How many connections there are, in use or not.
    pub fn connections(&self) -> usize {
        match self {
            Self::Sqlite(pool) => pool.connections(),
            Self::Postgres(pool) => pool.connections(),
        }
    }

    /// Takes out of the files what was deleted, as far as this server can: `PostgreSQL` does so when it vacuums.
    pub fn settle(&self) -> Result<(), BoardError> {
        match self {
            Self::Sqlite(pool) => pool.settle(),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Reads in one transaction.
    pub fn read<T>(
        &self,
        work: impl Fn(&mut dyn Connection) -> Result<T, BoardError>,
    ) -> Result<T, BoardError> {
        match self {
            Self::Sqlite(pool) => pool.read(&work),
            Self::Postgres(pool) => pool.read(&work),
        }
    }
}
