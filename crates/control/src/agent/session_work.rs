//! An agent's work for one session: the prepared cell, the collected ones, and their stored
//! accounts.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use btu_load::DiskSource;
use tokio::sync::watch;

use super::budget::Claim;
use super::cell::Cell;
use super::impair::Impaired;
use super::worker::{KillHandle, WorkerOutput};
use crate::protocol::CollectReply;

/// Cells of which the accounts are kept for a controller that was lost: far more than it can have
/// missed.
const KEPT_CELLS: usize = 8;

/// The result of a cell, once it is known; an error is internal.
pub(super) type CellResult = Option<Result<CollectReply, String>>;

/// One session's work; dropping it kills its workers and undoes its impairments.
#[derive(Default)]
pub(super) struct SessionWork {
    pub(super) cell: Option<Cell>,
    pub(super) source: Option<Kept>,
    /// Stops the making of a source file, while one is being made.
    pub(super) preparing_disk_file: Weak<AtomicBool>,
    pub(super) impaired: BTreeMap<IpAddr, Impaired>,
    collections: VecDeque<Collection>,
}

/// The disk activity's source file: it has no name, so nothing is left when the agent dies.
pub(super) struct Kept {
    /// The source file, which is held open.
    pub(super) file: DiskSource,
    /// Its claim.
    pub(super) claim: Arc<Claim>,
}

/// A cell that is being collected, or was.
struct Collection {
    cell: u64,
    kill_handles: Vec<KillHandle>,
    outputs: BTreeMap<u32, watch::Receiver<WorkerOutput>>,
    outcome: watch::Receiver<CellResult>,
}

impl SessionWork {
    /// The cell `number`; the remains of others are ended (their workers are killed).
    pub(super) fn cell(&mut self, number: u64) -> nix::Result<&mut Cell> {
        if self.cell.as_ref().is_none_or(|cell| cell.number != number) {
            self.abandon();
            self.cell = None;
        }
        match &mut self.cell {
            Some(cell) => Ok(cell),
            empty => Ok(empty.insert(Cell::new(number)?)),
        }
    }

    /// The cell `number` if it is the one prepared.
    pub(super) fn take(&mut self, number: u64) -> Option<Cell> {
        self.cell.take_if(|cell| cell.number == number)
    }

    /// The result of the cell `number`; if it is prepared, its collection begins and continues by
    /// itself.
    pub(super) fn collect(
        &mut self,
        number: u64,
        finishing: Vec<u32>,
    ) -> Option<watch::Receiver<CellResult>> {
        if let Some(cell) = self.take(number) {
            self.begin(cell, finishing);
        }
        let found = self.collections.iter().rev().find(|collection| collection.cell == number)?;
        Some(found.outcome.clone())
    }

    fn begin(&mut self, cell: Cell, finishing: Vec<u32>) {
        let (told, outcome) = watch::channel(None);
        let (number, kill_handles, outputs) = (cell.number, cell.kill_handles(), cell.outputs());
        self.collections.retain(|collection| collection.cell != number);
        self.collections.push_back(Collection { cell: number, kill_handles, outputs, outcome });
        let surplus = self.collections.len().saturating_sub(KEPT_CELLS);
        self.collections.drain(..surplus);
        tokio::spawn(async move { told.send_replace(Some(cell.collect(&finishing).await)) });
    }

    /// The messages of a worker of the cell, if it was started.
    pub(super) fn heard(&self, cell: u64, step: u32) -> Option<watch::Receiver<WorkerOutput>> {
        let prepared =
            self.cell.as_ref().filter(|prepared| prepared.number == cell && prepared.is_started());
        prepared.and_then(|prepared| prepared.heard(step)).or_else(|| {
            let collected = self.collections.iter().find(|collection| collection.cell == cell)?;
            collected.outputs.get(&step).cloned()
        })
    }

    /// Kills every worker; accounts stay.
    pub(super) fn abandon(&mut self) {
        self.cell = None;
        self.kill_handles().for_each(KillHandle::kill);
    }

    /// The controller is lost: finished accounts are kept, the other workers are killed, the
    /// impairments are undone.
    pub(super) fn settle(&mut self) {
        self.impaired.clear();
        self.stop_preparing_disk_file();
        if let Some(cell) = self.cell.take_if(|cell| cell.is_started()) {
            let all = cell.outputs().into_keys().collect();
            self.begin(cell, all);
        }
        self.cell = None;
        self.kill_handles().for_each(KillHandle::settle);
    }

    fn stop_preparing_disk_file(&self) {
        if let Some(stop) = self.preparing_disk_file.upgrade() {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// The number of cells with stored accounts.
    pub(super) fn kept(&self) -> Vec<u64> {
        self.collections.iter().map(|collection| collection.cell).collect()
    }

    /// Removes collected accounts; a caller without a session requests nothing twice.
    pub(super) fn forget(&mut self, cell: u64) {
        self.collections.retain(|collection| collection.cell != cell);
    }

    fn kill_handles(&self) -> impl Iterator<Item = &KillHandle> {
        self.collections.iter().flat_map(|collection| &collection.kill_handles)
    }
}

impl Drop for SessionWork {
    fn drop(&mut self) {
        self.stop_preparing_disk_file();
        self.abandon();
    }
}
