//! Where a program works: an empty directory in memory, of a size that it cannot exceed, and gone
//! after it.

use std::io;
use std::path::{Path, PathBuf};

use btu_units::Bytes;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;

/// A directory of one program's own. No process outside the supervisor's mounts sees it.
#[derive(Debug)]
pub(super) struct Work {
    path: PathBuf,
}

impl Work {
    /// Puts an empty one in the place of `path`.
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

    /// Whether nothing more fits.
    pub(super) fn is_full(&self) -> bool {
        statvfs(&self.path).is_ok_and(|state| state.blocks() > 0 && state.blocks_available() == 0)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Processes that had a file in it have ended; else it goes with the mount namespace.
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}
