//! TLS 1.3 over TCP, by blocking calls.
//!
//! A message is handed to rustls in pieces of up to 64 KiB, which it makes records of up to 16 KiB
//! of; each piece leaves with one system call. Arriving data are read in pieces of that size and
//! parsed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use btu_contract::activity::{PipeMeeting, Token};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::check::network;
use super::pieces::{ended, retry_or_fail};
use super::stream::{StreamPipe, wanted};
use super::{Pipe, Setup, Terms, certificate};
use crate::clock::{Limit, now};
use crate::error::TrafficError;
use crate::sys::stream;
use crate::tcp::acceptor::Endpoint;
use crate::tcp::line::{SocketConfig, TcpConnection};
use crate::token;

/// Bytes taken from the socket at once.
const PIECE: usize = 64 * 1024;

/// A TLS end with a TCP connection that listens or is established.
pub(super) struct Tls {
    endpoint: Endpoint,
    token: Token,
}

/// The first half of the token, which opens the TCP connection in the clear. The other half is only
/// sent inside TLS.
fn knock(token: &Token) -> Token {
    let mut knock = *b"--------btu--tls";
    knock[..8].copy_from_slice(&token[..8]);
    knock
}

impl Setup for Tls {
    type Pipe = TlsPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let config = SocketConfig::pipe(&terms.plan.socket)?;
        let endpoint = Endpoint::take(
            network(meeting)?,
            &knock(&terms.token),
            &config,
            terms.deadline,
            &terms.callers,
        )?;
        Ok(Self { endpoint, token: terms.token })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<TlsPipe, TrafficError> {
        let serves = self.endpoint.endpoint().is_some();
        let line = self.endpoint.meet(&knock(&self.token), limit)?;
        let peer = line.peer();
        let session = session(serves).map_err(TrafficError::socket("make a TLS session", peer))?;
        let mut pipe = TlsPipe { line: StreamPipe::new(line), session, incoming: Incoming::new() };
        pipe.shake_hands(peer, limit)?;
        if serves {
            pipe.hear_token(&self.token, peer, limit)?;
        }
        pipe.send(&self.token).map_err(TrafficError::socket("say the token", peer))?;
        if !serves {
            pipe.hear_token(&self.token, peer, limit)?;
        }
        pipe.line.socket().wait_as_long_as_it_takes()?;
        Ok(pipe)
    }
}

fn session(serves: bool) -> io::Result<Connection> {
    if serves {
        let session =
            ServerConnection::new(Arc::new(certificate::server()?)).map_err(io::Error::other)?;
        return Ok(session.into());
    }
    let name = ServerName::try_from(certificate::NAME).map_err(io::Error::other)?;
    Ok(ClientConnection::new(Arc::new(certificate::any_server()?), name)
        .map_err(io::Error::other)?
        .into())
}

/// Encrypted bytes that were read from the socket and not processed yet.
struct Incoming {
    bytes: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Incoming {
    fn new() -> Self {
        Self { bytes: vec![0; PIECE].into(), begin: 0, end: 0 }
    }
}

/// The socket as rustls sees it.
struct Wire<'a> {
    line: &'a StreamPipe<TcpConnection>,
    flags: i32,
    incoming: &'a mut Incoming,
}

impl Read for Wire<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let incoming = &mut *self.incoming;
        if incoming.begin == incoming.end {
            let length = stream::receive(self.line.fd(), &mut incoming.bytes, self.flags)?;
            (incoming.begin, incoming.end) = (0, length);
        }
        let length = room.len().min(incoming.end - incoming.begin);
        room[..length].copy_from_slice(&incoming.bytes[incoming.begin..incoming.begin + length]);
        incoming.begin += length;
        Ok(length)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stream::send(self.line.fd(), bytes, self.flags)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        stream::send_parts(self.line.fd().as_fd(), parts, self.flags)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pipe over an encrypted connection.
pub(super) struct TlsPipe {
    line: StreamPipe<TcpConnection>,
    session: Connection,
    incoming: Incoming,
}

impl TlsPipe {
    /// Sends pending data; false when that would block.
    fn push(&mut self, flags: i32) -> io::Result<bool> {
        let Self { line, session, incoming } = self;
        match session.write_tls(&mut Wire { line, flags, incoming }) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => retry_or_fail(error).map(|()| true),
            Ok(_) => Ok(true),
        }
    }

    /// Reads and decrypts arrived data; false when there are none.
    fn pull(&mut self, flags: i32) -> io::Result<bool> {
        let Self { line, session, incoming } = self;
        match session.read_tls(&mut Wire { line, flags, incoming }) {
            Ok(0) => return Err(ended()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return retry_or_fail(error).map(|()| true),
        }
        session
            .process_new_packets()
            .map(|_| true)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// The available part of the peer's message, perhaps none.
    fn take(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.session.reader().read(room) {
            Ok(0) => Err(ended()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            other => other,
        }
    }

    fn shake_hands(&mut self, peer: SocketAddr, limit: &Limit<'_>) -> Result<(), TrafficError> {
        let doing = "agree on keys";
        while self.session.is_handshaking() || self.session.wants_write() {
            limit.check(now(), doing, peer)?;
            let moved = if self.session.wants_write() { self.push(0) } else { self.pull(0) };
            moved.map_err(TrafficError::socket(doing, peer))?;
        }
        Ok(())
    }

    fn hear_token(
        &mut self,
        token: &Token,
        peer: SocketAddr,
        limit: &Limit<'_>,
    ) -> Result<(), TrafficError> {
        let (mut said, mut length, doing) = (Token::default(), 0, "hear the token");
        while length < said.len() {
            limit.check(now(), doing, peer)?;
            let heard =
                self.take(&mut said[length..]).map_err(TrafficError::socket(doing, peer))?;
            if heard == 0 {
                self.pull(0).map_err(TrafficError::socket(doing, peer))?;
            }
            length += heard;
        }
        if token::is_same(&said, token) { Ok(()) } else { Err(TrafficError::Token { peer }) }
    }
}

impl Pipe for TlsPipe {
    fn send(&mut self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            let taken = self.session.writer().write(message)?;
            message = &message[taken..];
            while self.session.wants_write() {
                self.push(0)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < room.len() {
            let taken = self.take(&mut room[filled..])?;
            if taken == 0 {
                self.pull(0)?;
            }
            filled += taken;
        }
        Ok(())
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let (mut handed, mut filled) = (0, 0);
        loop {
            if handed < message.len() && !self.session.wants_write() {
                handed += self.session.writer().write(&message[handed..])?;
            }
            if filled < room.len() {
                filled += self.take(&mut room[filled..])?;
            }
            let (sends, receives) = (self.session.wants_write(), filled < room.len());
            if !sends && !receives && handed == message.len() {
                return Ok(());
            }
            let moved = (sends && self.push(libc::MSG_DONTWAIT)?)
                | (receives && self.pull(libc::MSG_DONTWAIT)?);
            if !moved && (sends || receives) {
                self.line.wait(wanted(sends, receives))?;
            }
        }
    }
}
