//! The processes that btu starts from its own program.

use std::process::ExitCode;

use btu_control::agent::{self, AgentSettings};
use btu_control::controller;
use btu_control::worker;
use btu_testbed::{note, virtual_time};
use nix::sys::prctl;

use crate::cli::Internal;
use crate::commands::model_check;
use crate::exit;
use crate::net::exec;

/// Runs one of the processes.
pub(crate) fn run(part: Internal) -> ExitCode {
    // Lists of processes show the last part of `/proc/self/exe` otherwise.
    if let Err(error) = prctl::set_name(c"btu") {
        note!("btu: this process has no name in lists of processes: {error}");
    }
    match part {
        Internal::Worker => worker::run(),
        Internal::Agent { station, socket } => end(run_agent(station, socket)),
        Internal::Launcher { command } => end(Err(controller::become_launcher(&command).into())),
        Internal::Keep => btu_testbed::testbed::keep(),
        Internal::Enter { directory, station, command } => {
            exit::code_of(exec::enter(&directory, &station, &command))
        }
        Internal::Offer { directory, order, number } => {
            end(model_check::offer(&directory, &order, number))
        }
        Internal::Virtual { directory } => virtual_time::init(&directory),
        Internal::Testbed => btu_testbed::testbed::outer(),
        Internal::Init => btu_testbed::testbed::init(),
        Internal::Programs { directory } => btu_testbed::testbed::programs(&directory),
        Internal::Supervisor { directory } => btu_testbed::testbed::supervisor(&directory),
        Internal::Wire { socket } => btu_testbed::testbed::wire(&socket),
    }
}

fn run_agent(station: String, socket: std::path::PathBuf) -> anyhow::Result<()> {
    let executable = std::env::current_exe()?;
    Ok(agent::run(AgentSettings { station, socket, executable })?)
}

fn end(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("btu: {error:#}");
            ExitCode::FAILURE
        }
    }
}
