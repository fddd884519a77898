//! A TCP connection: how it is opened, how the token is sent and checked, and exact reads and
//! writes.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use btu_contract::activity::Token;
use btu_contract::dscp::Dscp;
use btu_contract::pipe::SocketOptions;
use btu_contract::record::TcpInfo;
use btu_units::{Bytes, Span};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use socket2::{Domain, Protocol, Socket, Type};

use super::info;
use super::rest::Path;
use crate::clock::{Limit, TICK, now};
use crate::error::TrafficError;
use crate::progress::Moments;
use crate::sampling::Seen;
use crate::sys::{option, stream};
use crate::token;

/// Longest wait for a connection to be made. A lost SYN is repeated after 1, 3 and 7 s (RFC 6298
/// with an initial timeout of 1 s), so three losses in a row are borne.
const TIMEOUT: Span = Span::from_seconds(10);

/// The longest wait for more data than there are: 256 KiB at 210 Mb/s.
const LONGEST_BATCH: Duration = Duration::from_millis(10);

/// `POLLRDHUP`, which poll(2) has and the wrapper does not name.
const PEER_ENDED: PollFlags = PollFlags::from_bits_retain(libc::POLLRDHUP);

/// Socket options that must be set before the connection is made.
#[derive(Default)]
pub(crate) struct SocketConfig {
    send_buffer: Option<i32>,
    receive_buffer: Option<i32>,
    unsent: Option<Bytes>,
    no_delay: bool,
    dscp: Option<Dscp>,
}

impl SocketConfig {
    /// Small messages leave at once: Nagle's algorithm is off.
    pub(crate) fn prompt() -> Self {
        Self { no_delay: true, ..Self::default() }
    }

    /// A sender with this send buffer, or the system's own.
    pub(crate) fn sender(
        activity: &'static str,
        window: Option<Bytes>,
    ) -> Result<Self, TrafficError> {
        Ok(Self { send_buffer: checked(activity, window)?, ..Self::default() })
    }

    /// With at most so much in the socket that TCP may not send yet.
    pub(crate) fn unsent(self, unsent: Option<Bytes>) -> Self {
        Self { unsent, ..self }
    }

    /// A receiver that never offers a larger window than this, or the system's own.
    pub(crate) fn receiver(
        activity: &'static str,
        window: Option<Bytes>,
    ) -> Result<Self, TrafficError> {
        Ok(Self { receive_buffer: checked(activity, window)?, ..Self::default() })
    }

    /// One end of a pipe: both buffers as asked for, and Nagle's algorithm off unless it is wanted.
    pub(crate) fn pipe(options: &SocketOptions) -> Result<Self, TrafficError> {
        Ok(Self {
            send_buffer: checked("pipe", options.send_buffer)?,
            receive_buffer: checked("pipe", options.receive_buffer)?,
            no_delay: options.no_delay.unwrap_or(true),
            ..Self::default()
        })
    }

    /// With this mark in the headers of its packets.
    pub(crate) fn marked(self, dscp: Option<Dscp>) -> Self {
        Self { dscp, ..self }
    }

    /// A new socket for `address` with these options.
    pub(crate) fn socket(&self, address: SocketAddr) -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(bytes) = self.send_buffer {
            socket.set_send_buffer_size(bytes as usize)?;
        }
        if let Some(bytes) = self.receive_buffer {
            socket.set_recv_buffer_size(bytes as usize)?;
            option::clamp_window(&socket, bytes)?;
        }
        if let Some(bytes) = self.unsent {
            option::limit_unsent(&socket, bytes)?;
        }
        socket.set_tcp_nodelay(self.no_delay)?;
        mark(&socket, address, self.dscp)?;
        Ok(socket)
    }
}

/// Has the packets of a socket carry a code point; connections that a listener takes have it from
/// there.
pub(crate) fn mark(socket: &Socket, address: SocketAddr, dscp: Option<Dscp>) -> io::Result<()> {
    match (dscp.map(Dscp::octet), address) {
        (None, _) => Ok(()),
        (Some(octet), SocketAddr::V4(_)) => socket.set_tos_v4(octet.into()),
        (Some(octet), SocketAddr::V6(_)) => socket.set_tclass_v6(octet.into()),
    }
}

