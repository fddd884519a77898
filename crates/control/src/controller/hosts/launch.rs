//! Agents that a launcher starts: `srun`, `mpirun`, or another program that starts one process on
//! each node of a job, gives all the same input, and brings their lines back.
//!
//! ```text
//! btu --starts--> launcher --starts--> btu hosts agent --launched BUNDLE, on each node
//!  ^                 |                        |
//!  |                 +<-- "btu-agent INDEX ADDRESS PORT NODE AGENTS"
//!  +---------------- mutual TLS --------------+
//! ```
//!
//! The agents end with their input, with the launcher, or when this controller is gone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::peers::Cidr;
use btu_network::HostName;
use btu_units::plain;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::super::error::ControllerError;
use super::pipe::Complaints;
use crate::arrival::{Arrival, own_addresses};
use crate::octets;
use crate::trust::{Bundle, BundleLimits, Identity, MOST_AGENTS};

/// The time for all agents of a job to say where they listen: a step of a job may have to wait for
/// another one.
const START_LIMIT: Duration = Duration::from_mins(2);

/// The time for a launcher to end by itself, and again after SIGTERM.
const END_LIMIT: Duration = Duration::from_secs(10);

/// An agent lives no longer than this. Schedulers have limits of their own.
const LASTS: Duration = Duration::from_hours(24);

/// Beyond the time for which lost hosts are called again: the time between two connections of one
/// command.
const IDLE_MARGIN: Duration = Duration::from_mins(1);

/// The most octets of a line of the launcher's output.
const LONGEST_LINE: u64 = 4096;

/// The beginning of the name of a bundle's file.
const FILE: &str = "launch-";

/// What a launcher is to start.
#[derive(Debug)]
pub struct LaunchRequest<'a> {
    /// The launcher with its options; the agent's command follows.
    pub command: &'a [String],
    /// This program, on all nodes.
    pub executable: &'a Path,
    /// A directory that all nodes share, for launchers that do not give their input to all.
    pub directory: &'a Path,
    /// The measured network, if the job has several.
    pub over: Option<Cidr>,
    /// The time for which a lost host is called again.
    pub reconnect_timeout: Duration,
}

/// A launcher with its agents, which end when this is dropped.
#[derive(Debug)]
pub struct Launch {
    process: Mutex<LauncherProcess>,
    /// The controller's identity for these agents.
    pub(super) identity: Identity,
    agents: Vec<LaunchedAgent>,
}

/// An agent that a launcher started.
#[derive(Debug, Clone)]
pub struct LaunchedAgent {
    /// The name of its host in results: that of its node, with its index if the node has several.
    pub name: HostName,
    /// Its address, for control and for measurements.
    pub address: IpAddr,
    port: u16,
    /// The name in its certificate.
    pub(super) certified: String,
}

impl LaunchedAgent {
    /// Its address as `host:port`.
    pub(super) fn place(&self) -> String {
        std::net::SocketAddr::new(self.address, self.port).to_string()
    }
}

impl Launch {
    /// Starts the agents and waits until all of them listen.
    ///
    /// # Errors
    /// The launcher cannot be started, ends early, or is too slow.
    pub fn start(request: &LaunchRequest<'_>) -> Result<Self, ControllerError> {
        let limits = BundleLimits {
            lasts: LASTS,
            idle: request.reconnect_timeout + IDLE_MARGIN,
            towards: own_addresses().unwrap_or_default(),
            over: request.over,
        };
        let names: Vec<String> = (0..MOST_AGENTS).map(certified).collect();
        let issued = Bundle::issue(&names, limits).and_then(|(bundle, controller)| {
            Ok((bundle, Identity::parse("the controller's identity", controller.as_bytes())?))
        });
        let (bundle, identity) = issued.map_err(|error| refused(request, &error))?;
        let (mut process, lines) =
            LauncherProcess::start(request, &bundle).map_err(|error| refused(request, &error))?;
        let arrivals = process.arrivals(&lines).map_err(|why| refused(request, &why))?;
        // All have read it.
        process.file = None;
        Ok(Self { process: Mutex::new(process), identity, agents: named(arrivals) })
    }

    /// Its agents in the order of their indices.
    pub fn agents(&self) -> &[LaunchedAgent] {
        &self.agents
    }

    /// Whether the launcher has ended, and all its agents with it.
    pub(super) fn has_ended(&self) -> bool {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        wait(&mut process.child, Duration::ZERO)
    }

    /// The agent whose host has this name.
    pub(super) fn agent(&self, name: &str) -> Option<&LaunchedAgent> {
        self.agents.iter().find(|agent| agent.name.as_str() == name)
    }
}

fn certified(index: usize) -> String {
    format!("agent-{index}")
}

