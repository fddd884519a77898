//! The directory in which a server's programs compute. The next server removes that of one that was killed.

use std::fs::{self, File};
use std::path::Path;

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

/// What cannot be removed is another user's, or will be tried again.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_directory || !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(directory) = File::open(entry.path()) else { continue };
        if directory.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
