//! Two pipes of pipe(7), one each way.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use btu_contract::activity::PipeMeeting;
use btu_contract::pipe::Pattern;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::pipe2;
use socket2::Type;

use super::local::UnixRendezvous;
use super::{Pipe, Setup, Terms, pieces};
use crate::clock::Limit;
use crate::error::TrafficError;

/// A pair of pipes that is yet to be made, by the end that listens.
pub(super) struct OsPipe {
    rendezvous: UnixRendezvous,
    /// The size of each pipe in bytes (`F_SETPIPE_SZ`); the system's own choice when absent.
    room: Option<i32>,
    /// Whether messages go both ways at once: then no call may wait, and this process waits for
    /// both pipes.
    both_ways: bool,
}

impl Setup for OsPipe {
    type Pipe = TubePipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let room = terms
            .plan
            .socket
            .send_buffer
            .map(|room| i32::try_from(room.count()).unwrap_or(i32::MAX));
        let both_ways = terms.plan.pattern == Pattern::Bidirectional;
        Ok(Self {
            rendezvous: UnixRendezvous::take(meeting, Type::STREAM, terms)?,
            room,
            both_ways,
        })
    }

    fn meet(self, limit: &Limit<'_>) -> Result<TubePipe, TrafficError> {
        let make = || pipe(self.room, self.both_ways);
        let (files, _) = self.rendezvous.share(limit, || {
            let ((there_reads, here_writes), (here_reads, there_writes)) = (make()?, make()?);
            Ok(([here_reads, here_writes], [there_reads, there_writes]))
        })?;
        let [incoming, outgoing] = files.map(File::from);
        Ok(TubePipe::new(incoming, outgoing))
    }
}

fn pipe(room: Option<i32>, both_ways: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let (reads, writes) =
        pipe2(if both_ways { OFlag::O_CLOEXEC | OFlag::O_NONBLOCK } else { OFlag::O_CLOEXEC })?;
    if let Some(bytes) = room {
        fcntl(&writes, FcntlArg::F_SETPIPE_SZ(bytes))?;
    }
    Ok((reads, writes))
}

/// The ends of both pipes that belong to this process.
pub(super) struct TubePipe {
    incoming: File,
    outgoing: File,
}

impl TubePipe {
    pub(super) fn new(incoming: File, outgoing: File) -> Self {
        Self { incoming, outgoing }
    }

    /// Waits until one of both is possible.
    fn wait(&self, sends: bool, receives: bool) -> io::Result<()> {
        let mut polled = Vec::with_capacity(2);
        if sends {
            polled.push(PollFd::new(self.outgoing.as_fd(), PollFlags::POLLOUT));
        }
        if receives {
            polled.push(PollFd::new(self.incoming.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Pipe for TubePipe {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        pieces::send_all(message, |piece| (&self.outgoing).write(piece), || self.wait(true, false))
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        pieces::receive_all(room, |piece| (&self.incoming).read(piece), || self.wait(false, true))
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let send = |piece: &[u8]| (&self.outgoing).write(piece);
        let receive = |piece: &mut [u8]| (&self.incoming).read(piece);
        pieces::exchange(message, room, send, receive, |sends, receives| self.wait(sends, receives))
    }
}
