//! Warnings about single cells: void, missing, too short, not started together.

use std::collections::BTreeMap;

use btu_stats::median;
use btu_units::Span;
use serde::Serialize;

use super::super::cells::Cells;
use super::super::context::Context;
use super::{Explanation, count, time};
use crate::rate::plan::Plan;
use crate::rate::row::Row;

/// Cells were measured and do not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvalidCells {
    /// The number of cells that do not count.
    pub cells: u64,
    /// The number of cells that were measured.
    pub of: u64,
    /// Rows that have no valid repetition because of it.
    pub rows_lost: Vec<Row>,
    /// The most frequent fault.
    pub fault: String,
}

impl InvalidCells {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let mut faults: BTreeMap<&str, usize> = BTreeMap::new();
        for fault in cells.invalid().flat_map(|record| &record.faults) {
            *faults.entry(fault).or_default() += 1;
        }
        let (fault, _) = faults.into_iter().max_by_key(|(_, count)| *count)?;
        let lost = |row: &Row| cells.of(*row).is_empty() && !cells.void(*row).is_empty();
        Some(Self {
            cells: cells.invalid_count() as u64,
            of: (cells.valid_count() + cells.invalid_count()) as u64,
            rows_lost: context.plan.rows().into_iter().filter(lost).collect(),
            fault: fault.to_owned(),
        })
    }
}

impl Explanation for InvalidCells {
    fn observed(&self) -> String {
        let lost = match self.rows_lost.as_slice() {
            [] => "every row has others that do".to_owned(),
            [row] => format!("nothing is left of {row}"),
            rows => format!("nothing is left of {} rows", rows.len()),
        };
        let verb = if self.cells == 1 { "does" } else { "do" };
        format!(
            "{} of {} {verb} not count and {lost}; mostly: {}",
            self.cells,
            count(self.of, "cell"),
            self.fault
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "repair the fault first, then measure again; `btu show RUN --cells` lists every cell with its fault".to_owned()
    }
}

/// Planned rows have no cell at all: the run was cut short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotMeasured {
    /// The number of planned rows without a cell.
    pub rows: u64,
    /// The number of planned rows.
    pub of: u64,
}

impl NotMeasured {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let planned = context.plan.rows();
        let rows = planned
            .iter()
            .filter(|row| cells.of(**row).is_empty() && cells.void(**row).is_empty())
            .count();
        (rows > 0).then_some(Self { rows: rows as u64, of: planned.len() as u64 })
    }
}

impl Explanation for NotMeasured {
    fn observed(&self) -> String {
        let verb = if self.rows == 1 { "was" } else { "were" };
        format!("{} of {} {verb} not measured", self.rows, count(self.of, "planned row"))
    }

    fn advice(&self, _: &Plan) -> String {
        "`btu rate --resume RUN` continues where this run stopped".to_owned()
    }
}

/// Network activities were so short that their start dominates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShortCells {
    /// The number of rows with a median duration below 50 ms.
    pub rows: u64,
    /// The number of rated rows that have a duration.
    pub of: u64,
    /// The shortest of these durations, in nanoseconds.
    pub shortest_ns: u64,
}

/// Setting out, slow start and the last acknowledgement take some milliseconds of every activity.
const SHORT: Span = Span::from_milliseconds(50);

impl ShortCells {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let length = |row| {
            let of_row = cells.network(row).map(|network| network.duration.nanoseconds() as f64);
            median(&of_row.collect::<Vec<_>>())
        };
        let lengths: Vec<f64> =
            context.rated_rows(|_, _| true).into_iter().filter_map(length).collect();
        let short =
            || lengths.iter().copied().filter(|length| *length < SHORT.nanoseconds() as f64);
        let shortest_ns = short().reduce(f64::min)? as u64;
        Some(Self { rows: short().count() as u64, of: lengths.len() as u64, shortest_ns })
    }
}

impl Explanation for ShortCells {
    fn observed(&self) -> String {
        let (of, shortest) = (count(self.of, "network activity row"), time(self.shortest_ns));
        format!(
            "{} of {of} lasted less than {SHORT}, the shortest {shortest}: too short, start-up dominates",
            self.rows
        )
    }

    fn advice(&self, plan: &Plan) -> String {
        match plan.volume {
            Some(volume) => {
                format!("a larger `--volume` than {volume}, or none to let the work be calibrated")
            }
            None => "a longer profile, for example `--profile standard`".to_owned(),
        }
    }
}

/// The workers of a cell did not start together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StartSkew {
    /// The number of cells with workers that did not start together.
    pub cells: u64,
    /// The number of valid cells.
    pub of: u64,
    /// The largest difference between two starts, in nanoseconds.
    pub worst_ns: u64,
}

/// A worker that starts later than this share of the cell has missed part of the common time.
const LARGEST_SKEW: f64 = 0.05;

impl StartSkew {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let skewed = || {
            cells.valid().filter(|record| {
                let length = record
                    .network
                    .as_ref()
                    .map_or(Span::ZERO, |network| network.duration)
                    .nanoseconds();
                length > 0 && record.start_skew_ns as f64 > LARGEST_SKEW * length as f64
            })
        };
        let worst_ns = skewed().map(|record| record.start_skew_ns).max()?;
        Some(Self { cells: skewed().count() as u64, of: cells.valid_count() as u64, worst_ns })
    }
}

impl Explanation for StartSkew {
    fn observed(&self) -> String {
        let (of, worst) = (count(self.of, "cell"), time(self.worst_ns));
        format!("in {} of {of} the workers did not start together, up to {worst} apart", self.cells)
    }

    fn advice(&self, _: &Plan) -> String {
        "longer cells make it matter less: `--profile standard`; a quiet machine makes it smaller"
            .to_owned()
    }
}
