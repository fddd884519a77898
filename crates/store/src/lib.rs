//! Runs, their cells and all raw samples, in one embedded `SQLite` file.
//!
//! The guarantees of the store:
//! * **A cell that was acknowledged stays.** [`Store::save`] returns after its own transaction
//!   has reached the device (write-ahead log, `synchronous = FULL`), so neither `kill -9` nor a
//!   power cut takes it back.
//! * **Raw data is never overwritten.** A cell is stored once; saving it again is an error.
//! * **One writer per run.** All writing takes a [`RunLock`], an advisory lock that the kernel
//!   drops with the process that holds it: it can never be stale. A run with the stored state
//!   `running` while no process holds its lock is shown as `interrupted`.
//! * **Readers never wait for the writer**, nor the writer for them.
//! * **No clock but a monotonic one**, for how long a run was written. Wall time comes in as RFC
//!   3339 text from the caller.
//!
//! The order of calls: [`Store::open`]; [`Store::create_run`], or [`Store::lock`] and
//! [`Store::reopen`] to resume; [`Store::save_environment`], [`Store::save_calibration`];
//! [`Store::save`] for each cell; [`Store::finish`]. The user's
//! notes about machines ([`Store::save_machine_note`]) belong to no run and take no lock. Reading
//! ([`Store::runs`], [`Store::run`], [`Store::records`]) needs no lock and may happen at any time.

#![forbid(unsafe_code)]

mod archive;
mod cells;
mod data_file;
mod differences;
mod error;
mod foreign;
mod keep;
mod lock;
mod machines;
mod packed;
mod place;
mod plain;
mod read;
mod readings;
mod run;
mod schema;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use archive::{ARCHIVE_VERSION, ArchiveError, Imported};
pub use archive::{AsStored, CellLine, EnvironmentLine, EventLine, Rewrite, RunLine};
#[doc(hidden)]
pub use archive::{fuzz_import, fuzz_sealed};
pub use data_file::open_data_file;
pub use error::StoreError;
pub use keep::{check_label, check_tag};
pub use lock::RunLock;
pub use machines::MachineNote;
pub use read::SERVED;
pub use run::{Event, Level, Moment, NewRun, RunId, RunRow, RunSummary, State};

use crate::lock::Locks;

/// An open database of runs.
///
/// It may be sent to another thread but not shared between threads; every process and thread opens
/// its own.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    locks: Locks,
}

impl Store {
    /// Opens the database at `path`; makes it, and the directories above it, when they are missing
    /// (directories for their owner only, `0700`; the file `0600`), and brings an older schema up
    /// to date.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        place::prepare(&path)?;
        let locks = Locks::next_to(&path);
        let connection = schema::open(&path, &locks)?;
        Ok(Self { path, connection, locks })
    }

    /// Opens the database for a caller that only reads it: a file that may not be written is read
    /// as it is.
    ///
    /// # Errors
    /// As [`Self::open`]; a database of an older schema has to be written once.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let refused = match Self::open(path) {
            Err(error @ StoreError::Unwritable { .. }) if place::may_read(path) => error,
            opened => return opened,
        };
        let (path, locks) = (path.to_owned(), Locks::next_to(path));
        let connection = schema::open_to_read(&path).map_err(|_| refused)?;
        Ok(Self { path, connection, locks })
    }

    /// The default place of the database: `runs.sqlite` in `$BTU_DATA`, else in
    /// `$XDG_DATA_HOME/btu`, else in `~/.local/share/btu` (XDG Base Directory Specification 0.8).
    pub fn default_path() -> Result<PathBuf, StoreError> {
        place::default_path(|name| std::env::var_os(name))
    }

    /// The path of the database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Turns a database error into one that tells the user what to do.
    fn explain(&self, operation: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
        move |source| StoreError::from_sqlite(&self.path, operation, source)
    }
}
