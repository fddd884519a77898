//! The common interface of all studies with scripts: a plan with cells that are scripts on named
//! hosts, measured in randomised blocks, and the record of each cell. The runner uses only this
//! interface.

mod any;
mod calls;
mod columns;
mod facts;
mod passage;
mod quantity;
mod seed;
mod warning;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use btu_network::{Drawing, StationId};
use btu_units::{Bytes, Span};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::activity::Token;
use crate::border;
pub use crate::border::MOST_BLOCKS;
use crate::congestion::CongestionControl;
use crate::load::Load;
use crate::network::{HostName, Machines, read_stored};
use crate::program::{ProgramReport, Programs};
use crate::record::{MachineCpu, PlacedReport, StationCpu, WireAccount};
use crate::sample::Interval;
use crate::script::Script;

pub use any::{AnyCells, AnyExperiment, AnyPlan, CheckCells, FindStudy, Unchecked, any};
pub use calls::calls;
pub use columns::{Columns, Head, SpeedColumns};
pub use facts::{HostClocks, LoadBefore, RunFacts};
pub use passage::{AROUND_DATAGRAM, AROUND_SEGMENT, SEGMENT, passage};
pub use quantity::Quantity;
pub use seed::{name_of, stream};
pub use warning::{Warning, warnings};

/// A cell to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot<C> {
    /// The cell's name, made of its factors and levels: unique within its block.
    pub cell: C,
    /// The randomised block, from 0.
    pub block: u32,
    /// Its position in the block's order, from 0.
    pub position: u32,
}

/// The time of a cell as a share of its deadline, where nothing else is known: activities end long
/// before it.
const GUESSED_SHARE: u64 = 20;

/// The common part of all plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Version of the plan's meaning; a newer program that would measure differently has a higher
    /// one.
    pub version: u32,
    /// Orders blocks, seeds payload, loss and jitter.
    pub seed: u64,
    /// `quick`, `standard` or `full`.
    #[serde(deserialize_with = "border::profile")]
    pub profile: String,
    /// The number of repetitions of every cell.
    #[serde(deserialize_with = "border::blocks")]
    pub blocks: u32,
    /// No block beyond the first is begun or continued after this time from the first cell.
    #[serde(rename = "budget_ns")]
    pub budget: Span,
    /// An activity is killed when it takes longer.
    #[serde(rename = "deadline_ns")]
    pub deadline: Span,
    /// Cells of the plan that are not measured because they would not end in the requested time.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "border::cells")]
    pub left_out: Vec<LeftOut>,
    /// Where it is measured.
    pub network: Field,
}

/// A cell that would not end in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The cell's name.
    pub cell: String,
    /// The time that it takes at least, by its closed form.
    #[serde(rename = "least_ns")]
    pub least: Span,
}

impl Frame {
    /// Clears the times that follow from the network: a cell may last longer on a slow one.
    pub fn forget_network(&mut self) {
        (self.budget, self.deadline) = (Span::ZERO, Span::ZERO);
    }

    /// Whether a cell is measured.
    pub fn has_time_for(&self, cell: &impl fmt::Display) -> bool {
        self.left_out.is_empty() || {
            let name = cell.to_string();
            self.left_out.iter().all(|left_out| left_out.cell != name)
        }
    }

    /// The sentence about cells that are left out, if there are any.
    pub fn says_left_out(&self) -> Option<String> {
        let named =
            |LeftOut { cell, least }: &LeftOut| format!("{cell} ({:.0} s)", least.seconds());
        let named: Vec<String> = self.left_out.iter().map(named).collect();
        let enough = LeftOut::enough(&self.left_out)?;
        Some(format!(
            "left out, because by their closed forms they do not end in the {} of --time: {}; --time '{enough}' is enough for each",
            self.budget,
            named.join(", ")
        ))
    }
}

impl LeftOut {
    /// A time that is enough for the longest of these: their least times are rounded up, because
    /// a user types it.
    pub fn enough(all: &[Self]) -> Option<Span> {
        let longest = all.iter().map(|one| one.least).max()?;
        Some(Span::from_seconds((longest.seconds() / ROUNDED_TO).ceil() as u64 * ROUNDED_TO as u64))
    }
}

/// Times to type are multiples of so many seconds.
const ROUNDED_TO: f64 = 10.0;

/// Where a study is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Field {
    /// Stations of a network file, which is raised.
    Drawing(Raised),
    /// Real hosts, and the network between them.
    Machines(Machines),
}