/// The kernel takes buffer sizes as a C `int` and doubles them.
fn checked(activity: &'static str, window: Option<Bytes>) -> Result<Option<i32>, TrafficError> {
    let Some(window) = window else { return Ok(None) };
    match i32::try_from(window.count()) {
        Ok(bytes @ 1..=0x3fff_ffff) => Ok(Some(bytes)),
        _ => Err(TrafficError::Order {
            activity,
            what: format!("a window of {window} is not from 1 B to 1 GiB"),
        }),
    }
}

/// A connection on which one end has presented the token to the other.
pub(crate) struct TcpConnection {
    stream: TcpStream,
    peer: SocketAddr,
}

impl AsFd for TcpConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl TcpConnection {
    /// Connects, presents the token, and waits until the peer's kernel has it.
    pub(crate) fn connect(
        peer: SocketAddr,
        token: &Token,
        config: &SocketConfig,
        deadline: Span,
    ) -> Result<Self, TrafficError> {
        let failed = |source| TrafficError::Connect { peer, source };
        let until = now() + TIMEOUT.min(deadline);
        let line = Self::open(peer, config, deadline)?;
        stream::send(line.socket(), token, 0).map_err(failed)?;
        let mut pause = Duration::from_micros(50);
        while !info::is_acknowledged(&line.stream).map_err(failed)? {
            if now() >= until {
                return Err(failed(io::Error::new(
                    ErrorKind::TimedOut,
                    "the token was not acknowledged in time",
                )));
            }
            sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        Ok(line)
    }

    /// Connects and sends nothing.
    pub(crate) fn open(
        peer: SocketAddr,
        config: &SocketConfig,
        deadline: Span,
    ) -> Result<Self, TrafficError> {
        let failed = |source| TrafficError::Connect { peer, source };
        let socket = config.socket(peer).map_err(failed)?;
        socket.connect_timeout(&peer.into(), TIMEOUT.min(deadline).into()).map_err(failed)?;
        Self::new(socket.into(), peer).map_err(failed)
    }

    /// Takes over a connection; blocking calls wait a tick at most.
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        Ok(Self { stream, peer })
    }

    /// The address of the other end.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The connection itself, for a caller that uses another protocol on it.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// The connection itself, for a caller that uses another protocol on it for a while.
    #[cfg(feature = "mpi")]
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The file descriptor, for system calls.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Lets a blocking `send` wait for `longest` instead of a tick, so that no message is cut in
    /// two.
    pub(crate) fn send_waits(&self, longest: Duration) -> Result<(), TrafficError> {
        let longest = longest.max(Duration::from_millis(1));
        self.stream
            .set_write_timeout(Some(longest))
            .map_err(TrafficError::socket("set SO_SNDTIMEO", self.peer))
    }

    /// Lets a blocking `recv` that finds too little sleep until so many `bytes` have come, for [`LONGEST_BATCH`] at most.
    pub(crate) fn wait_for(&self, bytes: usize) -> Result<(), TrafficError> {
        // The kernel lowers a number that its buffer cannot hold.
        option::receive_at_least(&self.stream, i32::try_from(bytes).unwrap_or(i32::MAX))
            .and_then(|()| self.stream.set_read_timeout(Some(LONGEST_BATCH)))
            .map_err(TrafficError::socket("set SO_RCVLOWAT", self.peer))
    }

    /// Takes the timeouts away; the caller must then bound in another way how long this takes.
    pub(crate) fn wait_as_long_as_it_takes(&self) -> Result<(), TrafficError> {
        let set =
            self.stream.set_read_timeout(None).and_then(|()| self.stream.set_write_timeout(None));
        set.map_err(TrafficError::socket("take the time-outs away", self.peer))
    }

