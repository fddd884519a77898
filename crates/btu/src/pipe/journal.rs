//! A run in the store: begins or continues it, adds sizes, and stores its end.

use std::cell::Cell;

use btu_control::environment;
use btu_store::{Level, Moment, NewCell, NewRun, RunId, RunLock, State, Store};
use btu_suite::pipe::Facts;
use serde::Serialize;
use serde_json::Value;

use super::job::Job;
use crate::rate;

/// A run that is being written.
pub(super) struct Journal<'a> {
    store: &'a Store,
    lock: RunLock,
    position: Cell<u32>,
}

impl<'a> Journal<'a> {
    /// Begins a new run in the store.
    pub(super) fn begin(
        store: &'a mut Store,
        job: &Job,
        network: &str,
        profile: &str,
        label: Option<&str>,
    ) -> anyhow::Result<Self> {
        let document = job.document()?;
        let lock = store.create_run(&NewRun {
            suite: job.suite(),
            profile,
            network: &job.called(network),
            label,
            tags: &[],
            created: &rate::wall_clock(),
            seed: job.seed(),
            btu_version: env!("CARGO_PKG_VERSION"),
            plan: &document,
            plan_hash: &job.hash(),
            planned_cells: job.planned() as u32,
        })?;
        Self { store, lock, position: Cell::new(0) }.opened()
    }

    /// An interrupted run, with its number of cells and a warning about resuming it.
    pub(super) fn reopen(
        store: &'a Store,
        lock: RunLock,
        cells: usize,
        warnings: &[String],
    ) -> anyhow::Result<Self> {
        store.reopen(&lock)?;
        let journal = Self { store, lock, position: Cell::new(cells as u32) }.opened()?;
        warnings.iter().try_for_each(|warning| journal.note(Level::Warning, warning))?;
        Ok(journal)
    }

    fn opened(self) -> anyhow::Result<Self> {
        self.environment(Moment::Before)?;
        Ok(self)
    }

    fn environment(&self, moment: Moment) -> anyhow::Result<()> {
        let found = match moment {
            Moment::Before => environment::collect_before(),
            Moment::After => environment::collect(),
        };
        Ok(self.store.save_environment(&self.lock, moment, &serde_json::to_value(found)?)?)
    }

    /// Stores another machine's environment.
    pub(super) fn host(&self, moment: Moment, environment: &Value) -> anyhow::Result<()> {
        Ok(self.store.save_environment(&self.lock, moment, environment)?)
    }

    /// The id of the run.
    pub(super) fn run(&self) -> RunId {
        self.lock.run()
    }

    /// Stores a result, in a block that has no cell of its component, size and load yet; when this
    /// returns, it has reached the device.
    pub(super) fn save(
        &self,
        block: u32,
        facts: &Facts,
        record: &impl Serialize,
    ) -> anyhow::Result<()> {
        let position = self.position.replace(self.position.get() + 1);
        let cell = NewCell::of((block, position), facts, serde_json::to_string(record)?);
        self.store.save_record(&self.lock, &cell)?;
        Ok(())
    }

    /// Stores an event of the run.
    pub(super) fn note(&self, level: Level, text: &str) -> anyhow::Result<()> {
        Ok(self.store.save_event(&self.lock, &rate::wall_clock(), level, text)?)
    }

    /// Ends the run in `state`, with this reason if there is one.
    pub(super) fn end(self, state: State, why: Option<&str>) -> anyhow::Result<RunId> {
        if let Some(why) = why {
            self.note(Level::Error, why)?;
        }
        self.environment(Moment::After)?;
        self.store.finish(&self.lock, state, &rate::wall_clock())?;
        Ok(self.lock.run())
    }
}
