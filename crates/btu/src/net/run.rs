//! `btu net run`: raises a network for the time of one command.

mod exercise;
mod looking;

use std::io::{IsTerminal, Read, Write, stderr, stdout};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use anyhow::Context;
use btu_testbed::note;
use btu_testbed::testbed::{
    self, Ending, NetworkRequest, RaisedNetwork, RaisingNetwork, Registry, Signals,
};
use nix::sys::signal::Signal;

use crate::cli::Run;
use crate::exit::Refusal;
use crate::net::accounts;
use crate::start::virtual_time;
use crate::terminal::fitted_to_errors;
use crate::{files, net};
use exercise::Exercise;
use looking::Looking;

/// Raises the network, runs the command in it, and takes it down.
pub(crate) fn run(run: &Run) -> anyhow::Result<ExitCode> {
    refuse(run)?;
    if run.in_virtual_time {
        return virtual_time::command(run.raising.seed);
    }
    let registry = Registry::of_user()?;
    let mut request =
        net::request(&registry, &run.raising, |drawn| format!("{drawn}-{}", std::process::id()))?;
    let station = station(&request, run.at.as_deref())?;
    let exercise = run.command.is_empty().then(|| Exercise::of(&request.drawing, run.time));
    let exercise = exercise.transpose()?;
    if let Some(exercise) = &exercise {
        request.agents.clone_from(&exercise.stations);
    }
    let title = format!("Network {} in use", request.drawing.name);
    // Before any thread is started, so that no signal ends this process before the network is down.
    let signals = Signals::take().context("waiting for signals")?;
    let raised = match raise(request, &signals)? {
        Ok(raised) => raised,
        Err(interrupted) => return Ok(ExitCode::from(128 + interrupted as u8)),
    };
    let is_looked_at = run.watch || run.svg.is_some();
    let looking =
        is_looked_at.then(|| Looking::start(raised.directory(), run.watch)).transpose()?;
    let (ending, failures) = match (&exercise, &looking) {
        (Some(exercise), Some(looking)) => exercise.play(&raised, &signals, looking.notebook())?,
        _ => (commanded(raised.directory(), &station, run, &signals)?, Vec::new()),
    };
    let picture = looking.map(|looking| looking.end(&title));
    let account = testbed::account(raised.directory());
    let fallen = raised.fallen();
    raised.lower()?;
    if let Some(picture) = picture {
        files::save_picture(run.svg.as_deref(), || Ok(picture))?;
    }
    if let Some(event) = fallen {
        anyhow::bail!("{event} under way, so the network stopped and the command with it");
    }
    // Without the accounts of the network, the user cannot tell whether the measured numbers can be
    // trusted.
    let account = account?;
    accounts::warn(&account, failures);
    if !run.quiet {
        note!("{}", fitted_to_errors(accounts::text(&account).trim_end().to_owned()));
    }
    Ok(signals.end_like(ending))
}

/// Refuses outputs on which it cannot draw.
fn refuse(run: &Run) -> Result<(), Refusal> {
    if run.watch && !stderr().is_terminal() {
        let problem = "--watch draws on a terminal, and standard error is none: --svg FILE draws the same to a file";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    Ok(())
}

/// Runs the command; its output follows the picture if both are on one terminal.
fn commanded(
    directory: &Path,
    station: &str,
    run: &Run,
    signals: &Signals,
) -> anyhow::Result<Ending> {
    let mut command =
        enter(directory, station, run, signals).context("starting this program again")?;
    let said = command.stdout.take().map(|mut said| {
        thread::spawn(move || {
            let mut octets = Vec::new();
            // The output before the abort is shown.
            let _ = said.read_to_end(&mut octets);
            octets
        })
    });
    let ending = signals.attend(&command).context("waiting for the command")?;
    if let Some(said) = said {
        let octets = said.join().unwrap_or_default();
        stdout().lock().write_all(&octets).context("printing what the command said")?;
    }
    Ok(ending)
}

/// The station of the command.
fn station(request: &NetworkRequest, wanted: Option<&str>) -> Result<String, Refusal> {
    let mut stations = request.drawing.stations.iter().map(|station| &station.name);
    let found = match wanted {
        Some(wanted) => stations.find(|name| *name == wanted),
        None => stations.next(),
    };
    found.cloned().ok_or_else(|| {
        Refusal::Usage(files::no_such_station(wanted.unwrap_or_default(), &request.source))
    })
}

/// The network, or the signal that came while it was raised.
fn raise(
    request: NetworkRequest,
    signals: &Signals,
) -> anyhow::Result<Result<RaisedNetwork, Signal>> {
    let rising = RaisingNetwork::begin(request)?;
    let keep_alive = rising.keep_alive();
    let work = thread::Builder::new().name("start".to_owned()).spawn(move || rising.finish())?;
    let interrupted = signals.await_request_while(|| !work.is_finished())?;
    if interrupted.is_some() {
        keep_alive.cut();
    }
    let raised =
        work.join().map_err(|_| anyhow::anyhow!("the thread that started the network panicked"))?;
    match interrupted {
        // The network goes down with it in any case.
        Some(signal) => Ok(Err(signal)),
        None => Ok(Ok(raised?)),
    }
}

/// A process of its own goes in: this one has threads, and stays outside to manage the network.
fn enter(directory: &Path, station: &str, run: &Run, signals: &Signals) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["internal", "enter"]).arg(directory).arg(station).arg("--").args(&run.command);
    if run.watch {
        command.stdout(Stdio::piped());
    }
    signals.start(&mut command)
}
