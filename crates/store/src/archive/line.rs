//! The lines of an archive.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A line of an archive.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    Archive(Head),
    Run(Box<RunLine>),
    Environment(EnvironmentLine),
    Event(EventLine),
    Cell(Box<CellLine>),
    End(End),
}

/// The head of the file: format and version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) runs: usize,
}

/// A row of the table `runs` with its tags, without its number, which is another in every database.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunLine {
    pub(super) uuid: String,
    pub(super) suite: String,
    pub(super) profile: String,
    pub(super) network: String,
    pub(super) label: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) state: String,
    pub(super) created: String,
    pub(super) finished: Option<String>,
    pub(super) seed: String,
    pub(super) btu_version: String,
    pub(super) planned_cells: u32,
    pub(super) plan: Box<RawValue>,
    pub(super) plan_hash: String,
    pub(super) calibration: Option<Box<RawValue>>,
    /// A field that exists since version 2.
    #[serde(default)]
    pub(super) spent_ns: Option<i64>,
}

/// A row of `environments`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnvironmentLine {
    pub(super) moment: String,
    pub(super) document: Box<RawValue>,
}

/// A row of `events`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventLine {
    pub(super) at: String,
    pub(super) level: String,
    pub(super) text: String,
}

/// A row of `cells`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellLine {
    pub(super) block: u32,
    pub(super) position: u32,
    pub(super) component: String,
    pub(super) message_bytes: i64,
    pub(super) load: String,
    pub(super) valid: bool,
    pub(super) goodput_bits_per_second: Option<f64>,
    pub(super) duration_ns: Option<i64>,
    pub(super) host_duration_ns: Option<i64>,
    pub(super) record: Box<RawValue>,
}

/// The SHA-256 of all lines before it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub(super) sha256: String,
}
