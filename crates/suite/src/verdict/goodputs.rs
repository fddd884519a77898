//! The input of a rating: the goodput of each valid cell, by row.

use std::collections::{BTreeMap, BTreeSet};

use btu_stats::{LogSample, block_ratings};

use super::cells::Cells;
use crate::cell::Row;
use crate::compare::Reading;

/// Goodput of each repetition in b/s, with its block; each row's in the order of their blocks.
pub(super) struct Goodputs(BTreeMap<Row, Vec<(u32, f64)>>);

impl Goodputs {
    /// The goodputs of whole cells.
    pub(super) fn of_cells(cells: &Cells) -> Self {
        Self(cells.rows().map(|row| (row, cells.goodputs(row))).collect())
    }

    /// The goodputs of speeds, which are those of the rated rows.
    pub(super) fn of_readings(readings: &[Reading]) -> Self {
        let mut rows: BTreeMap<Row, Vec<(u32, f64)>> = BTreeMap::new();
        for reading in readings.iter().filter(|reading| reading.counts()) {
            rows.entry(reading.row).or_default().push((reading.block, reading.per_second));
        }
        for repetitions in rows.values_mut() {
            repetitions.sort_by_key(|(block, _)| *block);
        }
        Self(rows)
    }

    fn of(&self, row: Row) -> &[(u32, f64)] {
        self.0.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Those of a row without their blocks, for inference.
    pub(super) fn sample(&self, row: Row) -> Option<LogSample> {
        LogSample::of(&self.of(row).iter().map(|(_, rate)| *rate).collect::<Vec<_>>())
    }

    /// The geometric mean over `rows` for each block that holds at least half of them, and how many
    /// blocks hold all.
    pub(super) fn block_ratings(&self, rows: &[Row]) -> (Vec<f64>, usize) {
        let by_row: Vec<BTreeMap<u32, f64>> =
            rows.iter().map(|&row| self.of(row).iter().copied().collect()).collect();
        let blocks: BTreeSet<u32> = by_row.iter().flat_map(|row| row.keys().copied()).collect();
        let line = |row: &BTreeMap<u32, f64>| {
            blocks.iter().map(|block| row.get(block).copied()).collect::<Vec<_>>()
        };
        let complete =
            blocks.iter().filter(|block| by_row.iter().all(|row| row.contains_key(block)));
        let complete = complete.count();
        (block_ratings(&by_row.iter().map(line).collect::<Vec<_>>()), complete)
    }
}
