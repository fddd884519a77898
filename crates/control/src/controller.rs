//! The controller: raises the testbed or reserves hosts, measures the cells of the plan, stores
//! each cell, and takes the network down.

mod client;
mod error;
mod hosts;
mod placement;
mod played;
mod programs;
mod recovery;
mod run_monitor;
pub mod secret;
mod session;
mod signatures;
mod stage;
mod study;

use std::path::PathBuf;
use std::time::Instant;

use btu_contract::app::View;
use btu_contract::congestion::CongestionControl;
use btu_contract::json;
use btu_contract::network::HostName;
use btu_contract::processors::Division;
use btu_contract::protocol_work::ProtocolWork;
use btu_contract::sample::Interval;
use btu_network::{Drawing, StationId};
use btu_store::{Level, Moment, RunLock, State, Store};
use btu_testbed::processors::PinnedThread;
use btu_testbed::testbed::{NetworkRequest, RaisedNetwork, RaisingNetwork};
use btu_units::Span;

pub(crate) use hosts::fuzz_ssh_words;

pub use error::{ControllerError, Interrupt, with_reasons};
pub use hosts::{
    Access, HostCall, HostSet, Launch, LaunchRequest, LaunchedAgent, Program, become_launcher,
    roll_call,
};
pub use played::play;
pub use signatures::{DISK_LOAD_FILE, Draw, Signatures};
pub use study::MeasuredStudy;

use crate::awake::Wakefulness;
use crate::environment::{self, Environment};
use placement::Placement;
use run_monitor::RunMonitor;
use session::Journal;
use stage::Stage;

/// The settings of a run in addition to its study.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// A private directory for sockets; it exists as long as the run.
    pub runtime: PathBuf,
    /// The path of this program's executable file.
    pub executable: PathBuf,
    /// Wall time as RFC 3339, for the record only.
    pub wall_clock: fn() -> String,
}

/// The network or the hosts of a run.
pub enum Ground {
    /// A network that is raised for it.
    Testbed(Box<Testbed>),
    /// Hosts that were gathered.
    Hosts(Box<HostSet>),
}

/// A network that is raised for a run.
#[derive(Debug, Clone, Default)]
pub struct Testbed {
    /// The name of the raised network in lists of networks.
    pub name: &'static str,
    /// The network that is raised.
    pub drawing: Drawing,
    /// The stations that take part, by their names in scripts: each has an agent.
    pub hosts: Vec<(HostName, StationId)>,
    /// The stations with incoming packets that can be impaired.
    pub inputs: Vec<StationId>,
    /// The source of the network, for users.
    pub source: String,
    /// The use of the machine's processors.
    pub processors: Processors,
    /// What its stations' TCP uses; the host's own choice when absent.
    pub congestion_control: Option<CongestionControl>,
    /// Whether its stations have IPv6 addresses and are measured by these.
    pub ipv6: bool,
    /// Other networks that are up at the same time, with stations of equal names: each cell names
    /// its network.
    pub others: Vec<Self>,
}

impl Testbed {
    /// All raised networks, this one first.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }
}

/// The use of a machine's processors by the stations of a raised network.
#[derive(Debug, Clone, Default)]
pub struct Processors {
    /// The station under test, and the division of the processors between it and all other work;
    /// shared by all when absent.
    pub divided: Option<(StationId, Division)>,
    /// The processors of two ends that are pinned, where they are not divided.
    pub ends: Option<[u32; 2]>,
    /// Where the protocol work of received frames is done.
    pub protocol_work: ProtocolWork,
    /// Whether they are kept from sleeping.
    pub awake: bool,
}

impl Processors {
    /// A processor of the station under test, and one of all other work; or those of the ends.
    fn pair(&self) -> Option<[u32; 2]> {
        self.divided.as_ref().map_or(self.ends, |(_, division)| division.pair())
    }

    /// Between these two, from now on kept from sleeping if that is wanted.
    fn placement(&self) -> Placement {
        Placement::new(self.pair(), Wakefulness::begin(self.awake))
    }

