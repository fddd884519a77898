//! Pipes over sockets that carry a stream of bytes: TCP and Unix streams.

use std::hint::spin_loop;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use btu_units::Span;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Pipe;
use crate::clock::now;
use crate::sys::stream;

/// A connected stream socket without time-outs.
pub(super) struct StreamPipe<S> {
    socket: S,
    /// How long a receiver looks before it sleeps.
    look: Span,
    note: Option<String>,
}

impl<S: AsFd> StreamPipe<S> {
    /// Takes over a connection.
    pub(super) fn new(socket: S) -> Self {
        Self { socket, look: Span::ZERO, note: None }
    }

    /// A receiver looks for `span` whether something has come before it sleeps (`SO_BUSY_POLL` and, since that is a matter of
    /// drivers and privileges, calls that do not wait). `refusal` is why the kernel does not.
    pub(super) fn looking(self, span: Span, refusal: Option<io::Error>) -> Self {
        let note =
            refusal.map(|why| format!("SO_BUSY_POLL is refused ({why}): receivers looked from the program alone"));
        Self { look: span, note, ..self }
    }

    /// Whether the connection has come to an end.
    pub(super) fn is_ended(&self) -> io::Result<bool> {
        let mut polled = [PollFd::new(self.fd(), PollFlags::empty())];
        poll(&mut polled, PollTimeout::ZERO)?;
        Ok(polled[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)))
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

    /// The connection.
    pub(super) fn socket(&self) -> &S {
        &self.socket
    }

    /// For system calls.
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
    fn send(&mut self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match stream::send(self.fd(), message, 0) {
                Ok(sent) => message = &message[sent..],
                Err(error) => excuse(error)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        let mut filled = if self.look == Span::ZERO { 0 } else { self.look(room)? };
        while filled < room.len() {
            match stream::receive(self.fd(), &mut room[filled..], libc::MSG_WAITALL) {
                Ok(0) => return Err(ended()),
                Ok(read) => filled += read,
                Err(error) => excuse(error)?,
            }
        }
        Ok(())
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let (mut sent, mut filled) = (0, 0);
        while sent < message.len() || filled < room.len() {
            let before = sent + filled;
            if sent < message.len() {
                sent += now_or_nothing(stream::send(self.fd(), &message[sent..], libc::MSG_DONTWAIT))?;
            }
            if filled < room.len() {
                let read = stream::receive(self.fd(), &mut room[filled..], libc::MSG_DONTWAIT);
                if matches!(read, Ok(0)) {
                    return Err(ended());
                }
                filled += now_or_nothing(read)?;
            }
            if sent + filled == before {
                self.wait(wanted(sent < message.len(), filled < room.len()))?;
            }
        }
        Ok(())
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

/// A call that a signal has interrupted is made again.
pub(super) fn excuse(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// What was moved without waiting: perhaps nothing.
pub(super) fn now_or_nothing(moved: io::Result<usize>) -> io::Result<usize> {
    moved.or_else(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    })
}

/// The peer has closed.
pub(super) fn ended() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone")
}
