//! The keeper (`btu internal keep`): holds a network up when the command that raised it has ended.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use nix::unistd::{chdir, dup2_stdout, setsid};
use serde::{Deserialize, Serialize};

use super::attend::Signals;
use super::drawn::{NetworkRequest, Rising};
use super::error::TestbedError;
use super::words::{hear, tell};

/// The keeper's order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeepOrder {
    pub(super) request: NetworkRequest,
    /// Where its standard error goes: removed when the network was taken down in good order.
    pub(super) log: PathBuf,
}

/// The keeper's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeepAnswer {
    /// It stands.
    Up,
    /// It cannot.
    Refused(TestbedError),
}

/// What `btu internal keep` does. Takes no arguments: its order is the first line of standard input, its answer one line on
/// standard output. Then it stays until somebody takes the network down (`btu net down`, or SIGTERM), or it falls.
///
/// Must be called before the process has any thread but the first.
pub fn keep() -> ExitCode {
    match live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever asked may be gone; the log has it as well.
            eprintln!("btu: {error}");
            drop(tell(io::stdout(), &KeepAnswer::Refused(error)));
            ExitCode::FAILURE
        }
    }
}

fn live() -> Result<(), TestbedError> {
    // Neither the terminal nor the directory of whoever asked is held on to.
    setsid().ok();
    chdir("/").ok();
    let failed = |error: io::Error| TestbedError::process("keep the network", &error);
    let signals = Signals::take().map_err(failed)?;
    let KeepOrder { request, log }: KeepOrder =
        hear(io::stdin().lock()).map_err(|error| TestbedError::protocol("read the order", error))?;
    let rising = Rising::begin(request)?;
    let lifeline = rising.lifeline();
    let obey = move || signals.await_request().map(|_| lifeline.cut());
    thread::Builder::new().name("signals".to_owned()).spawn(obey).map_err(failed)?;
    let house = rising.finish()?;
    answer()?;
    house.await_end();
    match house.fallen() {
        Some(event) => eprintln!("btu: {event}, so the network was taken down"),
        // It is of no use any more.
        None => drop(fs::remove_file(log)),
    }
    Ok(())
}

/// Whoever asked must not wait for the end of standard output, which may be a pipe of theirs.
fn answer() -> Result<(), TestbedError> {
    let told = tell(io::stdout(), &KeepAnswer::Up);
    let let_go = told.and_then(|()| Ok(dup2_stdout(File::options().write(true).open("/dev/null")?)?));
    let_go.map_err(|error| TestbedError::protocol("answer", error))
}