    /// Pins this process, and its later children, to the processors of all work except the station
    /// under test.
    fn hold_the_rest(&self) -> Result<Option<PinnedThread>, ControllerError> {
        let Some((_, division)) = &self.divided else { return Ok(None) };
        let operation = "pinning everything but the station under test to separate processors";
        PinnedThread::on(division.rest().numbers())
            .map(Some)
            .map_err(|source| ControllerError::System { operation, source })
    }
}

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// Making namespaces, interfaces, agents and the emulator, of so many stations.
    Raise(usize),
    /// The controller reserves hosts.
    Reserve,
    /// Comparing the network with the request.
    Check,
    /// Finding how much work makes a baseline last as long as wanted: pilots done, all of them, and the
    /// seconds left, once one is done.
    Calibrate(usize, usize, Option<f64>),
    /// The controller measures cells.
    Measure,
    /// The controller takes everything down.
    Lower,
}

/// The progress of the measurement.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The block of the cell that is about to be measured, from 0; `None` if a study has none.
    pub block: Option<u32>,
    /// The cell, in words.
    pub cell: String,
    /// Cells stored so far.
    pub done: usize,
    /// Cells expected in all: exact for the least blocks, then as far as can be seen.
    pub expected: usize,
    /// Seconds left, as far as can be told.
    pub seconds_left: f64,
    /// The intermediate result of the cells so far, in a line; may be empty.
    pub so_far: String,
}

/// An observer of the progress of a run.
pub trait Observer {
    /// A new phase, or a step within one.
    fn phase(&mut self, phase: Phase);
    /// Reports that a cell begins.
    fn progress(&mut self, progress: &Progress);
    /// A message for the user, to show at once.
    fn notice(&mut self, text: &str);
    /// The interval of progress numbers while a cell is measured; `None` if no user wants them. They
    /// are stored with the cell.
    fn every(&self) -> Option<Span> {
        None
    }
    /// The progress in an interval of the current cell.
    fn interval(&mut self, _interval: &Interval) {}
    /// What a display of the current cell shows now.
    fn view(&mut self, _view: &View) {}
}

/// Measures the run that `lock` holds, from the first cell that is not stored.
///
/// # Errors
/// The reason that ended the run early; its state in the store is then `interrupted` or `failed`,
/// and every stored cell stays.
pub fn run<S: MeasuredStudy>(
    store: &Store,
    lock: &RunLock,
    study: &mut S,
    settings: &RunSettings,
    ground: Ground,
    observer: &mut dyn Observer,
) -> Result<(), ControllerError> {
    let journal = Journal { store, lock, wall_clock: settings.wall_clock };
    let result = match ground {
        Ground::Testbed(testbed) => raise_and_measure(journal, study, settings, &testbed, observer),
        Ground::Hosts(host_set) => measure_on_hosts(journal, study, *host_set, observer),
    };
    let (state, note) = match &result {
        Ok(()) => (State::Complete, None),
        Err(error @ ControllerError::Interrupted(_)) => {
            (State::Interrupted, Some((Level::Info, error.to_string())))
        }
        Err(error) if error.is_cut_off() => {
            (State::Interrupted, Some((Level::Error, error.to_string())))
        }
        Err(error) => (State::Failed, Some((Level::Error, error.to_string()))),
    };
    if let Some((level, text)) = note {
        // The first error is the one to report; a store that has failed cannot store this state
        // either.
        if let Err(second) = journal.event(level, &text) {
            observer.notice(&format!("the end of the run could not be noted: {second}"));
        }
    }
    let finished = store.finish(lock, state, &(settings.wall_clock)());
    result?;
    Ok(finished?)
}

fn raise_and_measure<S: MeasuredStudy>(
    journal: Journal<'_>,
    study: &mut S,
    settings: &RunSettings,
    testbed: &Testbed,
    observer: &mut dyn Observer,
) -> Result<(), ControllerError> {
    observer.phase(Phase::Raise(testbed.all().map(|one| one.drawing.stations.len()).sum()));
    let own = OwnEnvironment::begin(journal)?;
    let began = Instant::now();
    let placement = testbed.processors.placement();
    let held = testbed.processors.hold_the_rest()?;
    let rising = testbed
        .all()
        .zip(0..)
        .map(|(one, place)| RaisingNetwork::begin(request(settings, one, place, study.seed())));
    let testbeds = rising
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(RaisingNetwork::finish)
        .collect::<Result<Vec<_>, _>>()?;
    let result =
        measure(journal, study, settings, (&testbeds, testbed, placement), began, observer);
    observer.phase(Phase::Lower);
    let lowered = testbeds.into_iter().try_for_each(RaisedNetwork::lower);
    drop(held);
    if result.is_ok() {
        lowered?;
        own.end()?;
    }
    result
}