/// A network file, and its stations that take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The name of the network.
    pub name: String,
    /// The file with its settings, so that the plan is complete.
    pub text: String,
    /// Its stations that take part, by name: each has an agent.
    pub stations: Vec<HostName>,
    /// The congestion control of all its stations; the host's own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<CongestionControl>,
    /// Whether its stations have IPv6 addresses and are measured over them; else IPv4 is used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ipv6: bool,
}

impl Field {
    /// The hosts that take part, by the names in scripts, in the plan's order.
    pub fn hosts(&self) -> Vec<&HostName> {
        match self {
            Self::Drawing(raised) => raised.stations.iter().collect(),
            Self::Machines(machines) => machines.hosts.iter().map(|host| &host.station).collect(),
        }
    }

    /// The first two of them, which are the two ends of most studies.
    pub fn ends(&self) -> [Option<&HostName>; 2] {
        let hosts = self.hosts();
        [0, 1].map(|place| hosts.get(place).copied())
    }

    /// Whether it is a raised network that is measured over its stations' IPv6 addresses.
    pub fn is_ipv6(&self) -> bool {
        matches!(self, Self::Drawing(raised) if raised.ipv6)
    }

    /// The network as it is drawn, with the traces of the library; `None` for real hosts, and for a
    /// file that this version cannot read.
    pub fn drawing(&self) -> Option<Drawing> {
        match self {
            Self::Drawing(raised) => read_stored(&raised.name, &raised.text).ok(),
            Self::Machines(_) => None,
        }
    }
}

impl Raised {
    /// The stations that take part; `None` if the file has no station of such a name.
    pub fn hosts(&self, drawing: &Drawing) -> Option<Vec<(HostName, StationId)>> {
        let hosts = self
            .stations
            .iter()
            .map(|name| Some((name.clone(), drawing.station_called(name.as_str())?)));
        hosts.collect()
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawing(raised) => f.write_str(&raised.name),
            Self::Machines(machines) => machines.fmt(f),
        }
    }
}

/// The parameters of a script in addition to plan and cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSetting {
    /// Seed of payload and choices.
    pub seed: u64,
    /// Opens the cell's data connections; another one in each attempt.
    pub token: Token,
    /// How long an activity may take before it is killed.
    pub deadline: Span,
    /// An existing directory for files of a host's activities.
    pub scratch: PathBuf,
}

impl CellSetting {
    /// For a script that is examined and never played.
    pub fn unplayed(frame: &Frame) -> Self {
        Self { seed: 0, token: Token::default(), deadline: frame.deadline, scratch: PathBuf::new() }
    }
}

/// The observations of one script.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// Every worker's account, in the script's order.
    pub reports: Vec<PlacedReport>,
    /// The results of the user's own programs, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramReport>,
    /// The stations' CPU time.
    pub stations: Vec<StationCpu>,
    /// The machine's CPU time, and the state of its clocks.
    pub machine: MachineCpu,
    /// The emulator's account of every element.
    pub wire: WireAccount,
    /// Between the first and the last worker's start.
    pub start_skew_ns: u64,
    /// The time of the cell outside its activities: prepare, collect, check.
    pub overhead_ns: u64,
    /// The values that were found in what programs printed, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// What streams and requests reported under way, where their command asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Interval>,
}

impl Observation {
    /// Faults, a sentence each: activities without an account, an emulator's account that does not
    /// balance, a machine that slept.
    pub fn failures(&self) -> Vec<String> {
        let programs = self.programs.iter().filter_map(ProgramReport::fault);
        let reports = self.reports.iter().filter_map(PlacedReport::failure);
        programs.chain(reports).chain(self.wire.faults()).chain(self.machine.fault()).collect()
    }
}

/// One cell as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured<C> {
    /// The cell's name, made of its factors and levels: unique within its block.
    pub cell: C,
    /// Its randomised block, from 0.
    pub block: u32,
    /// Its position in the block's order, from 0.
    pub position: u32,
    /// Why it does not count; empty when it is valid.
    pub faults: Vec<String>,
    /// All observations.
    #[serde(flatten)]
    pub seen: Observation,
}

impl<C> Measured<C> {
    /// Whether the cell counts.
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }
}

/// The columns for finding a cell among others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The size of the object that was moved; zero if there is none.
    pub message: Bytes,
    /// Payload that arrived over time, in one direction; with data in both directions it is absent,
    /// and `both_ways` has the two.
    pub goodput_bits_per_second: Option<f64>,
    /// Payload that arrived over time where data went both ways at once: from the near host to the
    /// far one, and back.
    pub both_ways: Option<[f64; 2]>,
    /// How long it took.
    pub duration: Option<Span>,
    /// The median round trip of requests.
    pub round_trip: Option<Span>,
}

