//! Two pipes of pipe(7), one each way.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;

use super::local::Booth;
use super::{Pipe, Setup};
use crate::clock::Limit;
use crate::error::TrafficError;

/// A pair of pipes that is yet to be made, by the end that listens.
pub(super) struct Tube {
    pub(super) booth: Booth,
    /// What each pipe shall hold in bytes (`F_SETPIPE_SZ`); the system's own choice when absent.
    pub(super) room: Option<i32>,
}

impl Setup for Tube {
    type Pipe = TubePipe;

    fn meet(self, limit: &Limit<'_>) -> Result<TubePipe, TrafficError> {
        let files = self.booth.share(limit, || {
            let ((there_reads, here_writes), (here_reads, there_writes)) = (pipe(self.room)?, pipe(self.room)?);
            Ok(([here_reads, here_writes], [there_reads, there_writes]))
        })?;
        let [incoming, outgoing] = files.map(File::from);
        Ok(TubePipe { incoming, outgoing })
    }
}

fn pipe(room: Option<i32>) -> io::Result<(OwnedFd, OwnedFd)> {
    let (reads, writes) = pipe2(OFlag::O_CLOEXEC)?;
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

impl Pipe for TubePipe {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.outgoing.write_all(message)
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.incoming.read_exact(room)
    }
}
