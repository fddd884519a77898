//! The entry server of a drawn testbed. A process that may open its socket gets the namespaces of a
//! station, and may ask for the list of processes.
//!
//! One request per connection, one line of JSON each way; the namespaces come along with the
//! response as open files (`SCM_RIGHTS`, unix(7)). Process 1 answers, because it has them.

use btu_contract::json;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::{Deserialize, Serialize};

use super::error::{Cause, TestbedError};
use super::layout::TestbedNamespace;
use super::messages::send;
use super::namespaces::Namespaces;
use super::runtime::RuntimeDirectory;
use super::sys;

/// The timeout of an answer: process 1 answers at once, but a stopped testbed does not answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A request is a station's name.
const LONGEST_REQUEST_BYTES: u64 = 1024;

/// A request to the entry server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EntryRequest {
    /// The request for the namespaces of this station.
    Enter(String),
    /// The request for the list of processes.
    Processes,
}

/// An answer of the entry server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Response {
    /// The request is granted; the namespaces come with the answer.
    Welcome,
    /// There is no such station.
    Unknown,
    /// All processes that are in a station.
    Processes(Vec<Process>),
}

/// A process in a station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The name of the station in which the process runs.
    pub station: String,
    /// Its process id in the testbed's process namespace.
    pub number: u32,
    /// Its command line, or its name where it has none.
    pub command: String,
}

/// The namespaces of one station.
pub(super) struct StationNamespaces {
    pub(super) user: OwnedFd,
    pub(super) mounts: OwnedFd,
    pub(super) processes: OwnedFd,
    pub(super) network: OwnedFd,
}

/// Opens the entry server, for as long as the testbed exists.
pub(super) fn open(
    namespaces: Namespaces,
    stations: Vec<String>,
    runtime: &Path,
) -> Result<(), TestbedError> {
    let failed = |error: io::Error| TestbedError::process("open the testbed's door", &error);
    let listener = UnixListener::bind(RuntimeDirectory::socket(runtime, "door")).map_err(failed)?;
    let server = EntryServer::new(namespaces, stations).map_err(failed)?;
    let response = move || {
        for visitor in listener.incoming().flatten() {
            // A client that is gone, or sends an invalid request, gets no response.
            let _ = server.serve(&visitor);
        }
    };
    thread::Builder::new().name("door".to_owned()).spawn(response).map(drop).map_err(failed)
}

/// Asks for the namespaces of `station`; `None` if the testbed has no such station.
pub(super) fn request_namespaces(
    runtime: &Path,
    station: &str,
) -> Result<Option<StationNamespaces>, TestbedError> {
    let (response, namespaces) = ask(runtime, &EntryRequest::Enter(station.to_owned()))?;
    let namespaces: Result<[OwnedFd; 4], _> = namespaces.try_into();
    match (response, namespaces) {
        (Response::Welcome, Ok([user, mounts, processes, network])) => {
            Ok(Some(StationNamespaces { user, mounts, processes, network }))
        }
        (Response::Unknown, _) => Ok(None),
        _ => Err(TestbedError::protocol("enter a station", "the testbed answered another request")),
    }
}

/// Requests the list of processes.
pub(super) fn request_processes(runtime: &Path) -> Result<Vec<Process>, TestbedError> {
    match ask(runtime, &EntryRequest::Processes)?.0 {
        Response::Processes(processes) => Ok(processes),
        _ => Err(TestbedError::protocol("see who is in", "the testbed answered another request")),
    }
}

fn ask(runtime: &Path, request: &EntryRequest) -> Result<(Response, Vec<OwnedFd>), TestbedError> {
    let path = RuntimeDirectory::socket(runtime, "door");
    exchange(&path, request).map_err(|error| {
        let operation = format!("knock at the network's door {}", path.display());
        TestbedError::new(
            Cause::Protocol,
            operation,
            error,
            "see `btu net status`: it may be going down or stopped",
        )
    })
}

fn exchange(path: &Path, request: &EntryRequest) -> io::Result<(Response, Vec<OwnedFd>)> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    send(&stream, request)?;
    let (mut line, namespaces) = receive_first(&stream)?;
    (&stream).read_to_end(&mut line)?;
    Ok((json::from_octets(&line)?, namespaces))
}

/// The namespaces arrive with the first bytes.
fn receive_first(stream: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; 4096];
    let mut control = nix::cmsg_space!([RawFd; 4]);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let mut namespaces = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(files) = part {
            namespaces.extend(files.into_iter().map(sys::own));
        }
    }
    let count = message.bytes;
    bytes.truncate(count);
    Ok((bytes, namespaces))
}

/// The process that answers for the entry server.
struct EntryServer {
    namespaces: Namespaces,
    stations: Vec<String>,
    user: File,
    mounts: File,
    processes: File,
}

impl EntryServer {
    fn new(namespaces: Namespaces, stations: Vec<String>) -> io::Result<Self> {
        let own = |kind: &str| File::open(format!("/proc/self/ns/{kind}"));
        Ok(Self {
            namespaces,
            stations,
            user: own("user")?,
            mounts: own("mnt")?,
            processes: own("pid")?,
        })
    }

    fn serve(&self, visitor: &UnixStream) -> io::Result<()> {
        visitor.set_read_timeout(Some(TIMEOUT))?;
        visitor.set_write_timeout(Some(TIMEOUT))?;
        let mut line = String::new();
        BufReader::new(visitor.take(LONGEST_REQUEST_BYTES)).read_line(&mut line)?;
        match serde_json::from_str(&line)? {
            EntryRequest::Enter(station) => {
                match self.stations.iter().position(|name| *name == station) {
                    Some(number) => self.welcome(visitor, number),
                    None => send(visitor, &Response::Unknown),
                }
            }
            EntryRequest::Processes => send(visitor, &Response::Processes(self.processes()?)),
        }
    }

    fn welcome(&self, visitor: &UnixStream, number: usize) -> io::Result<()> {
        let mut line = Vec::new();
        send(&mut line, &Response::Welcome)?;
        let network = self.namespaces.at(TestbedNamespace::Station(number)).file();
        let namespaces =
            [&self.user, &self.mounts, &self.processes, network].map(AsRawFd::as_raw_fd);
        let rights = [ControlMessage::ScmRights(&namespaces)];
        sendmsg::<()>(
            visitor.as_raw_fd(),
            &[IoSlice::new(&line)],
            &rights,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )?;
        Ok(())
    }

    /// All processes in a station's network namespace.
    fn processes(&self) -> io::Result<Vec<Process>> {
        let namespaces = (0..self.stations.len()).map(|number| {
            let status = self.namespaces.at(TestbedNamespace::Station(number)).file().metadata()?;
            Ok((status.st_dev(), status.st_ino()))
        });
        let namespaces = namespaces.collect::<io::Result<Vec<_>>>()?;
        let mut processes = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            // Processes start and end meanwhile, and processes outside of stations are skipped.
            let Some(number) = number else { continue };
            let Ok(status) = fs::metadata(entry.path().join("ns/net")) else { continue };
            if let Some(room) =
                namespaces.iter().position(|room| *room == (status.st_dev(), status.st_ino()))
            {
                let command = command_line(&entry.path());
                processes.push(Process { station: self.stations[room].clone(), number, command });
            }
        }
        Ok(processes)
    }
}

fn command_line(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned();
    if line.is_empty() {
        return fs::read_to_string(process.join("comm")).unwrap_or_default().trim_end().to_owned();
    }
    line
}
