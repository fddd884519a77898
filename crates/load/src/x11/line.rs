//! The connection of a client to an X server, which ends when the order's time does, and counts its
//! octets.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use btu_contract::activity::Token;
use btu_traffic::Limit;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use x11rb::rust_connection::{PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

use super::failed;
use super::packets::Packets;
use crate::account::now;
use crate::copy::COOKIE;

/// How long a connection may take: the retransmissions of three lost packets.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a wait looks at the time.
const TICK_MILLISECONDS: u8 = 100;

/// A client's connection.
pub(super) type X11Connection<'a> = RustConnection<DisplaySocket<'a>>;

/// Connects, and shows the cookie.
pub(super) fn connect<'a>(
    to: SocketAddr,
    token: &Token,
    limit: &'a Limit<'a>,
) -> Result<X11Connection<'a>> {
    let socket = TcpStream::connect_timeout(&to, CONNECT)?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    let line =
        DisplaySocket { socket, to, limit, sent: AtomicU64::new(0), packets: Mutex::default() };
    let name = COOKIE.as_bytes().to_vec();
    RustConnection::connect_to_stream_with_auth_info(line, 0, name, token.to_vec()).map_err(failed)
}

/// A socket.
pub(super) struct DisplaySocket<'a> {
    socket: TcpStream,
    to: SocketAddr,
    limit: &'a Limit<'a>,
    sent: AtomicU64,
    packets: Mutex<Packets>,
}

impl DisplaySocket<'_> {
    /// Octets sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    fn packets(&self) -> MutexGuard<'_, Packets> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for DisplaySocket<'_> {
    fn poll(&self, mode: PollMode) -> Result<()> {
        let readable = if mode.readable() { PollFlags::POLLIN } else { PollFlags::empty() };
        let writable = if mode.writable() { PollFlags::POLLOUT } else { PollFlags::empty() };
        loop {
            let mut polled = [PollFd::new(self.socket.as_fd(), readable | writable)];
            match poll(&mut polled, PollTimeout::from(TICK_MILLISECONDS)) {
                Ok(0) | Err(nix::Error::EINTR) => {}
                done => return done.map(drop).map_err(Into::into),
            }
            let now = now().map_err(failed)?;
            self.limit.check(now, "draw on the X server", self.to).map_err(failed)?;
        }
    }

    fn read(&self, room: &mut [u8], _: &mut Vec<RawFdContainer>) -> Result<usize> {
        let read = uninterrupted(|| (&self.socket).read(room))?;
        self.packets().take(&room[..read])?;
        Ok(read)
    }

    fn write(&self, octets: &[u8], _: &mut Vec<RawFdContainer>) -> Result<usize> {
        let written = uninterrupted(|| (&self.socket).write(octets))?;
        self.sent.fetch_add(written as u64, Ordering::Relaxed);
        self.packets().asked();
        Ok(written)
    }
}

fn uninterrupted(mut call: impl FnMut() -> Result<usize>) -> Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
