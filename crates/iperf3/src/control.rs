//! The control connection of a test, at either end: bounded reads and writes with a deadline each,
//! which end when the peer closes the connection or this end is stopped.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{SockRef, TcpKeepalive};

use crate::error::Ending;
use crate::pace::TICK;
use crate::protocol::State;
use crate::registry::Registry;

/// How long a peer that got an error may take to read it.
const LINGER: Duration = Duration::from_secs(1);
/// The number of bytes that are read from it meanwhile.
const LINGER_BYTES: usize = 256 << 10;

/// The interval at which the kernel asks for a peer that is silent.
const KEEPALIVE: Duration = Duration::from_secs(1);

/// A time by which the peer has to do something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    doing: &'static str,
    after: Duration,
    at: Instant,
}

impl Deadline {
    /// So long from now; `doing` completes "it did not".
    pub(crate) fn after(after: Duration, doing: &'static str) -> Self {
        Self { doing, after, at: Instant::now() + after }
    }

    /// The moment.
    pub(crate) fn at(self) -> Instant {
        self.at
    }

    /// The error when the peer is gone before.
    pub(crate) fn gone(self) -> Ending {
        Ending::Gone(self.doing)
    }

    /// The error when it has passed.
    pub(crate) fn late(self) -> Ending {
        Ending::Late { doing: self.doing, after: self.after }
    }
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The peer has sent something, or is gone.
    Peer,
    /// This end may have news.
    Here,
    /// The moment has come.
    Time,
}

/// Who at this end may end a wait.
#[derive(Debug)]
pub(crate) enum News {
    /// The registry of a server's tests, which sends a byte when it has news.
    Registry(Registry, UnixStream),
    /// The flag of a client's caller. It wakes no wait, so it is looked at each [`TICK`].
    Flag(Arc<AtomicBool>),
}

impl News {
    fn is_stopped(&self) -> bool {
        match self {
            Self::Registry(registry, _) => registry.is_stopped(),
            Self::Flag(flag) => flag.load(Ordering::Relaxed),
        }
    }

    fn source(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Registry(_, pipe) => Some(pipe.as_fd()),
            Self::Flag(_) => None,
        }
    }

    fn longest_wait(&self) -> Duration {
        match self {
            Self::Registry(..) => Duration::from_mins(1),
            Self::Flag(_) => TICK,
        }
    }

    /// Takes the bytes that woke this end.
    fn take(&mut self) {
        if let Self::Registry(_, pipe) = self {
            let _ = pipe.read(&mut [0; 64]);
        }
    }
}

/// The control connection.
#[derive(Debug)]
pub(crate) struct ControlConnection {
    stream: TcpStream,
    news: News,
}

impl ControlConnection {
    /// Takes a connection; a server has read the cookie from it.
    pub(crate) fn new(stream: TcpStream, news: News) -> Result<Self, Ending> {
        let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        prepared.map_err(Ending::system("prepare the control connection"))?;
        Ok(Self { stream, news })
    }

    /// Breaks the connection when the peer's kernel has not answered for so long: a host that lost its network
    /// does not say so, and while datagrams flow nothing else would show it.
    pub(crate) fn break_when_vanished(&self, after: Duration) -> Result<(), Ending> {
        let socket = SockRef::from(&self.stream);
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
        let set = socket.set_tcp_keepalive(&keepalive);
        set.and_then(|()| socket.set_tcp_user_timeout(Some(after)))
            .map_err(Ending::system("prepare the control connection"))
    }

    /// Waits until the peer or this end has something, but not beyond `until`.
    pub(crate) fn wait(&mut self, until: Instant) -> Result<Woken, Ending> {
        self.poll(until, PollFlags::POLLIN)
    }

