//! the holder (`btu internal keep`): holds a network up when the command that raised it has ended.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use nix::unistd::{chdir, dup2_stdout, setsid};
use serde::{Deserialize, Serialize};

use super::error::TestbedError;
use super::foreground::Signals;
use super::messages::{receive, send};
use super::raised::{NetworkRequest, RaisingNetwork};
use crate::note;

/// The order to the process that holds a network.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeepOrder {
    pub(super) request: NetworkRequest,
    /// The file of its standard error: removed when the network was taken down regularly.
    pub(super) log: PathBuf,
}

/// The answer of the process that holds a network.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeepAnswer {
    /// The network is up.
    Up,
    /// The network cannot be raised.
    Refused(TestbedError),
}

/// The work of `btu internal keep`. It takes no arguments: its order is the first line of standard
/// input, its answer one line on standard output. Then it stays until a user takes the network down
/// (`btu net down`, or SIGTERM), or until the network ends by itself.
///
/// Call it before the process has a second thread.
pub fn keep() -> ExitCode {
    match live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The caller may be gone; the log has the message as well.
            note!("btu: {error}");
            drop(send(io::stdout(), &KeepAnswer::Refused(error)));
            ExitCode::FAILURE
        }
    }
}

fn live() -> Result<(), TestbedError> {
    // This process keeps neither the terminal nor the directory of the process that started it.
    let _ = setsid();
    let _ = chdir("/");
    let failed = |error: io::Error| TestbedError::process("keep the network", &error);
    let signals = Signals::take().map_err(failed)?;
    let KeepOrder { request, log }: KeepOrder = receive(io::stdin().lock())
        .map_err(|error| TestbedError::protocol("read the order", error))?;
    let raising = RaisingNetwork::begin(request)?;
    let keep_alive = raising.keep_alive();
    let obey = move || signals.await_request().map(|_| keep_alive.cut());
    thread::Builder::new().name("signals".to_owned()).spawn(obey).map_err(failed)?;
    let testbed = raising.finish()?;
    answer()?;
    testbed.await_end();
    match testbed.fallen() {
        Some(event) => note!("btu: {event}, so the network was taken down"),
        // The file is of no use any more.
        None => drop(fs::remove_file(log)),
    }
    Ok(())
}

/// The process that asked must not wait for the end of standard output, which may be a pipe to it.
fn answer() -> Result<(), TestbedError> {
    let sent = send(io::stdout(), &KeepAnswer::Up);
    let let_go =
        sent.and_then(|()| Ok(dup2_stdout(File::options().write(true).open("/dev/null")?)?));
    let_go.map_err(|error| TestbedError::protocol("answer", error))
}