fn refused(request: &LaunchRequest<'_>, why: &dyn std::fmt::Display) -> ControllerError {
    let launcher = request.command.first().map_or("the launcher", String::as_str);
    ControllerError::Launch { launcher: launcher.to_owned(), message: why.to_string() }
}

/// Agents by index, each with the name of its node; several of one node with their indices.
fn named(arrivals: BTreeMap<usize, Arrival>) -> Vec<LaunchedAgent> {
    let mut of_node: BTreeMap<HostName, usize> = BTreeMap::new();
    for arrival in arrivals.values() {
        *of_node.entry(arrival.node.clone()).or_default() += 1;
    }
    let agent = |Arrival { index, address, port, node, .. }: Arrival| {
        let is_alone = of_node.get(&node) == Some(&1);
        let several = || HostName::try_from(format!("{node}-{index}")).ok();
        let name = if is_alone { None } else { several() }.unwrap_or(node);
        LaunchedAgent { name, address, port, certified: certified(index) }
    };
    arrivals.into_values().map(agent).collect()
}

/// The launcher's process.
#[derive(Debug)]
struct LauncherProcess {
    child: Child,
    /// Kept open: agents that read their bundle from it end with it.
    input: Option<ChildStdin>,
    /// Whether the agents read their bundle from it.
    by_input: bool,
    /// The bundle of those that read it from a file.
    file: Option<BundleFile>,
    complaints: Complaints,
}

impl LauncherProcess {
    fn start(request: &LaunchRequest<'_>, bundle: &Bundle) -> io::Result<(Self, Receiver<String>)> {
        let Some(launcher) = request.command.first() else {
            return Err(io::Error::other("no command is given"));
        };
        // srun gives its input to all processes, and others to the first one only.
        let by_input = Path::new(launcher).file_name().is_some_and(|name| name == "srun");
        let file =
            if by_input { None } else { Some(BundleFile::write(request.directory, bundle)?) };
        let mut command = Command::new(request.executable);
        command.args(["internal", "launcher", "--"]).args(request.command);
        command.arg(request.executable).args(["hosts", "agent", "--launched"]);
        command.arg(file.as_ref().map_or(Path::new("-"), |file| &file.path));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for btu: the hosts are released in order.
        let mut child = command.process_group(0).spawn()?;
        let missing = || io::Error::other("its pipes are missing");
        let said = child.stdout.take().ok_or_else(missing)?;
        let complained = child.stderr.take().ok_or_else(missing)?;
        let mut input = child.stdin.take();
        let (lines, complaints) = (lines_of(said), kept(complained));
        if let (true, Some(input)) = (by_input, &mut input) {
            // A launcher that has ended meanwhile has said why.
            let _ = input.write_all((bundle.to_text() + "\n").as_bytes());
        }
        Ok((Self { child, input, by_input, file, complaints }, lines))
    }

    /// Waits until every agent of the job has said where it listens.
    fn arrivals(&mut self, lines: &Receiver<String>) -> Result<BTreeMap<usize, Arrival>, String> {
        let mut all: BTreeMap<usize, Arrival> = BTreeMap::new();
        let end = Instant::now() + START_LIMIT;
        loop {
            let line = match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) => {
                    let said = self.complaints.reason();
                    let said = said
                        .map_or_else(String::new, |said| format!("; it says: {}", plain(&said)));
                    return Err(late(&all) + &said);
                }
            };
            let Ok(arrival) = line.parse::<Arrival>() else { continue };
            if add(&mut all, arrival)? {
                return Ok(all);
            }
        }
    }

    /// What it complained of when it ended early.
    fn ended(&mut self) -> String {
        let _ = wait(&mut self.child, END_LIMIT);
        // An agent's own words say more than the launcher's about its end.
        let own = self.complaints.last_line(|line| line.contains("btu: "));
        let last = own.or_else(|| self.complaints.reason());
        last.map_or_else(|| "it ended early, without a message".to_owned(), |last| plain(&last))
    }
}

/// Adds an agent of the job; returns whether it was the last one. One process must not end the wait for the others.
fn add(all: &mut BTreeMap<usize, Arrival>, arrival: Arrival) -> Result<bool, String> {
    let agents = arrival.agents.ok_or("it does not tell its processes their total number")?;
    if agents > MOST_AGENTS {
        return Err(format!("it starts {agents} agents; {MOST_AGENTS} are the maximum"));
    }
    let index = arrival.index;
    if index >= agents || all.values().any(|other| other.agents != arrival.agents) {
        return Err(format!(
            "its process {index} reports {agents} agents, and the others do not: does another program print there?"
        ));
    }
    if all.insert(index, arrival).is_some() {
        return Err(format!("two of its processes have index {index}"));
    }
    Ok(all.len() == agents)
}

