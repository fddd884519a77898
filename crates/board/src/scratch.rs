//! The directory in which a server's programs compute. The next server removes that of one that was killed.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::error::BoardError;

const PREFIX: &str = "btu-board-";

/// A directory that is removed with this value, or, if the process is killed, by the next one.
#[derive(Debug)]
pub(crate) struct Scratch {
    directory: TempDir,
    /// Locked as long as the process lives; programs that it starts do not inherit it.
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes those that no server holds.
    pub(crate) fn new() -> Result<Self, BoardError> {
        let failed = |error: std::io::Error| {
            BoardError::Failed(format!("making a directory to compute in: {error}"))
        };
        remove_abandoned(&std::env::temp_dir());
        loop {
            let directory = TempDir::with_prefix(PREFIX).map_err(failed)?;
            let lock = File::open(directory.path()).map_err(failed)?;
            lock.lock().map_err(failed)?;
            // Another server may have taken it for an abandoned one before it was locked.
            if directory.path().is_dir() {
                return Ok(Self { directory, _lock: lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// What cannot be removed will be tried again.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        // No link, and of this user.
        let is_own = |one: fs::Metadata| one.is_dir() && one.uid() == geteuid().as_raw();
        if !entry.metadata().is_ok_and(is_own)
            || !entry.file_name().to_string_lossy().starts_with(PREFIX)
        {
            continue;
        }
        let Ok(directory) = File::open(entry.path()) else { continue };
        if directory.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