/// This machine before a run, which is compared with the machine afterwards.
struct OwnEnvironment<'a> {
    journal: Journal<'a>,
    before: Environment,
}

impl<'a> OwnEnvironment<'a> {
    /// Stores what the machine is like.
    fn begin(journal: Journal<'a>) -> Result<Self, ControllerError> {
        let before = environment::collect_and_watch();
        journal.store.save_environment(journal.lock, Moment::Before, &document(&before)?)?;
        Ok(Self { journal, before })
    }

    /// Stores what it is like now, and notes the differences.
    fn end(self) -> Result<(), ControllerError> {
        let Self { journal, before } = self;
        let after = environment::collect_and_watch();
        journal.store.save_environment(journal.lock, Moment::After, &document(&after)?)?;
        for difference in environment::differences(&before, &after) {
            journal.event(Level::Warning, &difference)?;
        }
        Ok(())
    }
}

/// An agent in every station that takes part, and an input before every one with impairable
/// packets.
fn request(settings: &RunSettings, testbed: &Testbed, place: usize, seed: u64) -> NetworkRequest {
    let divided = testbed.processors.divided.clone().into_iter();
    let ending = if place == 0 { String::new() } else { format!("-{place}") };
    let mut runtime_directory = settings.runtime.clone().into_os_string();
    runtime_directory.push(&ending);
    NetworkRequest {
        name: format!("{}-{}{ending}", testbed.name, std::process::id()),
        drawing: testbed.drawing.clone(),
        runtime_directory: runtime_directory.into(),
        seed,
        executable: settings.executable.clone(),
        capture: None,
        source: testbed.source.clone(),
        since: (settings.wall_clock)(),
        agents: testbed.hosts.iter().map(|&(_, station)| station).collect(),
        inputs: testbed.inputs.clone(),
        congestion_control: testbed.congestion_control.clone(),
        ipv6: testbed.ipv6,
        protocol_work: testbed.processors.protocol_work,
        processors: divided
            .map(|(test, division)| (test, division.test().numbers().to_vec()))
            .collect(),
    }
}

fn measure<S: MeasuredStudy>(
    journal: Journal<'_>,
    study: &mut S,
    settings: &RunSettings,
    (testbeds, testbed, placement): (&[RaisedNetwork], &Testbed, Placement),
    began: Instant,
    observer: &mut dyn Observer,
) -> Result<(), ControllerError> {
    let runtime = hosts::runtime()?;
    runtime.block_on(async {
        let mut monitor = RunMonitor::set(testbeds)?;
        let mut stages = Vec::new();
        for (raised, testbed) in testbeds.iter().zip(testbed.all()) {
            let names = testbed.hosts.iter().map(|(name, _)| name.clone());
            let opening = Stage::open(raised, names, &settings.executable);
            stages.push(monitor.guard(opening).await?);
        }
        let mut stage = Stage::over(stages)?;
        stage.placement = placement;
        session::measure(journal, study, &mut stage, &mut monitor, began, observer).await
    })
}

fn measure_on_hosts<S: MeasuredStudy>(
    journal: Journal<'_>,
    study: &mut S,
    host_set: HostSet,
    observer: &mut dyn Observer,
) -> Result<(), ControllerError> {
    let began = Instant::now();
    let HostSet { mut stage, runtime, here, processors } = host_set;
    let own = here.as_ref().map(|_| OwnEnvironment::begin(journal)).transpose()?;
    stage.placement = processors.placement();
    runtime.block_on(async {
        let mut monitor = RunMonitor::set(&[])?;
        let result =
            hosts::measured(journal, study, &mut stage, &mut monitor, began, observer).await;
        observer.phase(Phase::Lower);
        stage.release().await;
        result
    })?;
    own.map_or(Ok(()), OwnEnvironment::end)
}

fn document<T: serde::Serialize>(value: &T) -> Result<serde_json::Value, ControllerError> {
    json::to_value(value).map_err(ControllerError::Document)
}
