//! The lines of an archive.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A line of an archive.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ArchiveLine {
    Archive(HeadLine),
    Run(Box<RunLine>),
    Environment(EnvironmentLine),
    Event(EventLine),
    Cell(Box<CellLine>),
    End(EndLine),
}

/// The head of the file: format and version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeadLine {
    pub(super) version: u32,
    pub(super) runs: usize,
}

/// A row of the table `runs` with its tags, without its number, which is another in every database.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLine {
    /// The name of the run in every database.
    pub uuid: String,
    /// The study that measured it.
    pub study: String,
    /// The profile of its plan.
    pub profile: String,
    /// The network of its plan, in words.
    pub network: String,
    /// The user's text about it.
    pub label: Option<String>,
    /// The user's words to find it by.
    pub tags: Vec<String>,
    /// How it ended.
    pub state: String,
    /// Wall time of the start, RFC 3339.
    pub created: String,
    /// Wall time of the end, RFC 3339.
    pub finished: Option<String>,
    /// The seed of everything random: a decimal number.
    pub seed: String,
    /// Version of the program that made it.
    pub btu_version: String,
    /// The largest number of cells of its plan.
    pub planned_cells: u32,
    /// The plan, as JSON.
    pub plan: Box<RawValue>,
    /// The name of the plan.
    pub plan_hash: String,
    /// The calibrated amounts of work, as JSON.
    pub calibration: Option<Box<RawValue>>,
    /// Its measuring time, in nanoseconds; null if that is not known.
    pub spent_ns: Option<i64>,
}

/// A row of `environments`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentLine {
    /// When it was looked at: `before` or `after`.
    pub moment: String,
    /// The machine, as JSON.
    pub document: Box<RawValue>,
}

/// A row of `events`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLine {
    /// Wall time, RFC 3339.
    pub at: String,
    /// Its severity.
    pub level: String,
    /// What happened.
    pub text: String,
}

/// A row of `cells`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellLine {
    /// The index of its block, from 0.
    pub block: u32,
    /// Its place in the block, from 0.
    pub position: u32,
    /// Its component.
    pub component: String,
    /// The size of its messages, in bytes.
    pub message_bytes: i64,
    /// Its load.
    pub load: String,
    /// Whether it counts.
    pub valid: bool,
    /// Its goodput, in bits per second.
    pub goodput_bits_per_second: Option<f64>,
    /// How long its network activity took, in nanoseconds.
    pub duration_ns: Option<i64>,
    /// How long its host activity took, in nanoseconds.
    pub host_duration_ns: Option<i64>,
    /// Its record, as JSON.
    pub record: Box<RawValue>,
}

/// The SHA-256 of all lines before it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) sha256: String,
}
