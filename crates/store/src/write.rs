//! Creates runs and stores their events.

use btu_units::Span;
use rusqlite::{Connection, Transaction, params};
use serde_json::Value;

use crate::lock::RunLock;
use crate::plain::{cleaned_lines, shown};
use crate::readings::column;
use crate::run::{Level, Moment, NewRun, RunId, State};
use crate::{Store, StoreError, archive};

/// A random version 4 UUID (RFC 9562, section 5.4), from the database's generator, which the system
/// seeds.
const RANDOM_UUID: &str =
    "SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-'
    || substr('89ab', 1 + (random() & 3), 1) || substr(h, 18, 3) || '-' || substr(h, 21))
    FROM (SELECT hex(randomblob(16)) AS h)";

impl Store {
    /// A name for a run that no other one has in any database (RFC 9562, version 4).
    ///
    /// # Errors
    /// The database cannot be asked.
    pub fn new_uuid(&self) -> Result<String, StoreError> {
        random_uuid(&self.connection).map_err(self.explain("name a run"))
    }

    /// Makes a run in state [`State::Running`] and locks it for this process.
    pub fn create_run(&mut self, new: &NewRun<'_>) -> Result<RunLock, StoreError> {
        const OPERATION: &str = "create a run";
        archive::check_new(new).map_err(|what| StoreError::Unstorable { what })?;
        let Self { path, connection, locks } = self;
        let explain = |source| StoreError::from_sqlite(path, OPERATION, source);
        let transaction = connection.transaction().map_err(explain)?;
        let run = insert_run(&transaction, new).map_err(explain)?;
        // The lock comes before the commit, so no reader ever sees the run as abandoned.
        let lock = locks.take(run)?;
        transaction.commit().map_err(explain)?;
        Ok(lock)
    }

    /// Locks a run to resume it; refused while another process writes it.
    pub fn lock(&self, run: RunId) -> Result<RunLock, StoreError> {
        self.locks.take(run)
    }

    /// Puts a resumed run back into [`State::Running`].
    pub fn reopen(&self, lock: &RunLock) -> Result<(), StoreError> {
        self.update(
            "resume a run",
            "UPDATE runs SET state = 'running', finished = NULL WHERE id = ?1",
            [lock.run()],
        )
    }

    /// Stores the calibrated amounts of work; a resumed run continues with them.
    pub fn save_calibration(&self, lock: &RunLock, calibration: &Value) -> Result<(), StoreError> {
        let set = "UPDATE runs SET calibration = ?2 WHERE id = ?1";
        self.update("store the calibration", set, params![lock.run(), calibration.to_string()])
    }

    /// Stores the machine's environment; further ones are added, none is replaced.
    pub fn save_environment(
        &self,
        lock: &RunLock,
        moment: Moment,
        environment: &Value,
    ) -> Result<(), StoreError> {
        let insert = "INSERT INTO environments (run, moment, document) VALUES (?1, ?2, ?3)";
        let document = cleaned_lines(&environment.to_string());
        let values = params![lock.run(), moment.name(), document];
        self.update("store the environment", insert, values)
    }

    /// Stores an event at the wall time `at` (RFC 3339).
    pub fn save_event(
        &self,
        lock: &RunLock,
        at: &str,
        level: Level,
        text: &str,
    ) -> Result<(), StoreError> {
        let insert = "INSERT INTO events (run, at, level, text) VALUES (?1, ?2, ?3, ?4)";
        self.update("store an event", insert, params![lock.run(), at, level.name(), shown(text)])
    }

    /// Ends a run in `state` at the wall time `at` (RFC 3339).
    pub fn finish(&self, lock: &RunLock, state: State, at: &str) -> Result<(), StoreError> {
        let set =
            "UPDATE runs SET state = ?2, finished = ?3, spent_ns = spent_ns + ?4 WHERE id = ?1";
        self.update("finish a run", set, params![lock.run(), state.name(), at, column(lock.lap())])
    }