/// The cells of block `block` that are not among `done`, in their order.
pub fn left<E: Scripts>(plan: &E, block: u32, done: &[Measured<E::Cell>]) -> Vec<Slot<E::Cell>> {
    let is_stored = |cell: &E::Cell| done.iter().any(|one| one.block == block && one.cell == *cell);
    let slots = plan.order(block).into_iter().zip(0..).filter(|(cell, _)| !is_stored(cell));
    slots.map(|(cell, position)| Slot { cell, block, position }).collect()
}

/// The names of a study.
pub trait Named {
    /// The study's name in the store.
    const STUDY: &'static str;
    /// The command that measures it, as users write it.
    const COMMAND: &'static str;
    /// The plan's version that this program writes.
    const VERSION: u32;
}

/// A study by its plans, as they are stored: the part that everything needs that reads runs.
pub trait Experiment:
    Named + Clone + PartialEq + fmt::Debug + Serialize + DeserializeOwned + 'static
{
    /// What is stored of a cell.
    type Record: fmt::Debug + Serialize + DeserializeOwned + Send + 'static;

    /// The version of this plan's meaning.
    fn version(&self) -> u32;

    /// What the plan says of its run; `None` where lists show more than the plan says.
    fn head(&self) -> Option<Head>;

    /// The plan with another seed.
    #[must_use]
    fn with_seed(&self, seed: u64) -> Self;

    /// The plan's name: a hash without the seed, so that it distinguishes runs of different plans.
    fn hash(&self) -> String {
        name_of(&self.with_seed(0))
    }

    /// The columns of a record.
    ///
    /// # Errors
    /// A record that cannot be one of this plan, in a sentence.
    fn columns(&self, record: &Self::Record) -> Result<Columns, String>;

    /// Why a run of this plan that ended early is never continued, as the rest of a sentence about it.
    fn never_resumed(&self) -> Option<&'static str> {
        None
    }

    /// What the cells of a run of this plan are compared with, and what was calibrated for it: by
    /// default nothing.
    ///
    /// # Errors
    /// A calibration that cannot be read, in a sentence.
    fn check(
        &self,
        _calibration: Option<&str>,
    ) -> Result<Box<dyn CheckCells<Self::Record>>, String> {
        Ok(Box::new(Unchecked))
    }
}

impl<S: Scripts> Experiment for S {
    type Record = Measured<S::Cell>;

    fn version(&self) -> u32 {
        self.frame().version
    }

    fn head(&self) -> Option<Head> {
        let Frame { profile, network, seed, .. } = self.frame();
        Some(Head { profile: profile.clone(), network: network.to_string(), seed: *seed })
    }

    fn with_seed(&self, seed: u64) -> Self {
        let mut plan = self.clone();
        plan.frame_mut().seed = seed;
        plan
    }

    fn columns(&self, record: &Measured<S::Cell>) -> Result<Columns, String> {
        let facts = self.facts(&record.cell, &record.seen);
        Ok(Columns {
            block: record.block,
            position: record.position,
            component: record.cell.to_string(),
            message: facts.message,
            load: Load::Idle.name(),
            valid: record.is_valid(),
            goodput_bits_per_second: facts.goodput_bits_per_second,
            duration: Some(facts.duration.unwrap_or(Span::ZERO)),
            host_duration: None,
        })
    }
}

