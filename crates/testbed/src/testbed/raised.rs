//! A raised network, for the process that holds it up.

use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::congestion::CongestionControl;
use btu_contract::json;
use btu_contract::protocol_work::ProtocolWork;
use btu_network::{Drawing, HostName, StationId};
use serde::{Deserialize, Serialize};

use super::design::{Design, check, check_ipv6};
use super::error::{Cause, TestbedError};
use super::handle::{KeepAlive, TestbedHandle};
use super::layout::{input_address, ipv6_of};
use super::messages::{Order, Privilege, ProcessExit, TestbedSpec};
use super::processes::agent_socket;
use super::runtime::RuntimeDirectory;

/// The record of a raised network, in its runtime directory.
const RECORD: &str = "network.json";

/// The additional wait of the controller after process 1's timeout, so that process 1's more exact
/// error is reported.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(3);

/// The time until the report of a process's end, and the interval of checks for it.
const NEWS_DELAY: Duration = Duration::from_secs(2);
const NEWS_INTERVAL: Duration = Duration::from_millis(5);

/// The requested network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkRequest {
    /// Its name while it is up.
    pub name: String,
    /// The network, without its traffic: the programs in the stations make the traffic.
    pub drawing: Drawing,
    /// The directory of sockets: a short absolute path. It is made, private to this user, and
    /// removed when the network is taken down; an existing one must be empty, or left behind by a
    /// killed run.
    pub runtime_directory: PathBuf,
    /// Seed of everything random on the wire.
    pub seed: u64,
    /// The program that answers to `internal testbed`, `init`, `agent`, `wire` and `keep`.
    pub executable: PathBuf,
    /// The directory of the capture, if there is one: an absolute path.
    pub capture: Option<PathBuf>,
    /// The file of the network, for the user.
    pub source: String,
    /// The time of the request, for the user.
    pub since: String,
    /// The stations that have an agent, through which workers are started there.
    #[serde(default)]
    pub agents: Vec<StationId>,
    /// The stations to which incoming packets can be delayed and dropped
    /// ([`crate::wire::WireClient::set`]).
    #[serde(default)]
    pub inputs: Vec<StationId>,
    /// The stations with agents that are pinned, with their child processes, to separate
    /// processors. All other processes of the network are pinned like the process that requests it.
    #[serde(default)]
    pub processors: Vec<(StationId, Vec<u32>)>,
    /// Whose processors do the protocol work of received frames: with
    /// [`ProtocolWork::Receiver`], those of `processors` for a station that has some, and those of
    /// the process that requests the network for all others and the wire.
    #[serde(default)]
    pub protocol_work: ProtocolWork,
    /// The congestion control that its stations' TCP uses; the host's own choice when absent.
    #[serde(default)]
    pub congestion_control: Option<CongestionControl>,
    /// Whether its stations speak IPv6, too: each has the address in `2001:2::/48` with its IPv4
    /// address as the last 32 bits, and agents use that.
    #[serde(default)]
    pub ipv6: bool,
}

/// A station with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationPlace {
    /// The name of the station.
    pub station: HostName,
    /// The address that leads to it untouched.
    pub plain: IpAddr,
    /// The address that leads to it through its input impairments, if it has them; equal to `plain`
    /// if the wire carries every packet.
    pub impaired: Option<IpAddr>,
    /// The socket of its agent.
    pub agent_socket: PathBuf,
}

impl NetworkRequest {
    fn stations(&self) -> Vec<StationPlace> {
        self.agents.iter().map(|&id| self.place(id)).collect()
    }

    fn place(&self, id: StationId) -> StationPlace {
        let station = self.drawing.station(id);
        let address =
            if self.drawing.bare { input_address(&self.drawing, id) } else { station.address };
        StationPlace {
            station: HostName::from(station),
            plain: if self.ipv6 {
                ipv6_of(station.address).0.into()
            } else {
                station.address.into()
            },
            impaired: self.inputs.contains(&id).then_some(address.into()),
            agent_socket: agent_socket(&self.runtime_directory, id),
        }
    }
}

