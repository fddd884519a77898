//! A pipe through which the kernel passes a file to a connection, or what arrives on one into a file, so that no byte
//! of it passes through this program (splice(2)).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::pipe2;

use crate::LoadError;

/// Its size if the system allows it: the most for an ordinary user.
const PIPE: i32 = 1 << 20;

/// Both ends, held by one thread.
pub(super) struct Conduit {
    end: OwnedFd,
    begin: OwnedFd,
}

impl Conduit {
    /// An empty one, as large as the system gives.
    pub(super) fn open() -> Result<Self, LoadError> {
        let failed = |errno: nix::Error| LoadError::Kernel {
            operation: "make a pipe",
            source: errno.into(),
        };
        let (end, begin) = pipe2(OFlag::O_CLOEXEC).map_err(failed)?;
        // A smaller one is filled more often.
        let _ = fcntl(&begin, FcntlArg::F_SETPIPE_SZ(PIPE));
        Ok(Self { end, begin })
    }

    /// Takes the arrived data, up to `most` bytes, if it is empty; returns their number, 0 when the
    /// peer has ended its half.
    pub(super) fn fill(&self, from: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
        Ok(splice(from, None, &self.begin, None, most, SpliceFFlags::SPLICE_F_MOVE)?)
    }

    /// Passes up to `most` bytes that it holds on to a connection; returns their number.
    pub(super) fn drain(&self, to: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
        Ok(splice(&self.end, None, to, None, most, SpliceFFlags::SPLICE_F_MOVE)?)
    }

    /// The end into which data are written.
    pub(super) fn begin(&self) -> BorrowedFd<'_> {
        self.begin.as_fd()
    }

    /// The end from which its data are read.
    pub(super) fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}