    fn poll(&mut self, until: Instant, interest: PollFlags) -> Result<Woken, Ending> {
        let now = Instant::now();
        if now >= until {
            return Ok(Woken::Time);
        }
        // Rounded up: a wait of less than a millisecond must not spin.
        let left = (until - now).min(self.news.longest_wait()).as_millis().saturating_add(1);
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let stream = || PollFd::new(self.stream.as_fd(), interest);
        // Without a second source the stream stands twice.
        let here = self.news.source();
        let here = here.map_or_else(stream, |source| PollFd::new(source, PollFlags::POLLIN));
        let mut sources = [stream(), here];
        match poll(&mut sources, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Ending::system("wait for the peer")(error.into())),
        }
        let [peer, here] = sources.map(|source| source.any().unwrap_or(false));
        if here {
            self.news.take();
        }
        if self.news.is_stopped() {
            return Err(Ending::Stopped);
        }
        Ok(match (peer, here) {
            (true, _) => Woken::Peer,
            (false, false) if Instant::now() >= until => Woken::Time,
            // Or a signal, or a moment to look: then there is no news.
            (false, _) => Woken::Here,
        })
    }

    /// Sends a state.
    pub(crate) fn say(&mut self, state: State, by: Deadline) -> Result<(), Ending> {
        self.write(&[state.octet()], by)
    }

    /// The state that the peer sends next.
    pub(crate) fn hear(&mut self, by: Deadline) -> Result<State, Ending> {
        let mut octet = [0];
        self.read(&mut octet, by)?;
        match State::of(octet[0]) {
            Some(State::ClientTerminate) => Err(Ending::Terminated),
            Some(state) => Ok(state),
            None => {
                Err(Ending::Nonsense(format!("{}, which is not a state", octet[0].cast_signed())))
            }
        }
    }

    /// Reads a text with its length; `too_long` is the error if it has more than `most` bytes.
    pub(crate) fn read_text(
        &mut self,
        most: usize,
        too_long: impl FnOnce(usize) -> Ending,
        by: Deadline,
    ) -> Result<Vec<u8>, Ending> {
        let mut length = [0; 4];
        self.read(&mut length, by)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > most {
            return Err(too_long(length));
        }
        let mut text = vec![0; length];
        self.read(&mut text, by)?;
        Ok(text)
    }

    /// Writes a text with its length.
    pub(crate) fn write_text(&mut self, text: &str, by: Deadline) -> Result<(), Ending> {
        let length = text.len() as u32;
        self.write(&[&length.to_be_bytes(), text.as_bytes()].concat(), by)
    }

    /// Fills `into`.
    pub(crate) fn read(&mut self, mut into: &mut [u8], by: Deadline) -> Result<(), Ending> {
        while !into.is_empty() {
            match self.stream.read(into) {
                Ok(0) => return Err(by.gone()),
                Ok(octets) => into = &mut into[octets..],
                Err(error) => self.go_on(&error, by, PollFlags::POLLIN)?,
            }
        }
        Ok(())
    }

    /// Writes all of `from`.
    pub(crate) fn write(&mut self, mut from: &[u8], by: Deadline) -> Result<(), Ending> {
        while !from.is_empty() {
            match self.stream.write(from) {
                Ok(octets) => from = &from[octets..],
                Err(error) => self.go_on(&error, by, PollFlags::POLLOUT)?,
            }
        }
        Ok(())
    }

    /// Waits after a call that did nothing, or fails with its error.
    fn go_on(
        &mut self,
        error: &io::Error,
        by: Deadline,
        interest: PollFlags,
    ) -> Result<(), Ending> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            ErrorKind::WouldBlock => match self.poll(by.at, interest)? {
                Woken::Time => Err(by.late()),
                Woken::Peer | Woken::Here => Ok(()),
            },
            _ => Err(by.gone()),
        }
    }

    /// Tells the peer why the test ends, if that is still possible.
    pub(crate) fn say_why(&mut self, farewell: &[u8]) {
        // A few bytes find room, or the peer has not read for long.
        let _ = self.stream.write(farewell);
    }

    /// Lets the peer read the last words: a connection that is closed with unread data is reset.
    pub(crate) fn linger(&self) {
        linger(&self.stream);
    }
}

/// Closes a connection so that what was written reaches the peer.
pub(crate) fn linger(mut stream: &TcpStream) {
    let timed = stream.set_nonblocking(false).is_ok()
        && stream.set_read_timeout(Some(LINGER)).is_ok()
        && stream.shutdown(Shutdown::Write).is_ok();
    let (until, mut left) = (Instant::now() + LINGER, LINGER_BYTES);
    let mut buffer = [0; 4096];
    while timed && left > 0 && Instant::now() < until {
        match stream.read(&mut buffer) {
            Ok(octets) if octets > 0 => left = left.saturating_sub(octets),
            _ => return,
        }
    }
}
