//! The input of a comparison: runs as speeds of cells.

use std::collections::BTreeMap;

use btu_stats::LogSample;
use serde::{Deserialize, Serialize};

use super::{ComparedRow, RunCosts, Side, Unit};
use crate::cell::Row;
use crate::record::CellRecord;
use crate::schedule;
use crate::verdict::{DistanceCost, FarCost, SlowCost};

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
    /// The costs of far and slow processors that were taken out of the readings.
    pub taken_out: Vec<TakenOut<R>>,
}

/// A cost of far or slow processors that was taken out of speeds of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenOut<R = Row> {
    /// The cost, for users.
    pub cost: TakenCost,
    /// Its error, as a logarithm. All cells from which it was taken out have it in common.
    pub error: LogSample,
    /// What a row's cells were exposed to on average: the share of far cells, slowness or distance as a
    /// logarithm; zero where a row is absent.
    pub exposure: BTreeMap<R, f64>,
}

/// What was taken out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TakenCost {
    /// That of far processors, of one message size.
    Far(FarCost),
    /// That of slow ones.
    Slow(SlowCost),
    /// What goes along with the latency of near ones.
    Distance(DistanceCost),
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
        Self { name: String::new(), readings: Vec::new(), taken_out: Vec::new() }
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
        let taken_out = self.runs.iter().filter_map(Run::costs).collect();
        Side { name: self.name.clone(), runs, network: self.network.clone(), taken_out }
    }
}

impl<R> Run<R> {
    /// What was taken out of it; `None` if nothing was.
    fn costs(&self) -> Option<RunCosts> {
        let (mut costs, mut slow, mut distance) = (Vec::new(), None, None);
        for taken in &self.taken_out {
            match taken.cost {
                TakenCost::Far(cost) => costs.push(cost),
                TakenCost::Slow(cost) => slow = Some(cost),
                TakenCost::Distance(cost) => distance = Some(cost),
            }
        }
        let run = self.name.clone();
        (!self.taken_out.is_empty()).then_some(RunCosts { run, costs, slow, distance })
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
