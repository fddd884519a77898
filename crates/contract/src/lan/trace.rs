//! A trace of file operations, replayed in time: the operations of one user's programs, a line
//! each.
//!
//! ```text
//! # seconds  operation  file        what
//! 0.000      open       report.odt
//! 0.004      read       report.odt  0 4096
//! 1.250      make       report.new
//! 1.252      write      report.new  0 16384
//! 1.260      flush      report.new
//! 1.262      rename     report.new  report.odt
//! 1.300      stat       report.odt
//! 2.000      remove     notes.txt
//! ```
//!
//! Files that the trace uses before it makes them exist from the beginning, as large as the trace
//! reads and writes them. The reader checks everything: it refuses a trace that a file system could
//! not perform, and names the line.

mod line;
mod state;

use std::fmt;

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use line::OperationLine;
use state::NumberedFiles;

/// The longest text of a trace, in bytes.
const LONGEST_TEXT: usize = 256 << 10;

/// The largest number of operations of a trace.
const MOST_OPERATIONS: usize = 4000;

/// Most files of one trace at a time.
const MOST_FILES: usize = 32;

/// The largest file of a trace, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// The longest time of a trace.
const LONGEST: Span = Span::from_seconds(300);

/// The operations of a trace, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationTrace {
    text: String,
    operations: Vec<TracedOperation>,
    files: Vec<TracedFile>,
    left: Vec<usize>,
    restored: Vec<usize>,
    names: Vec<String>,
    room: Bytes,
    most_files: usize,
}

/// An operation of a trace, on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedOperation {
    /// Its due time, from the trace's beginning.
    pub at: Span,
    /// The index of its name in [`OperationTrace::names`].
    pub file: usize,
    /// The operation on it.
    pub doing: Replayed,
}

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// It is looked up and opened.
    Open,
    /// A number of octets is read from an offset; all of them exist.
    Read {
        /// The offset of the first octet to read.
        offset: u64,
        /// The number of octets.
        length: usize,
    },
    /// A number of octets is written to an offset.
    Write {
        /// The offset of the first octet to write.
        offset: u64,
        /// The number of octets.
        length: usize,
    },
    /// The written data reach the device.
    Flush,
    /// It is created, or truncated.
    Make,
    /// Its attributes are read.
    Stat,
    /// It is renamed to the name with this number; a file of that name is replaced.
    Rename(usize),
    /// The file is removed.
    Remove,
}

/// A file that exists from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedFile {
    /// The index of its name in [`OperationTrace::names`].
    pub file: usize,
    /// Its size in octets.
    pub size: usize,
}

/// A mistake in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct TraceError {
    /// The number of the line that is wrong, counted from 1.
    pub line: usize,
    /// The mistake, and the correct form.
    pub problem: String,
}

impl TraceError {
    fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }
}

impl OperationTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// The first wrong line, with the correct form.
    pub fn read(text: &str) -> Result<Self, TraceError> {
        if text.len() > LONGEST_TEXT {
            return Err(TraceError::at(
                1,
                format!("the trace has {} octets; {LONGEST_TEXT} at most", text.len()),
            ));
        }
        let mut names = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let before = lines.last().map_or(Span::ZERO, |line: &OperationLine| line.operation.at);
            if let Some(line) = line::read(number, line, before, &mut names)? {
                lines.push(line);
            }
            if lines.len() > MOST_OPERATIONS {
                return Err(TraceError::at(
                    number,
                    format!("more operations than {MOST_OPERATIONS}"),
                ));
            }
        }
        if lines.is_empty() {
            return Err(TraceError::at(
                1,
                "no operation: a line is `SECONDS OPERATION FILE`, such as `0.5 open letter`",
            ));
        }
        let files = state::files_at_first(&lines, names.len());
        let mut state = NumberedFiles::of(&files, names.len());
        for line in &lines {
            state.follow(line, &names)?;
        }
        Ok(Self {
            text: text.to_owned(),
            operations: lines.iter().map(|line| line.operation).collect(),
            left: state.left(&files),
            restored: state.restored(&files),
            files,
            names,
            room: state.most_room(),
            most_files: state.most_files(),
        })
    }

    /// In the order of their times.
    pub fn operations(&self) -> &[TracedOperation] {
        &self.operations
    }

    /// The names of all files of the trace.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Files that exist from the beginning.
    pub fn files(&self) -> &[TracedFile] {
        &self.files
    }

    /// Files that exist at the end and did not at first: they are removed before the next replay.
    pub fn left(&self) -> &[usize] {
        &self.left
    }

    /// Files that existed at first and are removed, replaced or of another size at the end: they
    /// are made again before the next replay.
    pub fn restored(&self) -> &[usize] {
        &self.restored
    }

    /// From its beginning to its end: one mean gap after the last operation, where the next replay
    /// begins.
    pub fn period(&self) -> Span {
        let last = self.operations.last().map_or(Span::ZERO, |operation| operation.at);
        let gaps = (self.operations.len() as u64).saturating_sub(1).max(1);
        last + Span::from_nanoseconds(last.nanoseconds() / gaps).max(Span::from_milliseconds(1))
    }

    /// Octets of files that an operation reads and writes on the average.
    pub fn octets(&self) -> [f64; 2] {
        let (mut read, mut written) = (0.0, 0.0);
        for operation in &self.operations {
            match operation.doing {
                Replayed::Read { length, .. } => read += length as f64,
                Replayed::Write { length, .. } => written += length as f64,
                _ => {}
            }
        }
        [read, written].map(|octets| octets / self.operations.len() as f64)
    }

    /// Most octets that its files hold at a time.
    pub fn room(&self) -> Bytes {
        self.room
    }

    /// Most files that exist at a time.
    pub(crate) fn most_files(&self) -> usize {
        self.most_files
    }
}

impl TryFrom<String> for OperationTrace {
    type Error = TraceError;

    fn try_from(text: String) -> Result<Self, TraceError> {
        Self::read(&text)
    }
}

impl From<OperationTrace> for String {
    fn from(trace: OperationTrace) -> Self {
        trace.text
    }
}

impl fmt::Display for OperationTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a trace of {} operations in {}", self.operations.len(), self.period())
    }
}

/// For fuzzers: any octets as a trace; a model file system of names and sizes performs its
/// operations.
#[doc(hidden)]
pub fn fuzz_operation_trace(octets: &[u8]) {
    if let Ok(trace) = OperationTrace::read(&String::from_utf8_lossy(octets)) {
        state::replay(&trace);
    }
}

#[cfg(test)]
mod tests;
