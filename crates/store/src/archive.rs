//! Archives: runs in one file, for keeping or for another machine.
//!
//! The file is a gzip stream (RFC 1952) of JSON, one document a line, so that `zcat` shows it to
//! people:
//!
//! ```text
//! {"archive":{"version":2,"runs":1}}
//! {"run":{"uuid":"...","suite":"btu",...}}
//! {"environment":{"moment":"before","document":{...}}}
//! {"event":{"at":"...","level":"warning","text":"..."}}
//! {"cell":{"block":0,"position":0,...,"record":{...}}}
//! {"end":{"sha256":"..."}}
//! ```
//!
//! The lines of a run's data follow its line. The last line holds the SHA-256 of all lines before
//! it (their `\n` included). Documents are as they are stored, so that nothing is lost between
//! versions.
//!
//! A file may come from an untrusted source. It is read a line at a time, with limits on a line, on
//! the whole, and on how much larger than the file the whole may be; everything is checked before
//! anything is stored, documents by reading them back as they will be read later, and stored in one
//! transaction.

mod document;
mod error;
mod export;
mod import;
mod line;
mod readable;
mod reader;
mod rewrite;

pub(crate) use import::check_new;

pub use error::ArchiveError;
#[doc(hidden)]
pub use export::fuzz_sealed;
pub use import::Imported;
#[doc(hidden)]
pub use import::fuzz_import;
pub use line::{CellLine, EnvironmentLine, EventLine, RunLine};
pub use rewrite::{AsStored, Rewrite};

/// The version of the file that this program writes, and the newest it reads.
pub const ARCHIVE_VERSION: u32 = 2;
