//! Pipes over sockets that carry a stream of bytes: TCP and Unix streams.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Pipe;
use crate::sys::stream;

/// A connected stream socket without time-outs.
pub(super) struct StreamPipe<S> {
    socket: S,
}

impl<S: AsFd> StreamPipe<S> {
    /// Takes over a connection.
    pub(super) fn new(socket: S) -> Self {
        Self { socket }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits until one of `wanted` is possible.
    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
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
        let mut filled = 0;
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
                let wanted = |flag, is_wanted| if is_wanted { flag } else { PollFlags::empty() };
                self.wait(
                    wanted(PollFlags::POLLOUT, sent < message.len()) | wanted(PollFlags::POLLIN, filled < room.len()),
                )?;
            }
        }
        Ok(())
    }
}

/// A call that a signal has interrupted is made again.
fn excuse(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

fn now_or_nothing(moved: io::Result<usize>) -> io::Result<usize> {
    moved.or_else(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    })
}

/// The peer has closed.
pub(super) fn ended() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone")
}
