//! Accepting connections with a bound on how many and a way to stop.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::pump::TICK;

/// A listening stream socket, of whatever family.
pub(super) trait Listener: AsFd {
    type Connection;
    /// Takes a connection that is waiting; an error of kind `WouldBlock` when none is.
    fn take(&self) -> io::Result<Self::Connection>;
    /// Lets `take` come back at once.
    fn do_not_block(&self) -> io::Result<()>;
}

impl Listener for TcpListener {
    type Connection = (TcpStream, SocketAddr);
    fn take(&self) -> io::Result<Self::Connection> {
        let (stream, peer) = self.accept()?;
        stream.set_nonblocking(false)?;
        Ok((stream, peer))
    }
    fn do_not_block(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }
}

impl Listener for UnixListener {
    type Connection = UnixStream;
    fn take(&self) -> io::Result<Self::Connection> {
        let (stream, _) = self.accept()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
    fn do_not_block(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }
}

/// The next connection, or `None` when `goes_on` returns false. Failures of single connections are
/// ignored.
pub(super) fn next<L: Listener>(listener: &L, goes_on: impl Fn() -> bool) -> Option<L::Connection> {
    while goes_on() {
        let mut waiting = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        // An interrupted or failed wait counts as a wait: the loop checks whether to continue.
        if poll(&mut waiting, PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO)).is_err() {
            std::thread::sleep(TICK);
        }
        match listener.take() {
            Ok(connection) => return Some(connection),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Out of descriptors, or the peer is gone already: waiting helps, spinning does not.
            Err(_) => std::thread::sleep(TICK),
        }
    }
    None
}

/// As [`next`], for `time` at most.
pub(super) fn next_within<L: Listener>(
    listener: &L,
    time: Duration,
    goes_on: impl Fn() -> bool,
) -> Option<L::Connection> {
    let end = Instant::now() + time;
    next(listener, || goes_on() && Instant::now() < end)
}

/// The largest number of simultaneous connections.
#[derive(Debug)]
pub(super) struct Slots {
    free: AtomicUsize,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self { free: AtomicUsize::new(count) }
    }

    /// A slot, if one is free; it is given back when dropped.
    pub(super) fn take(&self) -> Option<Slot<'_>> {
        self.free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1))
            .ok()
            .map(|_| Slot { slots: self })
    }
}

/// A place that a connection has taken.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    slots: &'a Slots,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.free.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back() {
        let slots = Slots::new(2);
        let (one, two) = (slots.take(), slots.take());
        assert!(one.is_some() && two.is_some() && slots.take().is_none());
        drop(one);
        assert!(slots.take().is_some());
    }

    #[test]
    fn waiting_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        listener.do_not_block().expect("set");
        assert!(next_within(&listener, Duration::from_millis(20), || true).is_none());
        assert!(next(&listener, || false).is_none());
        let _client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        assert!(next_within(&listener, Duration::from_secs(5), || true).is_some());
    }
}
