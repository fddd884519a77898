//! The errors of a store, and what its user can do about them.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

use crate::plain::LONGEST_LABEL;
use crate::run::RunId;

/// Why the store could not do what was asked; each is one line that ends in what to do next.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No environment variable names a place for data.
    #[error(
        "no place to keep runs: none of BTU_DATA, XDG_DATA_HOME and HOME is set; set BTU_DATA to a directory"
    )]
    NoHome,
    /// The directory or file cannot be made or written.
    #[error("cannot write `{}`: {reason}; set BTU_DATA to a directory that you may write to", path.display())]
    Unwritable {
        /// The directory or file.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The file is not a database of btu.
    #[error("`{}` is not a database of btu runs; move it away, or set BTU_DATA to another directory", path.display())]
    NotADatabase {
        /// The path of the file.
        path: PathBuf,
    },
    /// A later version of the program wrote the file.
    #[error(
        "`{}` was written by a newer btu (schema {found}, this program knows {known}); use that version, \
         or set BTU_DATA to another directory", path.display()
    )]
    NewerSchema {
        /// The path of the file.
        path: PathBuf,
        /// The version of the schema that was found.
        found: i64,
        /// The latest schema of this program.
        known: i64,
    },
    /// The limit on the size of files does not let it grow (`ulimit -f`).
    #[error("`{}` may not grow beyond {limit_bytes} B here: raise the limit (`ulimit -f unlimited`)", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit of this process.
        limit_bytes: u64,
    },
    /// No space is left.
    #[error("no space left for `{}`; everything saved so far is kept: free some space and resume the run", path.display())]
    Full {
        /// The path of the database file.
        path: PathBuf,
    },
    /// Another process held the database's write lock for too long.
    #[error("`{}` is kept busy by another program; try again when it has finished", path.display())]
    Busy {
        /// The path of the database file.
        path: PathBuf,
    },
    /// The database contradicts itself.
    #[error("`{}` is damaged: {what}; restore it from a copy, or move it away and start a new one", path.display())]
    Damaged {
        /// The path of the database file.
        path: PathBuf,
        /// The description of what was found.
        what: String,
    },
    /// The stored data of one run contradict each other.
    #[error(
        "run {run} in `{}` cannot be read: {what}; other runs are as they were: `btu runs rm {run} --yes` deletes this one, or \
         copy the file back from where you keep copies", path.display()
    )]
    DamagedRun {
        /// The path of the database file.
        path: PathBuf,
        /// The run in question.
        run: RunId,
        /// The description of what was found.
        what: String,
    },
    /// Another writer is writing the run.
    #[error("run {run} is being written by {}; wait for it to end, or stop it first", owner_name(*owner))]
    Locked {
        /// The run in question.
        run: RunId,
        /// The writer's process id, where it could be read.
        owner: Option<u32>,
    },
    /// The text cannot be a tag.
    #[error(
        "{tag:?} is not a tag: write one word of at most 100 bytes, without commas or control characters, that does not \
         begin with `-` or `tag:`"
    )]
    BadTag {
        /// The text that was given.
        tag: String,
    },
    /// The text cannot be a label.
    #[error(
        "{label:?} is not a label: write one line of at most {LONGEST_LABEL} bytes, without control characters"
    )]
    BadLabel {
        /// The text that was given.
        label: String,
    },
    /// The run could be neither exported nor imported.
    #[error(
        "such a run cannot be kept: {what}; leave it out of names and commands, or write it in a file of their own"
    )]
    Unstorable {
        /// What is wrong with it.
        what: String,
    },
    /// There is no such run.
    #[error("there is no run `{selector}`{}", where_runs_are(*is_empty))]
    UnknownRun {
        /// The name that the caller gave.
        selector: String,
        /// Whether no run is stored at all.
        is_empty: bool,
    },
    /// More than one run matches.
    #[error(
        "`{selector}` fits several runs ({candidates}); write one of these, or more of the uuid"
    )]
    Ambiguous {
        /// The name that the caller gave.
        selector: String,
        /// The runs that match.
        candidates: String,
    },
    /// The cell is stored already.
    #[error(
        "run {run} already has `{row}` in block {block}; stored cells are never overwritten: take the next block"
    )]
    CellExists {
        /// The run in question.
        run: RunId,
        /// The index of the cell's block, from 0.
        block: u32,
        /// The name of the cell's row.
        row: String,
    },
    /// A figure of a cell is infinite or not a number, so it could not be read back.
    #[error(
        "`{row}` has a {field} of {value}, which cannot be stored; leave the result out and say why in its faults"
    )]
    NotFinite {
        /// The name of the cell's row.
        row: String,
        /// The name of the figure.
        field: &'static str,
        /// The value of the figure.
        value: f64,
    },
    /// Any other error of the database.
    #[error("cannot {operation} in `{}`: {source}", path.display())]
    Sqlite {
        /// The operation that failed.
        operation: &'static str,
        /// The path of the database file.
        path: PathBuf,
        /// The error of the database.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Maps an error of `SQLite` about the database at `path` to the cases that a user can act on.
    pub(crate) fn from_sqlite(
        path: &Path,
        operation: &'static str,
        source: rusqlite::Error,
    ) -> Self {
        let path = path.to_owned();
        // A write beyond the limit is reported as an I/O error.
        let is_write = matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::DiskFull)
        );
        if let Some(limit_bytes) = largest_file().filter(|_| is_write) {
            return Self::TooLarge { path, limit_bytes };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            // A file that cannot grow (the shared memory of the log, for instance) is reported as
            // an I/O error.
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if disk_is_full(&path) => {
                Self::Full { path }
            }
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, what: source.to_string() },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::Unwritable { path, reason: source.to_string() }
            }
            _ => Self::Sqlite { operation, path, source },
        }
    }

    /// Maps an error of the system about a file.
    pub(crate) fn from_io(path: &Path, source: &io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::FileTooLarge => {
                Self::TooLarge { path, limit_bytes: largest_file().unwrap_or(u64::MAX) }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Unwritable { path, reason: source.to_string() },
        }
    }
}

/// The limit on the size of files, if there is one.
fn largest_file() -> Option<u64> {
    let (soft, _) =
        nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_FSIZE).ok()?;
    (soft != nix::libc::RLIM_INFINITY).then_some(soft)
}

/// Whether the file system that holds `path` has no block left for this user.
fn disk_is_full(path: &Path) -> bool {
    let directory = path.parent().unwrap_or(path);
    nix::sys::statvfs::statvfs(directory).is_ok_and(|volume| volume.blocks_available() == 0)
}

fn owner_name(owner: Option<u32>) -> String {
    owner.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

const fn where_runs_are(is_empty: bool) -> &'static str {
    if is_empty {
        ": none is stored yet; `btu rate` makes one, and `btu` alone names other measurements"
    } else {
        "; `btu runs` lists those there are"
    }
}