    /// Ends the connection in both directions: a thread that waits on it is woken.
    pub(crate) fn end(&self) {
        // The only possible failure is a connection that has already ended.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Ends the connection when it is dropped, at once: unsent data are discarded, and the peer
    /// sees a reset.
    pub(crate) fn break_off(&self) -> Result<(), TrafficError> {
        let set = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        set.map_err(TrafficError::socket("set SO_LINGER", self.peer))
    }

    /// Sleeps for `span`, whatever arrives, unless the peer ends its half of the connection.
    pub(crate) fn rest(&self, span: Span) -> Result<(), TrafficError> {
        let mut end = [PollFd::new(self.socket(), PEER_ENDED)];
        match ppoll(&mut end, Some(Duration::from(span).into()), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(TrafficError::socket("poll", self.peer)(io::Error::from(error))),
        }
    }

    /// Ends the outgoing half.
    pub(crate) fn finish_sending(&self) -> Result<(), TrafficError> {
        self.stream
            .shutdown(std::net::Shutdown::Write)
            .map_err(TrafficError::socket("shut down sending", self.peer))
    }

    /// The kernel's data about the connection.
    pub(crate) fn info(&self) -> Result<TcpInfo, TrafficError> {
        info::of(&self.stream).map_err(TrafficError::socket("read TCP_INFO", self.peer))
    }

    /// The progress data of an outgoing stream.
    pub(crate) fn seen(&self) -> io::Result<Seen> {
        info::of(&self.stream).map(Self::progress)
    }

    /// Like `seen`; keeps what the kernel has of this moment, so long after the start.
    pub(crate) fn seen_sending(&self, at: Span, moments: &Mutex<Moments>) -> io::Result<Seen> {
        let (tcp, moment) = info::at_this_moment(&self.stream, at)?;
        if let Some(moment) = moment {
            moments.lock().unwrap_or_else(PoisonError::into_inner).note(moment);
        }
        Ok(Self::progress(tcp))
    }

    fn progress(tcp: TcpInfo) -> Seen {
        // The token was acknowledged, too.
        let bytes = tcp.bytes_acked.saturating_sub(Token::default().len() as u64);
        Seen { bytes, tcp: Some(tcp), ..Seen::default() }
    }

    /// The path as a receiver sees it.
    pub(crate) fn path(&self) -> Result<Path, TrafficError> {
        info::path(&self.stream).map_err(TrafficError::socket("read TCP_INFO", self.peer))
    }

    /// Reads the token; anything else is an error.
    pub(crate) fn hear(&self, token: &Token, limit: &Limit<'_>) -> Result<(), TrafficError> {
        let mut heard = Token::default();
        let doing = "wait for the receiver to start";
        if !self.read_exactly(&mut heard, limit, doing)? {
            return Err(TrafficError::Closed { peer: self.peer, when: "before the flow started" });
        }
        if token::is_same(&heard, token) {
            Ok(())
        } else {
            Err(TrafficError::Token { peer: self.peer })
        }
    }

    /// Writes all of `message`, usually with one system call.
    pub(crate) fn write(
        &self,
        mut message: &[u8],
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<(), TrafficError> {
        while !message.is_empty() {
            match stream::send(self.socket(), message, 0) {
                Ok(sent) => message = &message[sent..],
                Err(error) => self.retry_or_fail(error, limit, doing)?,
            }
        }
        Ok(())
    }

    /// Fills `buffer`, usually with one system call; false when the peer closed before its first
    /// byte.
    #[inline]
    pub(crate) fn read_exactly(
        &self,
        buffer: &mut [u8],
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<bool, TrafficError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match stream::receive(self.socket(), &mut buffer[filled..], 0) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => {
                    return Err(TrafficError::Closed {
                        peer: self.peer,
                        when: "in the middle of a message",
                    });
                }
                Ok(read) => {
                    filled += read;
                    if filled < buffer.len() {
                        limit.check(now(), doing, self.peer)?;
                    }
                }
                Err(error) => self.retry_or_fail(error, limit, doing)?,
            }
        }
        Ok(true)
    }

    /// A call that failed by its timeout or a signal is repeated while the limit allows it; every
    /// other failure is final.
    pub(crate) fn retry_or_fail(
        &self,
        error: io::Error,
        limit: &Limit<'_>,
        doing: &'static str,
    ) -> Result<(), TrafficError> {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => limit.check(now(), doing, self.peer),
            _ => Err(TrafficError::Socket { operation: doing, object: self.peer, source: error }),
        }
    }
}
