//! The processes that live in a house: an agent in every station, the wire between them.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::error::{Cause, TestbedError};
use super::furnish::Rooms;
use super::layout::Place;
use super::process::own;
use super::runtime::RuntimeDirectory;
use super::wiring;
use super::words::{Blueprint, Ending, HouseEvent, Resident};
use crate::processors::Held;

/// Time between two looks whether somebody listens.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Time between two looks whether a house without residents has inherited an orphan.
const REAP_EVERY: Duration = Duration::from_secs(1);

/// One process, and the socket it is to listen on.
struct Entry {
    pid: Pid,
    who: Resident,
    socket: PathBuf,
}

/// The processes of a house, started by process 1 and by nobody else.
#[derive(Default)]
pub(super) struct Residents(Vec<Entry>);

impl Residents {
    /// Starts the wire, if there is one, and the agents, each in its station's namespace.
    pub(super) fn move_in(rooms: &Rooms, blueprint: &Blueprint) -> Result<Self, TestbedError> {
        let mut residents = Self::default();
        if blueprint.design.has_wire() {
            residents.start_wire(rooms, blueprint)?;
        }
        residents.start_agents(rooms, blueprint)?;
        Ok(residents)
    }

    fn start_wire(&mut self, rooms: &Rooms, blueprint: &Blueprint) -> Result<(), TestbedError> {
        let plan = wiring::write_plan(blueprint)?;
        let socket = RuntimeDirectory::socket(&blueprint.runtime_directory, "wire");
        let mut wire = own(&["wire"]);
        wire.arg("--socket").arg(&socket).stdin(plan);
        self.start(rooms, Place::Wire, Resident::Wire, socket, wire)
    }

    fn start_agents(&mut self, rooms: &Rooms, blueprint: &Blueprint) -> Result<(), TestbedError> {
        for &station in &blueprint.design.agents {
            let name = blueprint.design.drawing.station(station).name.clone();
            let socket = agent_socket(&blueprint.runtime_directory, &name);
            let mut agent = own(&["agent", "--station", &name]);
            agent.arg("--socket").arg(&socket).stdin(Stdio::null());
            let own = blueprint.design.processors.iter().find(|(of, _)| *of == station);
            let held = own.map(|(_, processors)| Held::on(processors)).transpose();
            let _held = held.map_err(|error| {
                TestbedError::process(format!("hold the agent on {name} on processors of its own"), &error)
            })?;
            self.start(rooms, Place::Station(station.0 as usize), Resident::Agent(name), socket, agent)?;
        }
        Ok(())
    }

    /// A process belongs to the namespace of the thread that starts it.
    fn start(
        &mut self,
        rooms: &Rooms,
        place: Place,
        who: Resident,
        socket: PathBuf,
        mut command: Command,
    ) -> Result<(), TestbedError> {
        // Standard output is process 1's way to the coordinator: nobody else may write there.
        let spawned = io::stderr().as_fd().try_clone_to_owned().and_then(|errors| {
            command.stdout(errors);
            rooms.at(place).enter(|| command.spawn())?
        });
        let child = spawned.map_err(|error| TestbedError::process(format!("start {who}"), &error))?;
        // Process 1 reaps every process by itself, so the handle is not kept.
        self.0.push(Entry { pid: Pid::from_raw(child.id().cast_signed()), who, socket });
        Ok(())
    }

    /// Waits until everybody accepts connections.
    pub(super) fn await_listening(&self, deadline: Instant) -> Result<(), TestbedError> {
        for entry in &self.0 {
            while UnixStream::connect(&entry.socket).is_err() {
                self.check_alive()?;
                if Instant::now() >= deadline {
                    return Err(resident_error(&entry.who, &"it does not listen on its socket"));
                }
                thread::sleep(LOOK_EVERY);
            }
        }
        Ok(())
    }

    /// An error if anybody has ended.
    pub(super) fn check_alive(&self) -> Result<(), TestbedError> {
        match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).ok().and_then(|status| self.recognise(status)) {
            Some(event) => Err(resident_error(&event.who, &event.how)),
            None => Ok(()),
        }
    }

    /// Reaps whatever ends, until nobody is left; tells of residents. A house that has none stands as long as it is kept.
    pub(super) fn reap(&self, mut tell: impl FnMut(HouseEvent) -> io::Result<()>) -> io::Result<()> {
        loop {
            match waitpid(None::<Pid>, None) {
                Ok(status) => self.recognise(status).map_or(Ok(()), &mut tell)?,
                Err(nix::Error::EINTR) => (),
                Err(nix::Error::ECHILD) if self.0.is_empty() => thread::sleep(REAP_EVERY),
                Err(nix::Error::ECHILD) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The event of a resident's end; the ends of orphans that process 1 inherits are nobody's business.
    fn recognise(&self, status: WaitStatus) -> Option<HouseEvent> {
        let (pid, how) = match status {
            WaitStatus::Exited(pid, code) => (pid, Ending::Exited(code)),
            WaitStatus::Signaled(pid, signal, _) => (pid, Ending::Killed(signal as i32)),
            _ => return None,
        };
        self.0.iter().find(|entry| entry.pid == pid).map(|entry| HouseEvent { who: entry.who.clone(), how })
    }
}

/// Where the agent of a station listens; no station's name can make it another socket's.
pub(super) fn agent_socket(runtime: &Path, station: &str) -> PathBuf {
    RuntimeDirectory::socket(runtime, &format!("agent-{station}"))
}

fn resident_error(who: &Resident, reason: &dyn std::fmt::Display) -> TestbedError {
    let remedy = "see its own words on standard error";
    TestbedError::new(Cause::Resident, format!("wait for {who}"), reason, remedy)
}
