//! The input of a comparison: runs as speeds of cells.

use serde::{Deserialize, Serialize};

use super::{ComparedRow, Side, Unit};
use crate::cell::Row;
use crate::record::CellRecord;
use crate::schedule;

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

/// A run as its readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<R = Row> {
    /// The name of the run.
    pub name: String,
    /// Its valid cells, in any order.
    pub readings: Vec<Reading<R>>,
}

/// Runs that repeat one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<R = Row> {
    /// As the user named it.
    pub name: String,
    /// The network they were made on.
    pub network: String,
    /// The runs of the group, which repeat one another.
    pub runs: Vec<Run<R>>,
}

// By hand, since no row needs a default for it.
impl<R> Default for Run<R> {
    fn default() -> Self {
        Self { name: String::new(), readings: Vec::new() }
    }
}

impl<R> Default for Group<R> {
    fn default() -> Self {
        Self { name: String::new(), network: String::new(), runs: Vec::new() }
    }
}

impl<R> Group<R> {
    /// The group without its readings.
    pub(super) fn side(&self) -> Side {
        let runs = self.runs.iter().map(|run| run.name.clone()).collect();
        Side { name: self.name.clone(), runs, network: self.network.clone() }
    }
}

impl Reading {
    /// The speed of a cell; `None` where it is void or has none above zero.
    ///
    /// The amount of work of a host activity may differ from run to run, so its speed is work over
    /// time.
    pub fn of(record: &CellRecord) -> Option<Self> {
        let per_second = match record.row.unit() {
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
}

impl<R> Reading<R> {
    /// Only what is above zero has a logarithm.
    pub(crate) fn counts(&self) -> bool {
        self.per_second > 0.0 && self.per_second.is_finite()
    }
}
