//! The runner's interface to a study: the next cells, their measurement, and their storage.

use std::time::Duration;

use btu_store::{RunId, RunLock, Store};
use btu_suite::experiment::Slot;
use btu_suite::record::PlacedReport;
use btu_units::Span;
use serde_json::Value;

use super::Observer;
use super::error::CoordinatorError;
use super::stage::Stage;

/// A study as it is measured. The runner raises the network or reserves hosts, handles signals and
/// losses, and calls this.
#[allow(
    async_fn_in_trait,
    reason = "the runner has one thread and never hands the study to another"
)]
pub trait Study {
    /// The key of a cell.
    type Cell: std::fmt::Display;
    /// A cell as it is stored.
    type Record;

    /// Whether its cells are repeated in blocks.
    const IN_BLOCKS: bool = true;

    /// Whether it goes on without a host that was lost and not found again.
    const GOES_ON: bool = false;

    /// Whether it compares hosts, which then have a machine each, or all the same one.
    const HOSTS_APART: bool = false;

    /// Orders blocks and seeds what is random on the network.
    fn seed(&self) -> u64;

    /// The time limits of its cells.
    fn pace(&self) -> TimeLimits;

    /// The cells of a block that are not stored yet, in their order.
    fn missing(&self, block: u32, done: &[Self::Record]) -> Vec<Slot<Self::Cell>>;

    /// The number of cells that are certain to follow a block, with these stored.
    fn sure_after(&self, block: u32, done: &[Self::Record]) -> usize;

    /// The cells that are stored.
    fn stored(&self, store: &Store, run: RunId) -> Result<Vec<Self::Record>, CoordinatorError>;

    /// Stores a measured cell.
    fn save(
        &self,
        store: &Store,
        lock: &RunLock,
        record: &Self::Record,
    ) -> Result<(), CoordinatorError>;

    /// Prepares hosts for the cells: before the first one, and when lost hosts were reached again.
    async fn prepare_disk_file(&mut self, _stage: &mut Stage) -> Result<(), CoordinatorError> {
        Ok(())
    }

    /// Prepares the cells' inputs, with warnings about them; by default they need none.
    async fn calibrate(
        &mut self,
        _stage: &mut Stage,
        _observer: &mut dyn Observer,
    ) -> Result<Calibrated, CoordinatorError> {
        Ok(Calibrated { document: None, findings: Vec::new() })
    }

    /// Takes the inputs of an earlier session of the run.
    fn take_over(&mut self, _calibration: Value) -> Result<(), CoordinatorError> {
        Ok(())
    }

    /// Measures a cell after those that are stored, and reports progress meanwhile. Faults inside it
    /// are part of the record; an error means that the stage is broken. `None` if nothing was left
    /// to measure.
    async fn measure(
        &mut self,
        stage: &mut Stage,
        slot: &Slot<Self::Cell>,
        done: &[Self::Record],
        observer: &mut dyn Observer,
    ) -> Result<Option<Self::Record>, CoordinatorError>;

    /// The intermediate result of the cells so far, in a line for waiting users; empty if there is
    /// none yet.
    fn so_far(&self, records: &[Self::Record]) -> String;

    /// The parts of a record that show a stall: its faults, and the accounts of its activities.
    fn seen<'a>(&self, record: &'a Self::Record) -> (&'a [String], &'a [PlacedReport]);

    /// Remarks about a run that is complete, a sentence each.
    fn notes(&self, _records: &[Self::Record]) -> Vec<String> {
        Vec::new()
    }
}

/// The time limits of cells.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimits {
    /// The highest number of blocks that the run may have.
    pub most_blocks: u32,
    /// No block beyond the first is begun or continued after this time from the first cell.
    pub budget: Span,
    /// The time that the cells keep to by themselves, if it is limited: no more is shown as left.
    pub own_time: Option<Span>,
    /// The estimated time of a cell, before one was measured.
    pub guess: Span,
    /// The deadline of an activity.
    pub deadline: Duration,
}

/// The inputs that were found before the first cell.
pub struct Calibrated {
    /// The stored form, for later sessions of the run; `None` if the cells need no inputs.
    pub document: Option<Value>,
    /// Warnings about the run, a sentence each.
    pub findings: Vec<String>,
}
