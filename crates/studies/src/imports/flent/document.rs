//! The parts of Flent's document that are used.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::imports::parse::{BoundedList, BoundedMap};

#[derive(Deserialize)]
pub(super) struct FlentDocument {
    /// Of the format.
    #[serde(default)]
    pub(super) version: f64,
    pub(super) metadata: Metadata,
    /// Seconds since the start.
    pub(super) x_values: BoundedList<f64>,
    /// A value for each of `x_values`, where there is one.
    pub(super) results: BoundedMap<BoundedList<Option<f64>>>,
    /// What Flent's programs printed, before it was laid on the grid.
    #[serde(default)]
    pub(super) raw_values: BoundedMap<BoundedList<Raw>>,
}

#[derive(Deserialize)]
pub(super) struct Raw {
    /// Seconds since 1970.
    pub(super) t: Option<RawValue>,
    pub(super) val: Option<RawValue>,
    /// How long it was measured; only netperf's values have it.
    pub(super) dur: Option<IgnoredAny>,
}

impl RawValue {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Other(_) => None,
        }
    }
}

/// Some programs print words.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawValue {
    Number(f64),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) struct Metadata {
    /// The test.
    pub(super) name: String,
    /// Wall time of the start.
    pub(super) time: Option<String>,
    pub(super) host: Option<String>,
    pub(super) title: Option<String>,
    pub(super) note: Option<String>,
    /// Seconds, with what is before and after the load.
    pub(super) total_length: Option<f64>,
    pub(super) flent_version: Option<String>,
    pub(super) failed_runners: Option<f64>,
    #[serde(default)]
    pub(super) series_meta: BoundedMap<SeriesMeta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) struct SeriesMeta {
    pub(super) units: Option<String>,
    /// What a program said of its whole time.
    pub(super) mean_value: Option<f64>,
    /// There where the series is a sum or an average of others.
    pub(super) computed_late: Option<IgnoredAny>,
}