fn late(all: &BTreeMap<usize, Arrival>) -> String {
    let limit = START_LIMIT.as_secs();
    let Some(first) = all.values().next() else {
        return format!(
            "none of its processes reported its address within {limit} s: is the job waiting in a queue, and is btu at the \
             same path on every node?"
        );
    };
    let agents = first.agents.unwrap_or_default();
    let missing = (0..agents).filter(|index| !all.contains_key(index));
    let missing: Vec<String> = missing.map(|index| index.to_string()).collect();
    format!("after {limit} s the processes {} of {agents} are missing", missing.join(", "))
}

impl Drop for LauncherProcess {
    fn drop(&mut self) {
        self.input = None;
        // Agents with the bundle of their input end with it; others with the launcher.
        let limit = if self.by_input { END_LIMIT } else { Duration::ZERO };
        if wait(&mut self.child, limit) {
            return;
        }
        let Ok(number) = i32::try_from(self.child.id()) else { return };
        // Failing, it has ended meanwhile; it is not waited for yet, so the number is its own.
        let _ = kill(Pid::from_raw(number), Signal::SIGTERM);
        if !wait(&mut self.child, END_LIMIT) {
            let _ = killpg(Pid::from_raw(number), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// The file of a bundle, as long as agents may read it. Locked by its process, so that the next
/// launch can remove one that a killed process has left.
#[derive(Debug)]
struct BundleFile {
    path: PathBuf,
    _lock: Flock<File>,
}

impl BundleFile {
    fn write(directory: &Path, bundle: &Bundle) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        sweep(directory);
        let number = u64::from_ne_bytes(octets::random()?);
        let path = directory.join(format!("{FILE}{number:016x}"));
        bundle.save(&path).map_err(io::Error::other)?;
        let lock = Flock::lock(File::open(&path)?, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, error)| io::Error::from(error))?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for BundleFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the bundles of killed processes.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_bundle = entry.file_name().to_string_lossy().starts_with(FILE);
        if !is_bundle || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let locked = File::open(entry.path())
            .is_ok_and(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok());
        if locked {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Becomes the launcher: this process, which ends when its parent does.
pub fn become_launcher(command: &[OsString]) -> io::Error {
    let Some((program, arguments)) = command.split_first() else {
        return io::Error::other("no command is given");
    };
    if let Err(error) = set_pdeathsig(Signal::SIGTERM) {
        return error.into();
    }
    let error = Command::new(program).args(arguments).exec();
    let advice = if error.kind() == io::ErrorKind::NotFound { ": is it installed?" } else { "" };
    io::Error::other(format!("starting {}: {error}{advice}", program.to_string_lossy()))
}

/// Whether the process ends within `limit`.
fn wait(child: &mut Child, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(_)) | Err(_) => return true,
            Ok(None) if Instant::now() >= end => return false,
            Ok(None) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The lines of the launcher's output; a line that is too long is none of an agent's.
fn lines_of(said: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut said = BufReader::new(said);
        let mut line = Vec::new();
        while let Ok(1..) = (&mut said).take(LONGEST_LINE).read_until(b'\n', &mut line) {
            // It fails when all agents have arrived; the output is still read.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
    });
    receiver
}

/// Follows the launcher's error output.
fn kept(mut complained: impl Read + Send + 'static) -> Complaints {
    let kept = Complaints::default();
    let to = kept.clone();
    thread::spawn(move || {
        let mut room = [0; 1024];
        while let Ok(read @ 1..) = complained.read(&mut room) {
            to.add(&room[..read]);
        }
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(lines: &[&str]) -> Result<bool, String> {
        let mut all = BTreeMap::new();
        let arrivals = lines.iter().map(|line| line.parse().expect("an agent's line"));
        arrivals.map(|arrival| add(&mut all, arrival)).last().expect("a line")
    }

    #[test]
    fn no_process_ends_the_wait_for_the_others() {
        let line =
            |index: usize, agents: usize| format!("btu-agent {index} 192.0.2.1 1 x {agents}");
        let [one, two, third] = [0, 1, 2].map(|index| line(index, 3));
        assert_eq!(added(&[&one, &two]), Ok(false));
        assert_eq!(added(&[&one, &two, &third]), Ok(true));
        for wrong in [line(1, 1), line(1, 2), line(1, 0), line(3, 3)] {
            let refused = added(&[&one, &wrong]).expect_err(&wrong);
            assert!(refused.contains("and the others do not"), "{refused}");
        }
        assert_eq!(added(&[&one, &one]), Err("two of its processes have index 0".to_owned()));
    }
}
