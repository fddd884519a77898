//! The coordinator: raises the testbed or takes hosts, measures what the plan asks for, stores each cell, and takes
//! everything down.

mod alarm;
mod calibrate;
mod cell;
mod check;
mod client;
mod error;
mod ftp;
mod hosts;
mod losses;
mod secret;
mod session;
mod stage;

use std::path::PathBuf;
use std::time::Instant;

use btu_store::{Level, Moment, RunLock, State, Store};
use btu_suite::network::Topology;
use btu_suite::plan::Plan;
use btu_suite::schedule::Slot;
use btu_testbed::house::{NetworkHouse, NetworkRequest, Rising};

pub(crate) use hosts::fuzz_ssh_words;
pub(crate) use session::Calibration;

pub use check::{CheckItem, NetworkCheck};
pub use error::{CoordinatorError, Interrupt, with_reasons};
pub use ftp::{ExternalFtp, FtpAddressError};
pub use hosts::{Access, HostCall, Keys, Party, PreparedWorker, Program, Stop, Survey, WorkerHost, crowd, roll_call};

use crate::environment;
use alarm::Alarm;
use stage::Stage;

/// What a run needs beyond its plan.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What to measure.
    pub plan: Plan,
    /// An existing directory on the disk that the host activities use; a directory of the run's own is made in it.
    pub scratch: PathBuf,
    /// A private directory for sockets; it lives as long as the run.
    pub runtime: PathBuf,
    /// This program.
    pub executable: PathBuf,
    /// The external FTP server, when one was asked for.
    pub ftp: Option<ExternalFtp>,
    /// Wall time as RFC 3339, for the record only.
    pub wall_clock: fn() -> String,
}

/// What a run is measured on.
pub enum Ground {
    /// A network that is raised for it.
    Testbed(Box<Topology>),
    /// Hosts that were gathered.
    Hosts(Box<Party>),
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Making namespaces, interfaces, agents and the wire.
    Raise,
    /// Reserving hosts.
    Reserve,
    /// Comparing the network with what was asked for.
    Check,
    /// Finding how much work makes a baseline last as long as wanted: (done, of).
    Calibrate(usize, usize),
    /// Measuring cells.
    Measure,
    /// Taking everything down.
    Lower,
}

/// How far the measuring is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The cell that is about to be measured.
    pub slot: Slot,
    /// Cells stored so far.
    pub done: usize,
    /// Cells expected in all: exact for the least blocks, then as far as can be seen.
    pub expected: usize,
    /// Seconds left, as far as can be told.
    pub seconds_left: f64,
}

/// Follows a run.
pub trait Observer {
    /// A new phase, or a step within one.
    fn phase(&mut self, phase: Phase);
    /// A cell begins.
    fn progress(&mut self, progress: &Progress);
    /// Something to tell the user at once.
    fn notice(&mut self, text: &str);
}

/// Measures the run that `lock` holds, from the first cell that is not stored.
///
/// # Errors
/// Whatever ends the run early; its state in the store is then `interrupted` or `failed`, and every stored cell stays.
pub fn run(
    store: &Store,
    lock: &RunLock,
    settings: &Settings,
    ground: Ground,
    observer: &mut dyn Observer,
) -> Result<(), CoordinatorError> {
    let result = match ground {
        Ground::Testbed(topology) => raise_and_measure(store, lock, settings, &topology, observer),
        Ground::Hosts(party) => measure_on_hosts(store, lock, settings, *party, observer),
    };
    let (state, note) = match &result {
        Ok(()) => (State::Complete, None),
        Err(error @ CoordinatorError::Interrupted(_)) => (State::Interrupted, Some((Level::Info, error.to_string()))),
        Err(error) => (State::Failed, Some((Level::Error, error.to_string()))),
    };
    let now = (settings.wall_clock)();
    if let Some((level, text)) = note {
        // The first error is the one to report; a store that has failed cannot take this note either.
        if let Err(second) = store.save_event(lock, &now, level, &text) {
            observer.notice(&format!("the end of the run could not be noted: {second}"));
        }
    }
    let finished = store.finish(lock, state, &now);
    result?;
    Ok(finished?)
}

fn raise_and_measure(
    store: &Store,
    lock: &RunLock,
    settings: &Settings,
    topology: &Topology,
    observer: &mut dyn Observer,
) -> Result<(), CoordinatorError> {
    observer.phase(Phase::Raise);
    let before = environment::collect();
    store.save_environment(lock, Moment::Before, &document(&before)?)?;
    let began = Instant::now();
    let house = Rising::begin(request(settings, topology))?.finish()?;
    let result = measure(store, lock, settings, (&house, topology), began, observer);
    observer.phase(Phase::Lower);
    let lowered = house.lower();
    let after = environment::collect();
    if result.is_ok() {
        lowered?;
        store.save_environment(lock, Moment::After, &document(&after)?)?;
        for difference in environment::differences(&before, &after) {
            store.save_event(lock, &(settings.wall_clock)(), Level::Warning, &difference)?;
        }
    }
    result
}

/// An agent in every station that plays a role, and an input before every black box.
fn request(settings: &Settings, topology: &Topology) -> NetworkRequest {
    NetworkRequest {
        name: format!("rate-{}", std::process::id()),
        drawing: topology.drawing.clone(),
        runtime_directory: settings.runtime.clone(),
        seed: settings.plan.seed,
        executable: settings.executable.clone(),
        capture: None,
        source: settings.plan.network.to_string(),
        since: (settings.wall_clock)(),
        agents: topology.roles.iter().map(|&(_, station)| station).collect(),
        inputs: topology.black_boxes().collect(),
    }
}

fn measure(
    store: &Store,
    lock: &RunLock,
    settings: &Settings,
    (house, topology): (&NetworkHouse, &Topology),
    began: Instant,
    observer: &mut dyn Observer,
) -> Result<(), CoordinatorError> {
    let runtime = hosts::runtime()?;
    runtime.block_on(async {
        let mut alarm = Alarm::set(Some(house))?;
        let roles = topology.roles.iter().map(|&(role, _)| role.into());
        let hosts: Vec<_> = roles.zip(house.stations()).collect();
        let mut stage = alarm.guard(Stage::open(&hosts, &house.wire_socket())).await?;
        session::measure(store, lock, settings, &mut stage, &mut alarm, began, observer).await
    })
}

fn measure_on_hosts(
    store: &Store,
    lock: &RunLock,
    settings: &Settings,
    party: Party,
    observer: &mut dyn Observer,
) -> Result<(), CoordinatorError> {
    let began = Instant::now();
    let Party { mut stage, runtime } = party;
    runtime.block_on(async {
        let mut alarm = Alarm::set(None)?;
        let notes = hosts::Notes { store, lock, wall_clock: settings.wall_clock };
        let result = hosts::measured(&mut stage, &mut alarm, &notes, settings, began, observer).await;
        observer.phase(Phase::Lower);
        stage.release().await;
        result
    })
}

fn document<T: serde::Serialize>(value: &T) -> Result<serde_json::Value, CoordinatorError> {
    serde_json::to_value(value).map_err(CoordinatorError::Document)
}