    /// Sets how long a finished run was measured, where that was before it was created: the time since
    /// the lock was taken, which [`Self::finish`] stored, is not that. `None` is unknown.
    pub fn set_spent(&self, lock: &RunLock, spent: Option<Span>) -> Result<(), StoreError> {
        let set = "UPDATE runs SET spent_ns = ?2 WHERE id = ?1";
        self.update("store the time of a run", set, params![lock.run(), spent.map(column)])
    }

    /// Keeps the result of a finished run in a few words, as this version of the program gives it.
    pub fn keep_answer(&self, run: RunId, answer: &str, version: &str) -> Result<(), StoreError> {
        let set = "UPDATE runs SET answer = ?2, answer_of = ?3 WHERE id = ?1";
        self.update("keep the answer of a run", set, params![run, shown(answer), version])
    }

    /// Changes exactly one row, in its own transaction.
    pub(crate) fn update(
        &self,
        operation: &'static str,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<(), StoreError> {
        let explain = self.explain(operation);
        let changed =
            self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values));
        match changed.map_err(&explain)? {
            1 => Ok(()),
            _ => Err(explain(rusqlite::Error::QueryReturnedNoRows)),
        }
    }
}

fn random_uuid(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row(RANDOM_UUID, [], |row| row.get(0))
}

fn insert_run(transaction: &Transaction<'_>, new: &NewRun<'_>) -> rusqlite::Result<RunId> {
    let uuid = random_uuid(transaction)?;
    transaction.execute(
        "INSERT INTO runs (uuid, study, profile, network, label, state, created, seed, btu_version,
                           planned_cells, plan, plan_hash, spent_ns)
         VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8, ?9, ?10, ?11, 0)",
        params![
            uuid,
            new.study,
            new.profile,
            new.network,
            new.label,
            new.created,
            new.seed.to_string(),
            new.btu_version,
            new.planned_cells,
            new.plan.to_string(),
            new.plan_hash
        ],
    )?;
    let run = RunId::new(transaction.last_insert_rowid());
    for tag in new.tags {
        transaction
            .execute("INSERT OR IGNORE INTO tags (run, tag) VALUES (?1, ?2)", params![run, tag])?;
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store_with_run() -> (tempfile::TempDir, Store, RunLock) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let new = NewRun {
            study: "rate",
            profile: "quick",
            network: "veth",
            label: None,
            tags: &[],
            created: "2026-11-21T04:31:08Z",
            seed: 1,
            btu_version: "0.1.0",
            plan: &Value::Null,
            plan_hash: "0",
            planned_cells: 0,
        };
        let lock = store.create_run(&new).unwrap();
        (directory, store, lock)
    }

    fn note(store: &Store, lock: &RunLock) -> Result<(), StoreError> {
        store.save_event(lock, "2026-11-21T04:31:09Z", Level::Info, &"x".repeat(10_000))
    }

    #[test]
    fn a_database_that_may_not_grow_keeps_what_it_has() {
        let (_directory, store, lock) = store_with_run();
        store.connection.pragma_update(None, "max_page_count", 100).unwrap();
        let written = (0..1000).take_while(|_| note(&store, &lock).is_ok()).count();
        assert!((1..1000).contains(&written));
        assert!(matches!(note(&store, &lock), Err(StoreError::Full { .. })));
        assert_eq!(store.run("latest").unwrap().events.len(), written);
        store.connection.pragma_update(None, "max_page_count", 1000).unwrap();
        note(&store, &lock).unwrap();
    }

    #[test]
    fn a_run_that_is_gone_cannot_be_written() {
        let (_directory, store, lock) = store_with_run();
        store.connection.execute("DELETE FROM runs", []).unwrap();
        assert!(store.finish(&lock, State::Complete, "2026-11-21T04:31:09Z").is_err());
        assert!(note(&store, &lock).is_err());
    }

    #[test]
    fn a_log_commit_reaches_the_device() {
        let (_directory, store, _lock) = store_with_run();
        let ask = |name| {
            store
                .connection
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
        };
        assert_eq!(ask("journal_mode").unwrap(), "wal".to_owned().into());
        assert_eq!(ask("synchronous").unwrap(), 2.into());
    }
}
