//! Files of other programs, read as runs of the study `foreign`: iperf3, Flent and hyperfine.
//!
//! A file may come from anybody: lists are bounded while they are read, and texts are shown on one
//! line without characters that would control a terminal.

pub mod flent;
mod frame;
pub mod hyperfine;
pub mod iperf3;
mod parse;
#[cfg(test)]
mod tests;

pub use frame::text;

use btu_contract::foreign::ForeignRun;
use btu_units::Span;
use serde::de::IgnoredAny;

use self::parse::BoundedMap;

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
#[derive(Debug, Clone, PartialEq)]
pub enum Began {
    /// Seconds since 1970.
    UnixSeconds(i64),
    /// RFC 3339, or the same in the local time of where it was written.
    Written {
        /// The words.
        text: String,
        /// Seconds since 1970 of the first value: of local time they give the zone.
        first: Option<f64>,
    },
}

/// A program whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImportedProgram {
    Iperf3,
    Flent,
    Hyperfine,
}

/// Reads a file of any known program, recognised by its content.
///
/// # Errors
/// A sentence that says what is wrong, and where.
pub fn read(text: &str) -> Result<Imported, String> {
    let (text, lines) = frame::framed(text)?;
    let (name, read) = match ImportedProgram::of(&text)? {
        ImportedProgram::Iperf3 => ("iperf3", iperf3::read(&text)),
        ImportedProgram::Flent => ("Flent", flent::read(&text)),
        ImportedProgram::Hyperfine => ("hyperfine", hyperfine::read(&text)),
    };
    let mut imported = read.map_err(|why| format!("this is a file of {name}, but {why}"))?;
    let run = &mut imported.run;
    if run.faults.is_empty() {
        run.faults.extend(lines.iter().find(|line| line.starts_with("iperf3: error")).cloned());
    }
    if !lines.is_empty() {
        run.remarks
            .push(format!("Around its JSON the file has: {}.", parse::shown(&lines.join("; "))));
    }
    Ok(imported)
}

impl ImportedProgram {
    fn of(text: &str) -> Result<Self, String> {
        let names: BoundedMap<Option<IgnoredAny>> = parse::document(text)?;
        let has = |name: &str| names.0.get(name).is_some_and(Option::is_some);
        if has("start") && ["end", "intervals", "error"].into_iter().any(has) {
            return Ok(Self::Iperf3);
        }
        match (has("results"), has("metadata"), has("x_values")) {
            (true, true, true) => Ok(Self::Flent),
            (true, false, false) => Ok(Self::Hyperfine),
            _ => Err(unknown()),
        }
    }
}

/// The refusal of what no known program wrote.
pub fn unknown() -> String {
    format!("this is not a file that can be imported: {KINDS}")
}