/// A plan with cells that are scripts on named hosts, measured in randomised blocks: the part that
/// only the runner needs.
pub trait Scripts:
    Named + Clone + PartialEq + fmt::Debug + Serialize + DeserializeOwned + 'static
{
    /// The levels of every factor, which distinguish the cells. Its text is unique among a plan's
    /// cells.
    type Cell: Clone
        + Ord
        + Send
        + fmt::Debug
        + fmt::Display
        + Serialize
        + DeserializeOwned
        + 'static;

    /// Whether its cells are repeated in blocks.
    const IN_BLOCKS: bool = true;

    /// Whether it goes on without a host that was lost and not found again.
    const GOES_ON: bool = false;

    /// Whether it compares hosts, which then have a machine each, or all the same one.
    const HOSTS_APART: bool = false;

    /// The common part of all plans.
    fn frame(&self) -> &Frame;

    /// Like `frame`, to be changed.
    fn frame_mut(&mut self) -> &mut Frame;

    /// Every cell of a block, once, except those that are left out.
    fn cells(&self) -> Vec<Self::Cell>;

    /// The cells of a block in their order: a permutation drawn from the seed and the block's
    /// number alone. A study with levels that take long to set up has its own order.
    fn order(&self, block: u32) -> Vec<Self::Cell> {
        let mut cells = self.cells();
        cells.sort_unstable();
        cells.shuffle(&mut stream(self.frame().seed, u64::from(block)));
        cells
    }

    /// The activities of the cell.
    fn script(&self, cell: &Self::Cell, setting: &CellSetting) -> Script;

    /// The user's own programs of a cell; only on networks that are raised.
    fn programs(&self, _cell: &Self::Cell, _setting: &CellSetting) -> Programs {
        Programs::default()
    }

    /// The command lines of all programs that it starts, each once.
    fn commands(&self) -> Vec<String> {
        Vec::new()
    }

    /// The directories that it has activities use in addition to their scratch directories: shares.
    fn directories(&self) -> Vec<&Path> {
        Vec::new()
    }

    /// Networks in addition to that of the frame, with the same stations.
    fn other_networks(&self) -> Vec<&Raised> {
        Vec::new()
    }

    /// Clears what follows from the network, such as how long its queues take to fill: between plans
    /// on two networks that is no difference of its own.
    fn forget_network(&mut self) {
        self.frame_mut().forget_network();
    }

    /// The index of a cell's network: 0 is that of the frame, 1 the first of the others.
    fn network_of(&self, _cell: &Self::Cell) -> usize {
        0
    }

    /// How long a cell takes on average, before one was measured.
    fn forecast(&self) -> Span {
        Span::from_nanoseconds(self.frame().deadline.nanoseconds() / GUESSED_SHARE)
    }

    /// The cells whose least time the closed forms know, with that time.
    fn least_times(&self) -> Vec<(Self::Cell, Span)> {
        Vec::new()
    }

    /// Leaves out the cells that do not end in `time` by their closed forms. If that is all of
    /// them, the plan stays as it is, and they are the error.
    fn within(&mut self, time: Span) -> Result<(), Vec<LeftOut>> {
        let too_long = self.least_times().into_iter().filter(|(_, least)| *least > time);
        let too_long: Vec<LeftOut> =
            too_long.map(|(cell, least)| LeftOut { cell: cell.to_string(), least }).collect();
        if !too_long.is_empty() && too_long.len() == self.cells().len() {
            return Err(too_long);
        }
        self.frame_mut().left_out = too_long;
        Ok(())
    }

    /// Looks in what was seen once for what every reader of the cell would look for.
    fn look(&self, _cell: &Self::Cell, _seen: &mut Observation) {}

    /// Why a cell does not count although each of its activities has an account: accounts that do
    /// not agree, an answer that is wrong.
    fn faults(&self, cell: &Self::Cell, seen: &Observation) -> Vec<String>;

    /// The columns for finding a cell among others.
    fn facts(&self, cell: &Self::Cell, seen: &Observation) -> Facts;

    /// The name of a quantity of a cell in comparisons; unique among a plan's cells.
    fn quantity_name(&self, cell: &Self::Cell, quantity: Quantity) -> String {
        format!("{cell} {quantity}")
    }

    /// The seed of one cell's payload and choices.
    fn cell_seed(&self, block: u32, position: u32) -> u64 {
        stream(self.frame().seed, 1 << 40 | u64::from(block) << 20 | u64::from(position)).random()
    }

    /// The cells of block `block` that are not stored yet, in their order.
    fn missing(&self, block: u32, done: &[Measured<Self::Cell>]) -> Vec<Slot<Self::Cell>> {
        if block >= self.frame().blocks {
            return Vec::new();
        }
        left(self, block, done)
    }

    /// The number of cells that are certain to follow block `block`, with these stored.
    fn sure_after(&self, block: u32, _done: &[Measured<Self::Cell>]) -> usize {
        self.frame().blocks.saturating_sub(block + 1) as usize * self.cells().len()
    }

    /// The record of a cell: the faults of its activities and its network first, then those that
    /// the study finds.
    fn record(&self, slot: Slot<Self::Cell>, mut seen: Observation) -> Measured<Self::Cell> {
        self.look(&slot.cell, &mut seen);
        let mut faults = seen.failures();
        if faults.is_empty() {
            faults = self.faults(&slot.cell, &seen);
        }
        Measured { cell: slot.cell, block: slot.block, position: slot.position, faults, seen }
    }
}
