//! The processes that live in a testbed: an agent in every station, the wire between them.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use btu_network::StationId;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::error::{Cause, TestbedError};
use super::layout::TestbedNamespace;
use super::messages::{Ending, ProcessExit, TestbedProcess, TestbedSpec};
use super::namespaces::Namespaces;
use super::runtime::RuntimeDirectory;
use super::wiring;
use crate::processors::PinnedThread;

/// Interval of checks whether a process listens.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Interval of checks whether a testbed without processes has inherited an orphan.
const REAP_INTERVAL: Duration = Duration::from_secs(1);

/// One process, and the socket on which it must listen.
struct Entry {
    pid: Pid,
    who: TestbedProcess,
    socket: PathBuf,
}

/// The processes of a testbed, started by process 1 and by no other process.
#[derive(Default)]
pub(super) struct TestbedProcesses(Vec<Entry>);

impl TestbedProcesses {
    /// Starts the wire, if there is one, and the agents, each in its station's namespace.
    pub(super) fn spawn(namespaces: &Namespaces, spec: &TestbedSpec) -> Result<Self, TestbedError> {
        let mut processes = Self::default();
        if spec.design.has_wire() {
            processes.start_wire(namespaces, spec)?;
        }
        processes.start_agents(namespaces, spec)?;
        Ok(processes)
    }

    fn start_wire(
        &mut self,
        namespaces: &Namespaces,
        spec: &TestbedSpec,
    ) -> Result<(), TestbedError> {
        let plan = wiring::write_plan(spec)?;
        let socket = RuntimeDirectory::socket(&spec.runtime_directory, "wire");
        let mut wire = own(&["wire"]);
        wire.arg("--socket").arg(&socket).stdin(plan);
        self.start(namespaces, TestbedNamespace::Wire, TestbedProcess::Wire, socket, wire)
    }

    fn start_agents(
        &mut self,
        namespaces: &Namespaces,
        spec: &TestbedSpec,
    ) -> Result<(), TestbedError> {
        for &station in &spec.design.agents {
            let name = spec.design.drawing.station(station).name.clone();
            let socket = agent_socket(&spec.runtime_directory, station);
            let mut agent = own(&["agent", "--station", &name]);
            agent.arg("--socket").arg(&socket).stdin(Stdio::null());
            let own = spec.design.processors.iter().find(|(of, _)| *of == station);
            let held = own.map(|(_, processors)| PinnedThread::on(processors)).transpose();
            let _held = held.map_err(|error| {
                TestbedError::process(
                    format!("hold the agent on {name} on processors of its own"),
                    &error,
                )
            })?;
            self.start(
                namespaces,
                TestbedNamespace::Station(station.0 as usize),
                TestbedProcess::Agent(name),
                socket,
                agent,
            )?;
        }
        Ok(())
    }

    /// A process belongs to the namespace of the thread that starts it.
    fn start(
        &mut self,
        namespaces: &Namespaces,
        place: TestbedNamespace,
        who: TestbedProcess,
        socket: PathBuf,
        mut command: Command,
    ) -> Result<(), TestbedError> {
        // Standard output is process 1's channel to the controller: no other process may write
        // there.
        let spawned = io::stderr().as_fd().try_clone_to_owned().and_then(|errors| {
            command.stdout(errors);
            namespaces.at(place).enter(|| command.spawn())?
        });
        let child =
            spawned.map_err(|error| TestbedError::process(format!("start {who}"), &error))?;
        // Process 1 reaps every process by itself, so the handle is dropped.
        self.0.push(Entry { pid: Pid::from_raw(child.id().cast_signed()), who, socket });
        Ok(())
    }

    /// Waits until all processes accept connections.
    pub(super) fn await_listening(&self, deadline: Instant) -> Result<(), TestbedError> {
        for entry in &self.0 {
            while UnixStream::connect(&entry.socket).is_err() {
                self.check_alive()?;
                if Instant::now() >= deadline {
                    return Err(process_error(&entry.who, &"it does not listen on its socket"));
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(())
    }

    /// An error if one of the processes has ended.
    pub(super) fn check_alive(&self) -> Result<(), TestbedError> {
        match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG))
            .ok()
            .and_then(|status| self.recognise(status))
        {
            Some(event) => Err(process_error(&event.who, &event.how)),
            None => Ok(()),
        }
    }

    /// Reaps every process that ends, until none is left; reports the processes of the testbed. A
    /// testbed without processes exists until it is taken down.
    pub(super) fn reap(
        &self,
        mut send: impl FnMut(ProcessExit) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            match waitpid(None::<Pid>, None) {
                Ok(status) => self.recognise(status).map_or(Ok(()), &mut send)?,
                Err(nix::Error::EINTR) => (),
                Err(nix::Error::ECHILD) if self.0.is_empty() => thread::sleep(REAP_INTERVAL),
                Err(nix::Error::ECHILD) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The event of a process's end; `None` for an orphan that process 1 inherits.
    fn recognise(&self, status: WaitStatus) -> Option<ProcessExit> {
        let (pid, how) = match status {
            WaitStatus::Exited(pid, code) => (pid, Ending::Exited(code)),
            WaitStatus::Signaled(pid, signal, _) => (pid, Ending::Killed(signal as i32)),
            _ => return None,
        };
        self.0
            .iter()
            .find(|entry| entry.pid == pid)
            .map(|entry| ProcessExit { who: entry.who.clone(), how })
    }
}

/// The socket of a station's agent, named by its number: a station's name can be too long for the
/// path of a socket.
pub(super) fn agent_socket(runtime: &Path, station: StationId) -> PathBuf {
    RuntimeDirectory::socket(runtime, &format!("agent-{}", station.0))
}

fn process_error(who: &TestbedProcess, reason: &dyn std::fmt::Display) -> TestbedError {
    let remedy = "see its messages on standard error";
    TestbedError::new(Cause::Process, format!("wait for {who}"), reason, remedy)
}

/// The running program, even if its file was replaced or removed since it started.
const SELF: &str = "/proc/self/exe";

/// The command that starts this program again as `internal <role...>`, under the name with which it
/// was started.
pub(super) fn own(role: &[&str]) -> Command {
    let name = std::env::args_os().next().unwrap_or_else(|| OsString::from("btu"));
    let mut command = Command::new(SELF);
    command.arg0(name).arg("internal").args(role);
    command
}
