//! What an agent has in hand for one session: the cell that is prepared, those that are collected, what is kept of them.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use btu_load::DiskSource;
use tokio::sync::watch;

use super::budget::Claim;
use super::cell::Cell;
use super::impair::Impaired;
use super::worker::{Heard, Rein};
use crate::protocol::CollectReply;

/// Cells of which the accounts are kept for a controller that was lost: far more than it can have asked for and missed.
const KEPT_CELLS: usize = 8;

/// What came of a cell, once it has; an error is the agent's own.
pub(super) type Outcome = Option<Result<CollectReply, String>>;

/// One session's work; dropping it kills its workers and undoes its impairments.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) cell: Option<Cell>,
    pub(super) source: Option<Kept>,
    /// Stops the making of a source file, while one is being made.
    pub(super) furnishing: Weak<AtomicBool>,
    pub(super) impaired: BTreeMap<IpAddr, Impaired>,
    collections: VecDeque<Collection>,
}

/// The disk activity's source file: it has no name, so nothing is left when the agent dies.
pub(super) struct Kept {
    /// Holds it open.
    pub(super) file: DiskSource,
    /// The room that it takes.
    pub(super) claim: Arc<Claim>,
}

/// A cell that is being collected, or was.
struct Collection {
    cell: u64,
    reins: Vec<Rein>,
    ears: BTreeMap<u32, watch::Receiver<Heard>>,
    outcome: watch::Receiver<Outcome>,
}

impl Desk {
    /// The cell `number`; whatever is left of others is ended (its workers are killed).
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

    /// What comes, or came, of the cell `number`; if it is prepared, its collection begins and goes on by itself.
    pub(super) fn collect(&mut self, number: u64, finishing: Vec<u32>) -> Option<watch::Receiver<Outcome>> {
        if let Some(cell) = self.take(number) {
            self.begin(cell, finishing);
        }
        let found = self.collections.iter().rev().find(|collection| collection.cell == number)?;
        Some(found.outcome.clone())
    }

    fn begin(&mut self, cell: Cell, finishing: Vec<u32>) {
        let (told, outcome) = watch::channel(None);
        let (number, reins, ears) = (cell.number, cell.reins(), cell.ears());
        self.collections.retain(|collection| collection.cell != number);
        self.collections.push_back(Collection { cell: number, reins, ears, outcome });
        let surplus = self.collections.len().saturating_sub(KEPT_CELLS);
        self.collections.drain(..surplus);
        tokio::spawn(async move { told.send_replace(Some(cell.collect(&finishing).await)) });
    }

    /// What a worker of the cell says, if it was started.
    pub(super) fn heard(&self, cell: u64, step: u32) -> Option<watch::Receiver<Heard>> {
        let prepared = self.cell.as_ref().filter(|prepared| prepared.number == cell && prepared.is_started());
        prepared.and_then(|prepared| prepared.heard(step)).or_else(|| {
            let collected = self.collections.iter().find(|collection| collection.cell == cell)?;
            collected.ears.get(&step).cloned()
        })
    }

    /// Kills every worker; accounts stay.
    pub(super) fn abandon(&mut self) {
        self.cell = None;
        self.reins().for_each(Rein::kill);
    }

    /// The controller is lost: what has finished is kept, the rest is killed, the impairments are undone.
    pub(super) fn settle(&mut self) {
        self.impaired.clear();
        self.stop_furnishing();
        if let Some(cell) = self.cell.take_if(|cell| cell.is_started()) {
            let all = cell.ears().into_keys().collect();
            self.begin(cell, all);
        }
        self.cell = None;
        self.reins().for_each(Rein::settle);
    }

    fn stop_furnishing(&self) {
        if let Some(stop) = self.furnishing.upgrade() {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Cells whose accounts are kept.
    pub(super) fn kept(&self) -> Vec<u64> {
        self.collections.iter().map(|collection| collection.cell).collect()
    }

    /// Forgets what was accounted for; a session-less caller asks for nothing twice.
    pub(super) fn forget(&mut self, cell: u64) {
        self.collections.retain(|collection| collection.cell != cell);
    }

    fn reins(&self) -> impl Iterator<Item = &Rein> {
        self.collections.iter().flat_map(|collection| &collection.reins)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop_furnishing();
        self.abandon();
    }
}
