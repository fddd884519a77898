//! What each program of the system is at its two ends, and the texts that it reads as files.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::log::LetIn;
use crate::LoadError;

/// A command of the system that copies.
pub(super) struct CopyCommand {
    pub(super) program: &'static str,
    pub(super) command: Command,
    pub(super) let_in: LetIn,
    /// Its input files, which are removed with this.
    pub(super) held: Vec<MemoryFile>,
}

/// The program that serves a connection.
pub(super) struct ServingProgram {
    pub(super) program: &'static str,
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    pub(super) let_in: LetIn,
    /// Its descriptors 3 and 4, if it accepts texts without a name.
    pub(super) held: Option<[MemoryFile; 2]>,
}

/// A text in memory that other programs of this user can read as a file, as long as this process
/// has it.
#[derive(Debug)]
pub(super) struct MemoryFile(File);

impl MemoryFile {
    pub(super) fn new(text: impl AsRef<[u8]>) -> Result<Self, LoadError> {
        let failed = |operation| move |source| LoadError::Memory { operation, source };
        let made = memfd_create("btu-copy", MFdFlags::MFD_CLOEXEC).map_err(std::io::Error::from);
        let mut file = File::from(made.map_err(failed("create a file"))?);
        file.write_all(text.as_ref()).map_err(failed("write a file"))?;
        // ssh takes no key that others may read.
        file.set_permissions(Permissions::from_mode(0o600))
            .map_err(failed("change whose a file is"))?;
        Ok(Self(file))
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }
}
