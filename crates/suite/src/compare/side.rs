//! What goes into a comparison: runs as speeds of cells.

use serde::{Deserialize, Serialize};

use super::{Side, Unit};
use crate::cell::{Component, Row};
use crate::record::CellRecord;
use crate::schedule;

/// The speed of one valid cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Which row it repeats.
    pub row: Row,
    /// In which block of its run.
    pub block: u32,
    /// How much per second, in the unit of its row; more is faster.
    pub per_second: f64,
}

/// A run as its readings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// The run's name.
    pub name: String,
    /// Its valid cells, in any order.
    pub readings: Vec<Reading>,
}

/// Runs that repeat one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    /// As the user named it.
    pub name: String,
    /// The network they were made on.
    pub network: String,
    /// The runs.
    pub runs: Vec<Run>,
}

impl Group {
    /// The group without its readings.
    pub(super) fn side(&self) -> Side {
        let runs = self.runs.iter().map(|run| run.name.clone()).collect();
        Side { name: self.name.clone(), runs, network: self.network.clone() }
    }
}

impl Reading {
    /// The speed of a cell; `None` where it is void or has none above zero.
    ///
    /// The amount of work of a host activity is calibrated anew in every run, so its speed is work over time.
    pub fn of(record: &CellRecord) -> Option<Self> {
        let per_second = match unit(record.row) {
            Unit::Bits => record.network.as_ref()?.goodput_bits_per_second,
            Unit::Requests => 1e9 / schedule::round_trip(record)?,
            Unit::Work => {
                let host = record.host.as_ref()?;
                host.work as f64 / host.duration.seconds()
            }
        };
        let reading = Self { row: record.row, block: record.block, per_second };
        (record.is_valid() && reading.counts()).then_some(reading)
    }

    /// Only what is above zero has a logarithm.
    pub(crate) fn counts(&self) -> bool {
        self.per_second > 0.0 && self.per_second.is_finite()
    }
}

/// What the speeds of `row` count.
pub(super) fn unit(row: Row) -> Unit {
    match row {
        Row::Network { component: Component::InteractiveTcp | Component::InteractiveUdp, .. } => Unit::Requests,
        Row::Network { .. } => Unit::Bits,
        Row::Host { .. } => Unit::Work,
    }
}
