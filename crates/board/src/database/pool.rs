//! Connections to a database, which callers use in turn.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::BoardError;

/// A server has at most so many connections: a database of `PostgreSQL` has a hundred for all who use it, unless told
/// otherwise, and each one of `SQLite` keeps some megabytes.
const MOST_CONNECTIONS: usize = 12;

/// How long a caller waits until another one has done with its connection.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A connection that may end by itself.
pub(super) trait Pooled {
    fn is_closed(&self) -> bool;
}

/// The connections of a server.
pub(super) struct Pool<C> {
    connections: Mutex<Connections<C>>,
    given_back: Condvar,
}

struct Connections<C> {
    /// Those that no caller uses at present.
    idle: Vec<C>,
    /// How many there are, in use or not.
    open: usize,
}

/// A connection in use. It goes back when this value is dropped.
pub(super) struct Lent<'a, C: Pooled> {
    pool: &'a Pool<C>,
    /// Absent once it broke.
    pub(super) connection: Option<C>,
}

impl<C: Pooled> Drop for Lent<'_, C> {
    fn drop(&mut self) {
        let mut all = self.pool.all();
        // A database that ended one connection has ended all of them: they are found out one by one, else.
        let gone = match self.connection.take() {
            Some(connection) if !connection.is_closed() => {
                all.idle.push(connection);
                Vec::new()
            }
            _ => {
                all.open = all.open.saturating_sub(1 + all.idle.len());
                std::mem::take(&mut all.idle)
            }
        };
        drop(all);
        drop(gone);
        self.pool.given_back.notify_all();
    }
}

impl<C: Pooled> Pool<C> {
    /// Without a connection.
    pub(super) fn new() -> Self {
        let connections = Mutex::new(Connections { idle: Vec::new(), open: 0 });
        Self { connections, given_back: Condvar::new() }
    }

    fn all(&self) -> MutexGuard<'_, Connections<C>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are, in use or not.
    pub(super) fn open(&self) -> usize {
        self.all().open
    }

    /// Takes out the connections that no caller uses.
    pub(super) fn take_idle(&self) -> Vec<C> {
        std::mem::take(&mut self.all().idle)
    }

    /// A connection that no caller uses, or a new one, or the first that is given back.
    pub(super) fn lend(
        &self,
        connect: impl FnOnce() -> Result<C, BoardError>,
    ) -> Result<Lent<'_, C>, BoardError> {
        let is_taken =
            |all: &mut Connections<C>| all.idle.is_empty() && all.open >= MOST_CONNECTIONS;
        let waited = self.given_back.wait_timeout_while(self.all(), LONGEST_WAIT, is_taken);
        let (mut all, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let what = format!("no connection to the database was free for {LONGEST_WAIT:?}");
            return Err(BoardError::database(what));
        }
        if let Some(connection) = all.idle.pop() {
            return Ok(Lent { pool: self, connection: Some(connection) });
        }
        all.open += 1;
        drop(all);
        let mut lent = Lent { pool: self, connection: None };
        lent.connection = Some(connect()?);
        Ok(lent)
    }
}
