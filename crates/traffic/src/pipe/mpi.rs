//! MPI: messages of the system's own library between two processes without mpirun.
//!
//! The two meet over TCP as the ends of a TCP pipe do, and become one MPI world over that
//! connection. Measured messages use MPI; control messages between trials use the TCP connection.
//! So an end that waits for its turn sleeps, unlike in MPI's own wait, and the end of that
//! connection reveals a killed peer, which MPI does not detect.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use btu_contract::activity::PipeMeeting;
use btu_contract::pipe::{self as study, End};
use btu_mpi::{Link, MpiError, Party, ProcessPlacement, Threads, begin, check, has_begun, version};
use btu_units::Time;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::pieces::ended;
use super::stream::StreamPipe;
use super::tcp::Tcp;
use super::{Pipe, Setup, Terms};
use crate::clock::{Limit, now};
use crate::error::TrafficError;
use crate::tcp::line::TcpConnection;

/// The time for which MPI may still have messages of a peer after the end of its connection.
const ARREARS: Duration = Duration::from_millis(100);

/// The interval, in milliseconds, at which an end that waits for a control message lets MPI
/// continue its transfers.
const LOOK_EVERY_MS: u16 = 100;

/// How long an end waits for the other to be done with its messages.
const FAREWELL: Duration = Duration::from_secs(1);

/// An MPI end with a TCP connection that listens or is established.
pub(super) struct Mpi {
    tcp: Tcp,
    party: Party,
}

impl Setup for Mpi {
    type Pipe = MpiPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let place = match terms.plan.place {
            study::Place::Here => ProcessPlacement::OneMachine,
            study::Place::Stations { .. } | study::Place::Drawing { .. } => {
                ProcessPlacement::Stations
            }
            study::Place::Machines(_) => ProcessPlacement::Apart,
        };
        let threads = if terms.plan.pairs > 1 { Threads::Several } else { Threads::One };
        let party = Party { rank: u32::from(terms.end == End::Far), place, threads };
        Ok(Self { tcp: Tcp::prepare(meeting, terms)?, party })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.tcp.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<MpiPipe, TrafficError> {
        let line = StreamPipe::new(self.tcp.line(limit)?);
        // Further pairs of the same processes are in the same world.
        if !has_begun() {
            begin(self.party, &mut line.socket().stream())
                .map_err(|error| trouble("begin", error))?;
        }
        let world = Link::open().map_err(|error| trouble("open a link", error))?;
        let threads = self.party.threads;
        Ok(MpiPipe {
            line,
            world,
            is_warm: false,
            sent: 0,
            sent_by_interfaces: interfaces(),
            threads,
        })
    }
}

/// Why the library of this program cannot be used; `None` if it can.
pub(super) fn refusal() -> Option<String> {
    check().err().map(|error| error.to_string())
}

fn trouble(operation: &'static str, error: MpiError) -> TrafficError {
    TrafficError::Pipe { operation, object: "MPI".to_owned(), source: io::Error::other(error) }
}

/// A process joined to this one.
pub(super) struct MpiPipe {
    line: StreamPipe<TcpConnection>,
    world: Link,
    /// Whether messages were moved since the last control message: MPI may still have some in
    /// flight, which move while it is called.
    is_warm: bool,
    /// Bytes of messages that were sent.
    sent: u64,
    /// Bytes that this station's interfaces had sent before.
    sent_by_interfaces: Option<u64>,
    threads: Threads,
}

impl Pipe for MpiPipe {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.exchange(message, &mut [])
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.exchange(&[], room)
    }

    #[inline]
    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let Self { line, world, is_warm, sent, .. } = self;
        *is_warm = true;
        *sent += message.len() as u64;
        let mut ended = None;
        world.exchange(message, room, || is_gone(line, &mut ended)).map_err(plain)
    }

    fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.line.send(words)
    }

    fn hear(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.attend(None)?;
        self.is_warm = false;
        self.line.receive(room)
    }

    fn close(&mut self) {
        // Neither leaves before the other has all; one that is gone already has it.
        if self.line.send(&[0]).is_ok()
            && self.attend(Some(FAREWELL)).is_ok_and(|is_there| is_there)
        {
            let _ = self.line.receive(&mut [0]);
        }
    }

    fn notes(&self) -> Vec<String> {
        let locks =
            if self.threads == Threads::Several { ", begun for several threads" } else { "" };
        let way = match (self.sent_by_interfaces, interfaces()) {
            (Some(before), Some(after)) if after.saturating_sub(before) < self.sent => {
                "its messages did not go through a network interface: it found the other process on the same machine"
            }
            (Some(_), Some(_)) => "its messages went through a network interface",
            _ => "which way its messages took is not known",
        };
        vec![format!(
            "MPI by {}{locks}: {way}; an end that waits for a message keeps its processor busy",
            version()
        )]
    }
}

impl MpiPipe {
    /// Waits for a control message, and lets MPI continue its sends; returns whether there is one
    /// within `limit`.
    fn attend(&mut self, limit: Option<Duration>) -> io::Result<bool> {
        let begun = now();
        let timeout = PollTimeout::from(if self.is_warm { 0 } else { LOOK_EVERY_MS });
        loop {
            match poll(&mut [PollFd::new(self.line.fd(), PollFlags::POLLIN)], timeout) {
                Ok(0) | Err(nix::Error::EINTR) => self.world.progress().map_err(plain)?,
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
            if limit.is_some_and(|limit| Duration::from(now().since(begun)) > limit) {
                return Ok(false);
            }
        }
    }
}

/// Whether the peer has gone so long ago that nothing of it is left; `ended` is when that was seen.
fn is_gone(line: &StreamPipe<TcpConnection>, ended: &mut Option<Time>) -> bool {
    if let Some(since) = *ended {
        return Duration::from(now().since(since)) > ARREARS;
    }
    if line.peer_has_left().unwrap_or(true) {
        *ended = Some(now());
    }
    false
}

fn plain(error: MpiError) -> io::Error {
    match error {
        MpiError::Gone => ended(),
        MpiError::Size => io::Error::new(ErrorKind::InvalidData, error),
        _ => io::Error::other(error),
    }
}

/// Bytes that all interfaces of this station have sent so far; `None` if the kernel does not report
/// it.
fn interfaces() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    Some(sent_bytes(&table))
}

/// The ninth number behind each interface's name (proc(5), `/proc/net/dev`).
fn sent_bytes(table: &str) -> u64 {
    let rows = table.lines().filter_map(|line| line.split_once(':'));
    rows.filter_map(|(_, numbers)| numbers.split_whitespace().nth(8)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_sent_are_in_the_ninth_column() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
                     lo: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n  eth0: 1 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n";
        assert_eq!(sent_bytes(table), 2030);
        assert_eq!(sent_bytes("nonsense: 1 2"), 0);
    }
}
