//! `btu net run`: a network for the time of one command.

use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::thread;

use anyhow::Context;
use btu_testbed::house::{self, NetworkHouse, NetworkRequest, Registry, Rising, Signals};
use nix::sys::signal::Signal;

use crate::cli::Run;
use crate::exit::Refusal;
use crate::{files, net, net_books};

/// Raises the network, runs the command in it, and takes it down.
pub(crate) fn run(run: &Run) -> anyhow::Result<ExitCode> {
    let registry = Registry::of_user()?;
    let request = net::request(&registry, &run.raising, |drawn| format!("{drawn}-{}", std::process::id()))?;
    let station = station(&request, run.at.as_deref())?;
    // Before any thread is started, so that no signal ends this process before the network is down.
    let signals = Signals::take().context("waiting for signals")?;
    let house = match raise(request, &signals)? {
        Ok(house) => house,
        Err(interrupted) => return Ok(ExitCode::from(128 + interrupted as u8)),
    };
    let command = enter(house.directory(), &station, run, &signals).context("starting this program again")?;
    let ending = signals.attend(&command).context("waiting for the command")?;
    let account = house::account(house.directory());
    let fallen = house.fallen();
    house.lower()?;
    if let Some(event) = fallen {
        anyhow::bail!("{event} under way, so the network fell and the command with it");
    }
    // Without its books, nobody can tell whether what was measured may be believed.
    let account = account?;
    net_books::warn(&account);
    if !run.quiet {
        eprint!("{}", net_books::text(&account));
    }
    Ok(signals.end_like(ending))
}

/// Where the command runs.
fn station(request: &NetworkRequest, wanted: Option<&str>) -> Result<String, Refusal> {
    let mut stations = request.drawing.stations.iter().map(|station| &station.name);
    let found = match wanted {
        Some(wanted) => stations.find(|name| *name == wanted),
        None => stations.next(),
    };
    found.cloned().ok_or_else(|| Refusal::Usage(files::no_such_station(wanted.unwrap_or_default(), &request.source)))
}

/// The network, or the signal that came while it was raised.
fn raise(request: NetworkRequest, signals: &Signals) -> anyhow::Result<Result<NetworkHouse, Signal>> {
    let rising = Rising::begin(request)?;
    let lifeline = rising.lifeline();
    let work = thread::Builder::new().name("raise".to_owned()).spawn(move || rising.finish())?;
    let interrupted = signals.await_request_while(|| !work.is_finished())?;
    if interrupted.is_some() {
        lifeline.cut();
    }
    let raised = work.join().map_err(|_| anyhow::anyhow!("the thread that raised the network panicked"))?;
    match interrupted {
        // Whatever came of it goes down with it.
        Some(signal) => Ok(Err(signal)),
        None => Ok(Ok(raised?)),
    }
}

/// A process of its own goes in: this one has threads, and stays outside to look after the network.
fn enter(directory: &Path, station: &str, run: &Run, signals: &Signals) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["internal", "enter"]).arg(directory).arg(station).arg("--").args(&run.command);
    signals.start(&mut command)
}
