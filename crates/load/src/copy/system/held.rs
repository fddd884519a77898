//! Texts that other programs read as files without a name.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::LoadError;

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
