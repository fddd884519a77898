//! Files of other programs, read as runs of the suite `foreign`: iperf3, Flent and hyperfine.
//!
//! A file may come from anybody: lists are bounded while they are read, and texts are shown on one
//! line without characters that would control a terminal.

pub mod flent;
pub mod hyperfine;
pub mod iperf3;
mod parse;
#[cfg(test)]
mod tests;

use btu_suite::foreign::ForeignRun;
use btu_units::Span;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What can be imported, in words.
const KINDS: &str = "btu imports what `btu runs export`, `iperf3 -J`, Flent (.flent.gz) and \
                         `hyperfine --export-json` write";

/// The longest text of a file, in bytes: those of most tests have less than one MB. Numbers of one
/// digit take up to ten times as much memory as text.
pub const MOST_BYTES: u64 = 32 << 20;

/// A file of another program.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// What it measured.
    pub run: ForeignRun,
    /// When it began, as far as the file says.
    pub began: Option<Began>,
    /// How long it measured, as far as the file says.
    pub duration: Option<Span>,
}

/// Wall time as a file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Began {
    /// Seconds since 1970.
    UnixSeconds(i64),
    /// RFC 3339, or the same without a time zone, which is UTC then.
    Written(String),
}

/// A program whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImportedProgram {
    Iperf3,
    Flent,
    Hyperfine,
}

/// The names by which a document is recognised.
#[derive(Deserialize)]
struct DocumentKeys {
    start: Option<IgnoredAny>,
    intervals: Option<IgnoredAny>,
    end: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    metadata: Option<IgnoredAny>,
    x_values: Option<IgnoredAny>,
    results: Option<IgnoredAny>,
}

/// Reads a file of any known program, recognised by its content.
///
/// # Errors
/// A sentence that says what is wrong, and where.
pub fn read(text: &str) -> Result<Imported, String> {
    let (name, read) = match ImportedProgram::of(text)? {
        ImportedProgram::Iperf3 => ("iperf3", iperf3::read(text)),
        ImportedProgram::Flent => ("Flent", flent::read(text)),
        ImportedProgram::Hyperfine => ("hyperfine", hyperfine::read(text)),
    };
    read.map_err(|why| format!("this is a file of {name}, but {why}"))
}

impl ImportedProgram {
    fn of(text: &str) -> Result<Self, String> {
        if !text.trim_start().starts_with('{') {
            return Err(unknown());
        }
        let shape: DocumentKeys = parse::document(text)?;
        if shape.start.is_some()
            && (shape.end.is_some() || shape.intervals.is_some() || shape.error.is_some())
        {
            return Ok(Self::Iperf3);
        }
        match (&shape.results, &shape.metadata, &shape.x_values) {
            (Some(_), Some(_), Some(_)) => Ok(Self::Flent),
            (Some(_), None, None) => Ok(Self::Hyperfine),
            _ => Err(unknown()),
        }
    }
}

/// The refusal of what no known program wrote.
pub fn unknown() -> String {
    format!("this is no file that can be imported: {KINDS}")
}
