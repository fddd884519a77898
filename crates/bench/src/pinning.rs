//! Child processes with a time limit. They end together with this process, and their CPU time is
//! measured.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;

/// The time limit of a child.
const LONGEST_SECONDS: &str = "120";

/// The place where one end of a path is started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathEnd {
    /// The network namespace of this process, or the own one.
    pub(crate) namespace: Option<u32>,
    /// The processor to which it is pinned.
    pub(crate) processor: Option<u32>,
}

/// A command in the network namespace of process `namespace` or in this process's own, on any
/// processor.
pub(crate) fn command(namespace: Option<u32>, program: &str) -> Command {
    command_at(PathEnd { namespace, processor: None }, program)
}

/// A command that is killed after two minutes or when this process ends.
pub(crate) fn command_at(end: PathEnd, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "timeout", "--kill-after=1", LONGEST_SECONDS]);
    command.args(["setpriv", "--pdeathsig", "KILL"]);
    if let Some(processor) = end.processor {
        command.args(["taskset", "--cpu-list", &processor.to_string()]);
    }
    if let Some(pid) = end.namespace {
        command.args(["nsenter", "--net", &format!("--target={pid}")]);
    }
    command.arg(program).stdin(Stdio::null());
    command
}

/// Runs a command to its end; it must succeed.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    said(command, &output)
}

/// The output of a command that has ended; an error with its messages when it failed.
pub(crate) fn said(command: &Command, output: &Output) -> Result<String> {
    let (out, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{command:?} ended with {}: {out}{complaints}", output.status);
    Ok(out.into_owned())
}

/// Runs a command that may not be installed; returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// CPU seconds, user and system, of all children that this process has waited for, and of those
/// that the children have waited for.
pub(crate) fn children_cpu_seconds() -> Result<f64> {
    let usage: Usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Asks a server to end and waits until it has.
pub(crate) fn end(mut server: Child) -> Result<()> {
    kill(Pid::from_raw(server.id().try_into()?), Signal::SIGTERM).context("end a server")?;
    let status = server.wait().context("wait for a server")?;
    // `timeout` passes the signal on and reports it by status 124, by the shell's 143, or by ending
    // by the signal as well.
    if status.success()
        || matches!(status.code(), Some(124 | 143))
        || status.signal() == Some(Signal::SIGTERM as i32)
    {
        return Ok(());
    }
    bail!("a server ended with {status} before it was told to")
}
