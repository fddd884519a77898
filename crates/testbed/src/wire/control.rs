//! The wire's side of the control socket: a few clients, without blocking. A message is one JSON value
//! in a line; each request has one reply.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use btu_contract::json;
use btu_contract::network::Impairments;
use btu_contract::record::WireAccount;
use serde::{Deserialize, Serialize};

/// More clients than this are refused.
const MOST_CLIENTS: usize = 8;

/// The listening socket and the clients on it.
pub(super) struct Control {
    listener: UnixListener,
    clients: Vec<ControlClient>,
}

impl Control {
    pub(super) fn new(listener: UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, clients: Vec::new() })
    }

    /// The descriptors to watch: the listening socket, then each client, with whether it waits for
    /// room to write.
    pub(super) fn watched(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        let clients =
            self.clients.iter().map(|client| (client.stream.as_fd(), !client.outbox.is_empty()));
        std::iter::once((self.listener.as_fd(), false)).chain(clients)
    }

    /// Answers all requests, and returns whether the set of clients changed.
    pub(super) fn serve(&mut self, mut answer: impl FnMut(EmulatorRequest) -> Reply) -> bool {
        let came = self.admit();
        let before = self.clients.len();
        self.clients.retain_mut(|client| client.serve(&mut answer).is_ok());
        came || self.clients.len() != before
    }

    /// Whether every reply has been handed to the kernel.
    pub(super) fn is_quiet(&self) -> bool {
        self.clients.iter().all(|client| client.outbox.is_empty())
    }

    fn admit(&mut self) -> bool {
        let before = self.clients.len();
        // An error here concerns one client only; the next one may succeed.
        while let Ok((stream, _)) = self.listener.accept() {
            if self.clients.len() < MOST_CLIENTS && stream.set_nonblocking(true).is_ok() {
                self.clients.push(ControlClient { stream, inbox: Vec::new(), outbox: Vec::new() });
            }
        }
        self.clients.len() != before
    }
}

/// The connection of a client.
struct ControlClient {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl ControlClient {
    /// Reads, answers and writes as far as it goes; an error means that the client is gone or sent
    /// an invalid request.
    fn serve(&mut self, answer: &mut impl FnMut(EmulatorRequest) -> Reply) -> io::Result<()> {
        let open = self.read()?;
        while let Some(end) = self.inbox.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.inbox.drain(..=end).collect();
            self.reply(&respond(&line, answer))?;
        }
        self.write()?;
        if open { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Takes the available bytes; returns whether more may follow.
    fn read(&mut self) -> io::Result<bool> {
        let mut part = [0; 4096];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Ok(false),
                Ok(count) => self.inbox.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.inbox.len() > LONGEST_LINE {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        if self.outbox.len() > LONGEST_LINE {
            // The client sends without reading.
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.outbox.extend_from_slice(serde_json::to_string(reply)?.as_bytes());
        self.outbox.push(b'\n');
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn respond(line: &[u8], answer: &mut impl FnMut(EmulatorRequest) -> Reply) -> Reply {
    match json::from_octets(line) {
        Ok(request) => answer(request),
        Err(error) => Reply::Refused(format!("not a request: {error}")),
    }
}

/// For fuzzers: any bytes as a request.
#[doc(hidden)]
pub fn fuzz_control(line: &[u8]) {
    let reply = respond(line, &mut |request| Reply::Refused(format!("{request:?}")));
    drop(serde_json::to_string(&reply));
}

/// A request of the controller.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EmulatorRequest {
    /// Asks the wire to answer when it carries frames: a caller with this version may continue.
    Hello(u32),
    /// Impair incoming packets at these hosts from now on; others do not change.
    Set(Impairments),
    /// Show the accounts since the last reset.
    Account,
    /// The emulator resets its accounts.
    Reset,
    /// The emulator ends.
    Stop,
}

/// A reply of the emulator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reply {
    /// The request was carried out.
    Done,
    /// The reply contains the accounts.
    Account(Box<WireAccount>),
    /// The request is refused, for this reason.
    Refused(String),
}

/// The version: counts incompatible changes of this protocol.
pub(super) const VERSION: u32 = 2;

/// Longest line either side accepts: a request is far shorter, an account of a thousand stations a
/// fraction of it.
pub(super) const LONGEST_LINE: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    fn control() -> (tempfile::TempDir, Control, UnixStream) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("wire");
        let control = Control::new(UnixListener::bind(&path).unwrap()).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        (directory, control, client)
    }

    #[test]
    fn nonsense_is_refused_and_the_line_after_it_served() {
        let (_directory, mut control, mut client) = control();
        client.write_all(b"nonsense\n\"reset\"\n").unwrap();
        control.serve(|_| Reply::Done);
        let mut lines = BufReader::new(client).lines();
        assert!(lines.next().unwrap().unwrap().contains("refused"));
        assert_eq!(lines.next().unwrap().unwrap(), "\"done\"");
    }

    #[test]
    fn a_line_without_end_ends_the_client_only() {
        let (_directory, mut control, mut client) = control();
        client.set_nonblocking(true).unwrap();
        let flood = vec![b'x'; 64 << 10];
        let mut sent = 0;
        while sent <= 2 * LONGEST_LINE {
            match client.write(&flood) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    control.serve(|_| Reply::Done);
                }
                Err(_) => break,
            }
        }
        control.serve(|_| Reply::Done);
        assert!(control.clients.is_empty());
    }

    #[test]
    fn clients_beyond_the_limit_are_turned_away() {
        let (directory, mut control, _client) = control();
        let more: Vec<_> =
            (0..20).map(|_| UnixStream::connect(directory.path().join("wire")).unwrap()).collect();
        control.serve(|_| Reply::Done);
        assert_eq!(control.clients.len(), MOST_CLIENTS);
        drop(more);
    }
}
