//! `btu net exec`: runs a command in a station of a network that is up.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use btu_testbed::testbed::{self, Registry, Signals};

use crate::cli::Exec;

/// Runs the command there, and ends with its status.
pub(crate) fn exec(exec: &Exec) -> anyhow::Result<ExitCode> {
    let network = Registry::of_user()?.find(exec.name.as_deref())?;
    if exec.command.is_empty() {
        return enter(&network.directory, &exec.station, &[shell()]);
    }
    enter(&network.directory, &exec.station, &exec.command)
}

/// Enters the network with this runtime directory.
pub(crate) fn enter(
    directory: &Path,
    station: &str,
    command: &[OsString],
) -> anyhow::Result<ExitCode> {
    let signals = Signals::take().context("waiting for signals")?;
    let ending = testbed::enter(directory, station, command, &signals)?;
    Ok(signals.end_like(ending))
}

fn shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "sh".into())
}
