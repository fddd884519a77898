//! The errors of archives.

use std::io;

use thiserror::Error;

use crate::{RunId, StoreError};

/// Why an archive could not be written or read. Nothing was imported.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The file is not an archive.
    #[error("this is not an archive of btu runs; `btu runs export` makes one")]
    NotAnArchive,
    /// A later version of the program wrote it.
    #[error(
        "this archive has version {found}, and this btu reads up to {known}: import it with a newer one"
    )]
    Newer {
        /// The version of the format that was found.
        found: u32,
        /// The newest this program reads.
        known: u32,
    },
    /// The archive ends too early.
    #[error("the archive is cut short after line {line}: copy it again")]
    CutShort {
        /// The last whole line.
        line: u64,
    },
    /// The archive contradicts itself.
    #[error("the archive is damaged at line {line}: {what}")]
    Damaged {
        /// Which line, from 1.
        line: u64,
        /// The description of what was found.
        what: String,
    },
    /// The archive is larger than the limit.
    #[error("the archive is refused at line {line}: {what}")]
    TooLarge {
        /// Which line, from 1.
        line: u64,
        /// The part that is too large.
        what: String,
    },
    /// A run is still being written.
    #[error("run {run} is being written; export it when it has ended")]
    Unfinished {
        /// The run in question.
        run: RunId,
    },
    /// A run holds what no btu would import.
    #[error("run {run} cannot be exported, because it could not be imported again: {what}")]
    Unexportable {
        /// The run in question.
        run: RunId,
        /// What it holds.
        what: String,
    },
    /// A run is not to be exported in this form.
    #[error("run {run} {why}")]
    Refused {
        /// The run in question.
        run: RunId,
        /// What is in the way.
        why: String,
    },
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An error of the database.
    #[error(transparent)]
    Store(#[from] StoreError),
}