/// The data of a raised network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What it is called.
    pub name: String,
    /// Its description in its file.
    pub about: String,
    /// Its file.
    pub source: String,
    /// The time of its request.
    pub since: String,
    /// Seed of everything random on the wire.
    pub seed: u64,
    /// By which right it was raised.
    pub privilege: Privilege,
    /// The process that keeps it up.
    pub holder: u32,
    /// The directory of the capture.
    pub capture: Option<PathBuf>,
    /// Its stations, in the file's order.
    pub stations: Vec<StationRecord>,
}

/// A station of a raised network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationRecord {
    /// The name of the station.
    pub name: String,
    /// The IPv4 address of the station.
    pub address: Ipv4Addr,
}

impl Record {
    fn of(request: &NetworkRequest, privilege: Privilege) -> Self {
        let stations = request.drawing.stations.iter();
        Self {
            name: request.name.clone(),
            about: request.drawing.about.clone(),
            source: request.source.clone(),
            since: request.since.clone(),
            seed: request.seed,
            privilege,
            holder: std::process::id(),
            capture: request.capture.clone(),
            stations: stations
                .map(|one| StationRecord { name: one.name.clone(), address: one.address })
                .collect(),
        }
    }

    /// The record in a runtime directory; `None` if no network is up there.
    pub(super) fn read(runtime: &Path) -> Option<Self> {
        json::from_octets(&fs::read(runtime.join(RECORD)).ok()?).ok()
    }

    /// Writes the record atomically: there is never half a record.
    fn write(&self, runtime: &Path) -> Result<(), TestbedError> {
        let unfinished = runtime.join("network.json.new");
        let written = serde_json::to_string(self)
            .map_err(Into::into)
            .and_then(|text| fs::write(&unfinished, text));
        written.and_then(|()| fs::rename(&unfinished, runtime.join(RECORD))).map_err(|error| {
            let operation = format!("write {}", runtime.join(RECORD).display());
            TestbedError::new(
                Cause::RuntimeDirectory,
                operation,
                error,
                "make room on that file system",
            )
        })
    }
}

/// A network that is being raised. Dropping it takes it down.
#[derive(Debug)]
pub struct RaisingNetwork {
    handle: TestbedHandle,
    runtime: RuntimeDirectory,
    request: NetworkRequest,
    timeout: Duration,
    has_wire: bool,
}

impl RaisingNetwork {
    /// Begins to raise a network.
    ///
    /// # Errors
    /// The errors of [`check`]; a runtime directory that cannot be used; a program that cannot be
    /// started.
    pub fn begin(mut request: NetworkRequest) -> Result<Self, TestbedError> {
        check(&request.drawing)?;
        if request.ipv6 {
            check_ipv6(&request.drawing)?;
        }
        request.drawing.traffic.clear();
        let runtime_directory = request.runtime_directory.clone();
        let runtime = RuntimeDirectory::claim(&runtime_directory)?;
        let NetworkRequest {
            drawing,
            capture,
            agents,
            inputs,
            processors,
            protocol_work,
            congestion_control,
            ipv6,
            ..
        } = request.clone();
        let design = Design {
            drawing,
            capture,
            agents,
            inputs,
            processors,
            protocol_work,
            congestion_control,
            ipv6,
        };
        let timeout = design.timeout() + EXTRA_TIMEOUT;
        let has_wire = design.has_wire();
        let spec = TestbedSpec { design, runtime_directory, seed: request.seed };
        let handle = TestbedHandle::start(&request.executable, &Order::Raise(Box::new(spec)))?;
        Ok(Self { handle, runtime, request, timeout, has_wire })
    }

    /// Its keep-alive pipe, for a thread that must end it at once.
    pub fn keep_alive(&self) -> KeepAlive {
        self.handle.keep_alive().clone()
    }

    /// Waits until packets pass.
    ///
    /// # Errors
    /// The error that kept the network from being raised; its keep-alive pipe was closed.
    pub fn finish(mut self) -> Result<RaisedNetwork, TestbedError> {
        let privilege = self.handle.wait_ready(self.timeout)?.privilege;
        let fallen = Arc::default();
        let watched = watch(&mut self.handle, &fallen)?;
        let directory = &self.request.runtime_directory;
        listen(directory, self.handle.keep_alive().clone())?;
        Record::of(&self.request, privilege).write(directory)?;
        let stations = self.request.stations();
        let Self { handle, runtime, has_wire, .. } = self;
        Ok(RaisedNetwork { handle, runtime, privilege, stations, has_wire, fallen, watched })
    }
}

