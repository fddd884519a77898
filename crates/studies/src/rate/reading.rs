//! The speed of a cell, the quantity behind it, and its unit: what comparisons and ratings are made of.

use btu_contract::experiment::SpeedColumns;
use btu_contract::json;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::CellRecord;
use super::row::{Component, Row};
use super::schedule;

/// The speed of one valid cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading<R = Row> {
    /// Which row it repeats.
    pub row: R,
    /// Its block in the run, from 0.
    pub block: u32,
    /// How much per second, in the unit of its row; more is faster.
    pub per_second: f64,
}

/// The unit of a speed, per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Payload bits at the receiver.
    Bits,
    /// Requests of one waiting user: one over the median round trip.
    Requests,
    /// Units of work of a host activity: rounds, bytes.
    Work,
    /// Repetitions of an operation that takes a time, one after the other.
    Times,
}

impl Unit {
    /// That of a row's speeds.
    pub const fn of(row: Row) -> Self {
        match row {
            Row::Network {
                component: Component::InteractiveTcp | Component::InteractiveUdp,
                ..
            } => Self::Requests,
            Row::Network { .. } => Self::Bits,
            Row::Host { .. } => Self::Work,
        }
    }
}

impl Reading {
    /// The speed of a cell; `None` where it is void or has none above zero.
    ///
    /// The amount of work of a host activity may differ from run to run, so its speed is work over
    /// time.
    pub fn of(record: &CellRecord) -> Option<Self> {
        let per_second = match Unit::of(record.row) {
            Unit::Bits | Unit::Times => record.network.as_ref()?.goodput_bits_per_second,
            Unit::Requests => 1e9 / schedule::round_trip(record)?,
            Unit::Work => {
                let host = record.host.as_ref()?;
                host.work as f64 / host.duration.seconds()
            }
        };
        let reading = Self { row: record.row, block: record.block, per_second };
        (record.is_valid() && reading.counts()).then_some(reading)
    }

    /// The speed of a cell by its columns; `None` where it has none above zero.
    ///
    /// # Errors
    /// Columns or a record of another study or version.
    pub fn of_columns(columns: &SpeedColumns) -> serde_json::Result<Option<Self>> {
        if let Some(record) = &columns.record {
            return Ok(Self::of(&serde_json::from_str(record)?));
        }
        let SpeedColumns { block, component, message_bytes, load, goodput_bits_per_second, .. } =
            columns;
        let row = json!({"kind": "network", "component": component, "message_bytes": message_bytes, "load": load});
        let row: Row = json::from_value(&row)?;
        let positive = goodput_bits_per_second.filter(|rate| *rate > 0.0);
        Ok(positive.map(|per_second| Self { row, block: *block, per_second }))
    }
}

impl<R> Reading<R> {
    /// Only what is above zero has a logarithm.
    pub fn counts(&self) -> bool {
        self.per_second > 0.0 && self.per_second.is_finite()
    }
}
