//! A TCP connection between two ends that know the same token, for activities of other crates with
//! protocols of their own: how to open it, and reads and writes within the time of an order.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use btu_contract::activity::Token;
use btu_contract::peers::Callers;
use btu_contract::record::TcpInfo;
use btu_units::Span;

use crate::clock::{Limit, now};
use crate::error::TrafficError;
use crate::sys::stream;
use crate::tcp::acceptor::{Acceptor, Greeting, Waiting};
use crate::tcp::line::{SocketConfig, TcpConnection};

/// A port that waits for the one caller that presents the token.
pub struct FlowDoor(Acceptor);

impl FlowDoor {
    /// Listens on any free port of `address`.
    ///
    /// # Errors
    /// The address is none of this host's.
    pub fn open(address: IpAddr, callers: &Callers) -> Result<Self, TrafficError> {
        Acceptor::open(address, &SocketConfig::prompt(), callers).map(Self)
    }

    /// The IP address and port on which this end listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Waits for an allowed caller without a token: for protocols with their own identification.
    ///
    /// # Errors
    /// No such caller came within the limit.
    pub fn accept(&self, limit: &Limit<'_>) -> Result<Flow, TrafficError> {
        self.0.accept(limit).map(Flow)
    }

    /// Waits for the next allowed caller that has said all with which its protocol identifies it
    /// (`is_whole`), or `most` octets, with what it has said. Others are heard at the same time, each
    /// for `time`, and `waiting` are those of the call before.
    ///
    /// # Errors
    /// No such caller came within the limit.
    pub fn hear(
        &self,
        waiting: &mut WaitingCallers,
        (most, time): (usize, Span),
        is_whole: &dyn Fn(&[u8]) -> bool,
        limit: &Limit<'_>,
    ) -> Result<(Flow, Vec<u8>), TrafficError> {
        let greeting = Greeting { most, is_whole, time };
        let (line, said) = self.0.greeted(&mut waiting.0, &greeting, limit)?;
        Ok((Flow(line), said))
    }

    /// Reports to the agent that a caller from there did not know the token.
    pub fn refuse(&self, peer: SocketAddr) {
        self.0.refuse(peer);
    }

    /// Waits for the caller that presents the token; all others are disconnected and do not delay
    /// it.
    ///
    /// # Errors
    /// No caller presented the token within the limit.
    pub fn admit(self, token: &Token, limit: &Limit<'_>) -> Result<Flow, TrafficError> {
        self.0.admit(token, limit).map(Flow)
    }
}

/// The callers of a door that have not said all yet.
#[derive(Default)]
pub struct WaitingCallers(Waiting);

/// A connection on which one end has presented the token to the other; or one of a protocol with
/// its own identification. Nagle's algorithm is off.
pub struct Flow(TcpConnection);

impl Flow {
    /// Connects, presents the token, and waits until the peer's kernel has it: two round trips.
    ///
    /// # Errors
    /// The peer cannot be reached within ten seconds or `deadline`, whichever is shorter.
    pub fn connect(peer: SocketAddr, token: &Token, deadline: Span) -> Result<Self, TrafficError> {
        TcpConnection::connect(peer, token, &SocketConfig::prompt(), deadline).map(Self)
    }

    /// Connects and sends nothing: for protocols with their own identification.
    ///
    /// # Errors
    /// As of [`Self::connect`].
    pub fn open(peer: SocketAddr, deadline: Span) -> Result<Self, TrafficError> {
        TcpConnection::open(peer, &SocketConfig::prompt(), deadline).map(Self)
    }

    /// The connection itself without timeouts, for another program that uses it.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn lend(&self) -> Result<TcpStream, TrafficError> {
        self.0.wait_as_long_as_it_takes()?;
        let lent = self.0.as_fd().try_clone_to_owned();
        lent.map(TcpStream::from)
            .map_err(TrafficError::socket("duplicate the connection", self.peer()))
    }

    /// The address of the other end.
    pub fn peer(&self) -> SocketAddr {
        self.0.peer()
    }

    /// Reads the available bytes, at least one; 0 when the peer has ended its half.
    ///
    /// # Errors
    /// The connection broke, or the limit came; `doing` names the operation.
    pub fn read(
        &self,
        bytes: &mut [u8],
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<usize, TrafficError> {
        self.moved(|socket| stream::receive(socket, bytes, 0), limit, doing)
    }

    /// Repeats a system call that moves bytes from or to the connection until it moved some; how
    /// many, 0 at an end.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn moved(
        &self,
        mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<usize, TrafficError> {
        loop {
            match call(self.0.socket()) {
                Ok(moved) => {
                    limit.check(now(), doing, self.peer())?;
                    return Ok(moved);
                }
                Err(error) => self.0.retry_or_fail(error, limit, doing)?,
            }
        }
    }

    /// Fills `bytes`; false when the peer ended its half before the first.
    ///
    /// # Errors
    /// As [`Self::read`], and when the peer ended its half in the middle.
    pub fn read_exactly(
        &self,
        bytes: &mut [u8],
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<bool, TrafficError> {
        self.0.read_exactly(bytes, limit, doing)
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(
        &self,
        bytes: &[u8],
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<(), TrafficError> {
        self.0.write(bytes, limit, doing)
    }

    /// Ends the outgoing half.
    ///
    /// # Errors
    /// The connection broke.
    pub fn finish_sending(&self) -> Result<(), TrafficError> {
        self.0.finish_sending()
    }

    /// The kernel's data about the connection.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn info(&self) -> Result<TcpInfo, TrafficError> {
        self.0.info()
    }
}