/// A raised network. Dropping it takes it down.
#[derive(Debug)]
pub struct RaisedNetwork {
    // Dropped in this order: first the processes, then the directory of their sockets.
    handle: TestbedHandle,
    runtime: RuntimeDirectory,
    privilege: Privilege,
    stations: Vec<StationPlace>,
    has_wire: bool,
    fallen: Arc<OnceLock<ProcessExit>>,
    /// Closes when the last event has been processed.
    watched: Receiver<()>,
}

impl RaisedNetwork {
    /// Its keep-alive pipe, for a thread that must end it at once.
    pub fn keep_alive(&self) -> KeepAlive {
        self.handle.keep_alive().clone()
    }

    /// By which right it was raised.
    pub fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// The stations with an agent, in the order in which the request names them.
    pub fn stations(&self) -> &[StationPlace] {
        &self.stations
    }

    /// The socket of its wire; a bare network has none, unless the packets of a station can be
    /// impaired.
    pub fn wire_socket(&self) -> Option<PathBuf> {
        self.has_wire.then(|| RuntimeDirectory::socket(self.directory(), "wire"))
    }

    /// The runtime directory of the network.
    pub fn directory(&self) -> &Path {
        self.runtime.path()
    }

    /// Waits until nothing of it is left.
    pub fn await_end(&self) {
        self.handle.await_gone();
        // Otherwise `fallen` might not know it yet.
        let _ = self.watched.recv();
    }

    /// The process that brought it down by its end, if there is one.
    pub fn fallen(&self) -> Option<ProcessExit> {
        self.fallen.get().cloned()
    }

    /// Like `fallen`, after an operation that has just failed: if it failed because a process of
    /// the network ended, the report of that may arrive a moment later. It passes two processes,
    /// which wait for a processor on a busy machine.
    pub fn fallen_soon(&self) -> Option<ProcessExit> {
        let deadline = Instant::now() + NEWS_DELAY;
        while self.fallen().is_none() && Instant::now() < deadline {
            std::thread::sleep(NEWS_INTERVAL);
        }
        self.fallen()
    }

    /// Takes it down and waits until its processes are gone.
    ///
    /// # Errors
    /// They do not end, even when killed.
    pub fn lower(self) -> Result<(), TestbedError> {
        self.handle.lower()
    }
}

/// A network does not work without its wire: when one of its processes ends by itself, all of it
/// ends.
fn watch(
    handle: &mut TestbedHandle,
    fallen: &Arc<OnceLock<ProcessExit>>,
) -> Result<Receiver<()>, TestbedError> {
    let (watched_to, watched) = channel();
    let (events, keep_alive, fallen) =
        (handle.take_events(), handle.keep_alive().clone(), Arc::clone(fallen));
    let watch = move || {
        let _hangs_up_at_the_end: Sender<()> = watched_to;
        for event in events {
            if !keep_alive.is_cut() {
                let _ = fallen.set(event);
                keep_alive.cut();
            }
        }
    };
    thread::Builder::new()
        .name("watch".to_owned())
        .spawn(watch)
        .map_err(|error| no_thread(&error))?;
    Ok(watched)
}

/// A process that connects to this socket takes the network down, and its connection closes when
/// the network is down.
fn listen(runtime: &Path, keep_alive: KeepAlive) -> Result<(), TestbedError> {
    let listener = UnixListener::bind(holder_socket(runtime)).map_err(|error| no_thread(&error))?;
    let listen = move || {
        let mut visitors = Vec::new();
        for mut visitor in listener.incoming().flatten() {
            if matches!(visitor.read(&mut [0; 16]), Ok(1..)) {
                keep_alive.cut();
                visitors.push(visitor);
            }
        }
    };
    thread::Builder::new()
        .name("holder".to_owned())
        .spawn(listen)
        .map(drop)
        .map_err(|error| no_thread(&error))
}

pub(super) fn holder_socket(runtime: &Path) -> PathBuf {
    RuntimeDirectory::socket(runtime, "holder")
}

fn no_thread(error: &std::io::Error) -> TestbedError {
    TestbedError::process("look after the network", error)
}
