//! The working directory of a program: an empty directory in memory with a fixed size, removed
//! afterwards.

use std::io;
use std::path::{Path, PathBuf};

use btu_units::Bytes;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;

/// The private directory of one program. No process outside the supervisor's mounts sees it.
#[derive(Debug)]
pub(super) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    /// Mounts an empty one over `path`.
    pub(super) fn open(path: &Path, room: Bytes) -> io::Result<Self> {
        let options = format!("size={},mode=0700", room.count());
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("btu"), path, Some("tmpfs"), flags, Some(options.as_str()))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The path of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is full.
    pub(super) fn is_full(&self) -> bool {
        statvfs(&self.path).is_ok_and(|state| state.blocks() > 0 && state.blocks_available() == 0)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // Processes with open files in it have ended; else it ends with the mount namespace.
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}
