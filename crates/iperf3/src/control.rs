//! The control connection of a test: bounded reads and writes with a deadline each, which end at
//! once when the client closes the connection or the server ends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::Ending;
use crate::protocol::State;
use crate::registry::Place;

/// How long a client that got an error may take to read it.
const LINGER: Duration = Duration::from_secs(1);
/// The number of bytes that are read from it meanwhile.
const LINGER_BYTES: usize = 256 << 10;

/// A time by which a client has to do something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    doing: &'static str,
    after: Duration,
    at: Instant,
}

impl Deadline {
    /// So long from now; `doing` completes "the client did not".
    pub(crate) fn after(after: Duration, doing: &'static str) -> Self {
        Self { doing, after, at: Instant::now() + after }
    }

    /// The moment.
    pub(crate) fn at(self) -> Instant {
        self.at
    }

    /// The error when it has passed.
    pub(crate) fn late(self) -> Ending {
        Ending::Late { doing: self.doing, after: self.after }
    }
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The client has sent something, or is gone.
    Client,
    /// The registry has news.
    Registry,
    /// The moment has come.
    Time,
}

/// The control connection.
#[derive(Debug)]
pub(crate) struct Control {
    stream: TcpStream,
    /// A byte comes here when the registry has news.
    wake: UnixStream,
}

impl Control {
    /// Takes a connection from which the cookie was read.
    pub(crate) fn new(stream: TcpStream, wake: UnixStream) -> Result<Self, Ending> {
        let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        prepared.map_err(Ending::system("prepare the control connection"))?;
        Ok(Self { stream, wake })
    }

    /// Waits until the client or the registry has something, but not beyond `until`.
    pub(crate) fn wait(&mut self, place: &Place, until: Instant) -> Result<Woken, Ending> {
        self.poll(place, until, PollFlags::POLLIN)
    }

    fn poll(
        &mut self,
        place: &Place,
        until: Instant,
        interest: PollFlags,
    ) -> Result<Woken, Ending> {
        let now = Instant::now();
        if now >= until {
            return Ok(Woken::Time);
        }
        // Rounded up: a wait of less than a millisecond must not spin.
        let left = (until - now).as_millis().saturating_add(1);
        let timeout = PollTimeout::try_from(left.min(60_000)).unwrap_or(PollTimeout::MAX);
        let mut sources = [
            PollFd::new(self.stream.as_fd(), interest),
            PollFd::new(self.wake.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut sources, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Ending::system("wait for the client")(error.into())),
        }
        let [client, registry] = sources.map(|source| source.any().unwrap_or(false));
        if registry {
            let mut bytes = [0; 64];
            let _ = self.wake.read(&mut bytes);
        }
        if place.is_stopped() {
            return Err(Ending::Stopped);
        }
        Ok(match (client, registry) {
            (true, _) => Woken::Client,
            (false, false) if Instant::now() >= until => Woken::Time,
            // Or a signal: then there is no news.
            (false, _) => Woken::Registry,
        })
    }

    /// Sends a state.
    pub(crate) fn say(&mut self, place: &Place, state: State, by: Deadline) -> Result<(), Ending> {
        self.write(place, &[state.octet()], by)
    }

    /// The state that the client sends next.
    pub(crate) fn hear(&mut self, place: &Place, by: Deadline) -> Result<State, Ending> {
        let mut octet = [0];
        self.read(place, &mut octet, by)?;
        match State::of(octet[0]) {
            Some(State::ClientTerminate) => Err(Ending::Terminated),
            Some(state) => Ok(state),
            None => Err(Ending::Nonsense(format!("{}, which is no state", octet[0].cast_signed()))),
        }
    }

    /// Reads a text with its length; `too_long` is the error if it has more than `most` bytes.
    pub(crate) fn read_text(
        &mut self,
        place: &Place,
        most: usize,
        too_long: impl FnOnce(usize) -> Ending,
        by: Deadline,
    ) -> Result<Vec<u8>, Ending> {
        let mut length = [0; 4];
        self.read(place, &mut length, by)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > most {
            return Err(too_long(length));
        }
        let mut text = vec![0; length];
        self.read(place, &mut text, by)?;
        Ok(text)
    }

    /// Writes a text with its length.
    pub(crate) fn write_text(
        &mut self,
        place: &Place,
        text: &str,
        by: Deadline,
    ) -> Result<(), Ending> {
        let length = text.len() as u32;
        self.write(place, &[&length.to_be_bytes(), text.as_bytes()].concat(), by)
    }

    fn read(&mut self, place: &Place, mut into: &mut [u8], by: Deadline) -> Result<(), Ending> {
        while !into.is_empty() {
            match self.stream.read(into) {
                Ok(0) => return Err(Ending::Gone(by.doing)),
                Ok(octets) => into = &mut into[octets..],
                Err(error) => self.go_on(place, &error, by, PollFlags::POLLIN)?,
            }
        }
        Ok(())
    }

    fn write(&mut self, place: &Place, mut from: &[u8], by: Deadline) -> Result<(), Ending> {
        while !from.is_empty() {
            match self.stream.write(from) {
                Ok(octets) => from = &from[octets..],
                Err(error) => self.go_on(place, &error, by, PollFlags::POLLOUT)?,
            }
        }
        Ok(())
    }

    /// Waits after a call that did nothing, or fails with its error.
    fn go_on(
        &mut self,
        place: &Place,
        error: &io::Error,
        by: Deadline,
        interest: PollFlags,
    ) -> Result<(), Ending> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            ErrorKind::WouldBlock => match self.poll(place, by.at, interest)? {
                Woken::Time => Err(by.late()),
                Woken::Client | Woken::Registry => Ok(()),
            },
            _ => Err(Ending::Gone(by.doing)),
        }
    }

    /// Tells the client why its test ends, if that is still possible.
    pub(crate) fn say_why(&mut self, ending: &Ending) {
        // A few bytes find room, or the client has not read for long.
        let _ = self.stream.write(&farewell(ending));
    }

    /// Lets the client read the last words: a connection that is closed with unread data is reset.
    pub(crate) fn linger(&self) {
        linger(&self.stream);
    }
}

/// Closes a connection so that what was written reaches the client.
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

/// The bytes with which the protocol says `ending`; none if the client ended the test.
fn farewell(ending: &Ending) -> Vec<u8> {
    let error = |code: i32| {
        [&[State::ServerError.octet()][..], &code.to_be_bytes(), &0_i32.to_be_bytes()].concat()
    };
    match ending {
        Ending::Gone(_) | Ending::Terminated => Vec::new(),
        Ending::Stopped => vec![State::ServerTerminate.octet()],
        Ending::Busy(_) => vec![State::AccessDenied.octet()],
        Ending::Refused { code, .. } => error(*code),
        Ending::Late { .. } | Ending::Nonsense(_) => error(crate::protocol::code::MESSAGE),
        Ending::System { .. } => error(crate::protocol::code::INIT_TEST),
    }
}
