//! A study as it is measured: the interface of the runner, which starts the network or reserves hosts, plays scripts,
//! stores records, and handles signals and losses.

mod forecast;
mod scripted;

use std::fmt;
use std::path::PathBuf;

use btu_units::{Bytes, Span};
use serde_json::Value;

use crate::activity::Token;
use crate::experiment::{Experiment, Observation, Slot};
use crate::network::HostName;
use crate::program::Programs;
use crate::record::PlacedReport;
use crate::script::Script;

pub use forecast::forecast;
pub use scripted::Scripted;

/// A cell of a study as it is stored.
pub type Record<S> = <<S as Study>::Plan as Experiment>::Record;

/// The cells of a study, in their order.
pub trait Study {
    /// What is measured, as it is stored.
    type Plan: Experiment;
    /// The key of a cell.
    type Cell: fmt::Display;

    /// Whether its cells are repeated in blocks.
    const IN_BLOCKS: bool = true;

    /// Whether it goes on without a host that was lost and not found again.
    const GOES_ON: bool = false;

    /// Whether it compares hosts, which then have a machine each, or all the same one.
    const HOSTS_APART: bool = false;

    /// What is measured.
    fn plan(&self) -> &Self::Plan;

    /// Orders blocks and seeds what is random on the network.
    fn seed(&self) -> u64;

    /// The time limits of its cells.
    fn pace(&self) -> TimeLimits;

    /// The cells of a block that are not stored yet, in their order.
    fn missing(&self, block: u32, done: &[Record<Self>]) -> Vec<Slot<Self::Cell>>;

    /// The number of cells that are certain to follow a block, with these stored.
    fn sure_after(&self, block: u32, done: &[Record<Self>]) -> usize;

    /// The intermediate result of the cells so far, in a line for waiting users; empty if there is
    /// none yet.
    fn so_far(&self, records: &[Record<Self>]) -> String;

    /// The parts of a record that show a stall: its faults, and the accounts of its activities.
    fn seen<'a>(&self, record: &'a Record<Self>) -> (&'a [String], &'a [PlacedReport]);

    /// Remarks about a run that is complete, a sentence each.
    fn notes(&self, _records: &[Record<Self>]) -> Vec<String> {
        Vec::new()
    }
}

/// A study with cells that are scripts.
pub trait ScriptedStudy: Study {
    /// The file that a host holds for the activities of its cells, if they need one.
    fn disk_file(&self) -> Option<DiskFile> {
        None
    }

    /// Reads that file here: before the first cell, and when lost hosts were reached again.
    fn use_disk_file(&mut self, _path: PathBuf) {}

    /// Finds the inputs of the cells by playing scripts, with warnings about them; by default they need none.
    ///
    /// # Errors
    /// A script that could not be played, or gave no input.
    #[allow(
        async_fn_in_trait,
        reason = "the runner has one thread and never hands the study to another"
    )]
    async fn find_inputs<P: Play>(
        &mut self,
        _play: &mut P,
    ) -> Result<Inputs, InputError<P::Error>> {
        Ok(Inputs::default())
    }

    /// Takes the inputs that an earlier session of the run has found.
    ///
    /// # Errors
    /// They cannot be read.
    fn take_over(&mut self, _inputs: Value) -> serde_json::Result<()> {
        Ok(())
    }

    /// The activities of a cell, and the user's own programs. `token` opens its data connections.
    fn script(&self, slot: &Slot<Self::Cell>, token: Token) -> (Script, Programs);

    /// The index of a cell's network: 0 is the first.
    fn network_of(&self, _cell: &Self::Cell) -> usize {
        0
    }

    /// The record of a cell that was played.
    fn record(&self, slot: Slot<Self::Cell>, script: &Script, seen: Observation) -> Record<Self>;

    /// The record of a cell with an activity that could not be prepared, so that no activity was started.
    fn unprepared(&self, slot: Slot<Self::Cell>, why: String, seen: Observation) -> Record<Self>;
}

/// Plays scripts before the first cell.
#[allow(async_fn_in_trait, reason = "the runner has one thread and never hands this to another")]
pub trait Play {
    /// Why a script could not be played.
    type Error;

    /// Plays a script.
    ///
    /// # Errors
    /// An activity could not be prepared, or the network or a host is broken.
    async fn play(&mut self, script: &Script) -> Result<Observation, Self::Error>;

    /// The time since a moment before the first script.
    fn elapsed(&self) -> Span;

    /// Reports that the network is compared with the request from now on.
    fn checks(&mut self);

    /// Reports pilots: those that are done, all of them, and the seconds left, if that is known.
    fn pilots(&mut self, done: usize, all: usize, seconds_left: Option<f64>);

    /// A message for the user, to show at once.
    fn notice(&mut self, text: &str);
}

/// What was found before the first cell.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The stored form, for later sessions of the run; `None` if the cells need no inputs.
    pub document: Option<Value>,
    /// Warnings about the run, a sentence each.
    pub findings: Vec<String>,
}

/// Why no inputs were found.
#[derive(Debug)]
pub enum InputError<E> {
    /// A script could not be played.
    Play(E),
    /// The network differs from the request, in a sentence.
    Network(String),
    /// No amount of work was found for an activity.
    Amount {
        /// The activity.
        what: String,
        /// The reason.
        message: String,
    },
    /// The inputs have no stored form.
    Document(serde_json::Error),
}

impl<E> From<E> for InputError<E> {
    fn from(error: E) -> Self {
        Self::Play(error)
    }
}

/// A file that a host's agent makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// The host.
    pub host: HostName,
    /// An existing directory there.
    pub directory: PathBuf,
    /// The size of the file.
    pub size: Bytes,
    /// Of its content.
    pub seed: u64,
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
    pub deadline: Span,
}
