//! What the runner has to know of a study: which cells come next, how one is measured, and how it
//! is kept.

use std::time::Duration;

use btu_store::{RunId, RunLock, Store};
use btu_suite::experiment::Slot;
use btu_suite::record::PlacedReport;
use btu_units::Span;
use serde_json::Value;

use super::Observer;
use super::error::CoordinatorError;
use super::stage::Stage;

/// A study as it is measured. The runner raises the network or takes hosts, minds signals and
/// losses, and asks this.
#[allow(
    async_fn_in_trait,
    reason = "the runner has one thread and never hands the study to another"
)]
pub trait Study {
    /// What tells one cell from another.
    type Cell: std::fmt::Display;
    /// A cell as it is stored.
    type Record;

    /// Orders blocks and seeds what is random on the network.
    fn seed(&self) -> u64;

    /// How long its cells may take.
    fn pace(&self) -> Pace;

    /// The cells of a block that are not stored yet, in their order.
    fn missing(&self, block: u32, done: &[Self::Record]) -> Vec<Slot<Self::Cell>>;

    /// How many cells are sure to come after a block.
    fn sure_after(&self, block: u32) -> usize;

    /// The cells that are stored.
    fn stored(&self, store: &Store, run: RunId) -> Result<Vec<Self::Record>, CoordinatorError>;

    /// Stores a measured cell.
    fn save(
        &self,
        store: &Store,
        lock: &RunLock,
        record: &Self::Record,
    ) -> Result<(), CoordinatorError>;

    /// Has hosts keep what cells will need: before the first one, and when hosts were lost and
    /// found again.
    async fn prepare_disk_file(&mut self, stage: &mut Stage) -> Result<(), CoordinatorError>;

    /// Finds out what the cells have to know, with what has to be told of it.
    async fn calibrate(
        &mut self,
        stage: &mut Stage,
        observer: &mut dyn Observer,
    ) -> Result<Calibrated, CoordinatorError>;

    /// Takes over what an earlier session of the run has found out.
    fn take_over(&mut self, calibration: Value) -> Result<(), CoordinatorError>;

    /// Measures a cell, and tells what moves meanwhile. What goes wrong inside it is part of the
    /// record; an error means that the stage is broken.
    async fn measure(
        &self,
        stage: &mut Stage,
        slot: &Slot<Self::Cell>,
        observer: &mut dyn Observer,
    ) -> Result<Self::Record, CoordinatorError>;

    /// What the cells so far amount to, in a line for people who wait; empty where there is nothing
    /// to tell yet.
    fn so_far(&self, records: &[Self::Record]) -> String;

    /// What of a record tells that nothing moved: its faults, and the accounts of its activities.
    fn seen<'a>(&self, record: &'a Self::Record) -> (&'a [String], &'a [PlacedReport]);
}

/// How long cells may take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The highest number of blocks that the run may have.
    pub most_blocks: u32,
    /// No block beyond the first is begun or continued after this time from the first cell.
    pub budget: Span,
    /// What a cell takes, before one was measured.
    pub guess: Span,
    /// When an activity is killed.
    pub deadline: Duration,
}

/// What was found out before the first cell.
pub struct Calibrated {
    /// As it is stored, for later sessions of the run; nothing where the cells need nothing.
    pub document: Option<Value>,
    /// Warnings about what follows, a sentence each.
    pub findings: Vec<String>,
}
