//! Pipes over sockets that carry a stream of bytes: TCP and Unix streams.

use std::hint::spin_loop;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use btu_units::Span;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::pieces::ended;
use super::{Pipe, pieces};
use crate::clock::now;
use crate::sys::stream;

/// `POLLRDHUP`, which poll(2) has and the wrapper does not name.
#[cfg(feature = "mpi")]
const PEER_ENDED: PollFlags = PollFlags::from_bits_retain(libc::POLLRDHUP);

/// A connected stream socket without timeouts.
pub(super) struct StreamPipe<S> {
    socket: S,
    /// The time for which a receiver polls before it sleeps.
    look: Span,
    note: Option<String>,
}

impl<S: AsFd> StreamPipe<S> {
    /// Takes over a connection.
    pub(super) fn new(socket: S) -> Self {
        Self { socket, look: Span::ZERO, note: None }
    }

    /// A receiver polls for `span` before it sleeps (`SO_BUSY_POLL` and, since that is a matter of
    /// drivers and privileges, calls that do not wait). `refusal` is why the kernel does not.
    pub(super) fn looking(self, span: Span, refusal: Option<io::Error>) -> Self {
        let note = refusal.map(|why| {
            format!("SO_BUSY_POLL is refused ({why}): receivers looked from the program alone")
        });
        Self { look: span, note, ..self }
    }

    /// Whether the connection has come to an end.
    pub(super) fn is_ended(&self) -> io::Result<bool> {
        let mut polled = [PollFd::new(self.fd(), PollFlags::empty())];
        poll(&mut polled, PollTimeout::ZERO)?;
        Ok(polled[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)))
    }

    /// Whether the peer will send no more.
    #[cfg(feature = "mpi")]
    pub(super) fn peer_has_left(&self) -> io::Result<bool> {
        let mut polled = [PollFd::new(self.fd(), PEER_ENDED)];
        Ok(poll(&mut polled, PollTimeout::ZERO)? > 0)
    }

    fn look(&self, room: &mut [u8]) -> io::Result<usize> {
        let until = now() + self.look;
        loop {
            match stream::receive(self.fd(), room, libc::MSG_DONTWAIT) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && now() < until => spin_loop(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Ok(0) => return Err(ended()),
                other => return other,
            }
        }
    }

    /// The socket of the connection.
    pub(super) fn socket(&self) -> &S {
        &self.socket
    }

    /// The file descriptor, for system calls.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits until one of `wanted` is possible.
    pub(super) fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(self.fd(), wanted)], PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl<S: AsFd + Send> Pipe for StreamPipe<S> {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let fd = self.fd();
        pieces::send_all(
            message,
            |piece| stream::send(fd, piece, 0),
            || self.wait(PollFlags::POLLOUT),
        )
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        let filled = if self.look == Span::ZERO { 0 } else { self.look(room)? };
        // Not MSG_WAITALL, which keeps the socket while all of a long message is copied: data that
        // arrive meanwhile must wait.
        let receive = |piece: &mut [u8]| stream::receive(self.fd(), piece, 0);
        pieces::receive_all(&mut room[filled..], receive, || self.wait(PollFlags::POLLIN))
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let send = |piece: &[u8]| stream::send(self.fd(), piece, libc::MSG_DONTWAIT);
        let receive = |piece: &mut [u8]| stream::receive(self.fd(), piece, libc::MSG_DONTWAIT);
        pieces::exchange(message, room, send, receive, |sends, receives| {
            self.wait(wanted(sends, receives))
        })
    }

    fn notes(&self) -> Vec<String> {
        self.note.iter().cloned().collect()
    }
}

/// What to wait for, to send or to receive.
pub(super) fn wanted(sending: bool, receiving: bool) -> PollFlags {
    let flag = |flag, is_wanted| if is_wanted { flag } else { PollFlags::empty() };
    flag(PollFlags::POLLOUT, sending) | flag(PollFlags::POLLIN, receiving)
}
