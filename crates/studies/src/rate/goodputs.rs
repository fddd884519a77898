//! The input of a rating: the goodput of each valid cell, by row and block.

use std::collections::{BTreeMap, BTreeSet};

use btu_stats::{Estimate, OverBlocks, over_blocks};

use super::LEVEL;
use super::reading::Reading;
use super::row::Row;

/// Goodput of each repetition in b/s, by row and block.
#[derive(Default)]
pub(super) struct Goodputs(BTreeMap<Row, BTreeMap<u32, f64>>);

impl Goodputs {
    /// Of valid cells.
    pub(super) fn of(readings: impl IntoIterator<Item = Reading>) -> Self {
        let mut rows: BTreeMap<Row, BTreeMap<u32, f64>> = BTreeMap::new();
        for reading in readings.into_iter().filter(Reading::counts) {
            rows.entry(reading.row).or_default().insert(reading.block, reading.per_second);
        }
        Self(rows)
    }

    /// Those of a row with their blocks.
    pub(super) fn of_row(&self, row: Row) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.0.get(&row).into_iter().flatten().map(|(block, rate)| (*block, *rate))
    }

    /// Whether `row` has a repetition that counts.
    pub(super) fn has(&self, row: Row) -> bool {
        self.0.contains_key(&row)
    }

    /// The geometric mean of a row with its interval.
    pub(super) fn estimate(&self, row: Row) -> Option<Estimate> {
        self.over(&[row]).map(|over| over.estimate)
    }

    /// The geometric mean over `rows`.
    pub(super) fn over(&self, rows: &[Row]) -> Option<OverBlocks> {
        over_rows(rows.iter().filter_map(|row| self.0.get(row)))
    }

    /// The number of blocks that hold all `rows`.
    pub(super) fn complete_blocks(&self, rows: &[Row]) -> usize {
        let mut common: Option<BTreeSet<u32>> = None;
        for row in rows {
            let blocks: BTreeSet<u32> = self.of_row(*row).map(|(block, _)| block).collect();
            common = Some(match common {
                Some(common) => common.intersection(&blocks).copied().collect(),
                None => blocks,
            });
        }
        common.map_or(0, |common| common.len())
    }
}

/// The geometric mean over rows, each with its values by block.
pub(super) fn over_rows<'a>(
    rows: impl Iterator<Item = &'a BTreeMap<u32, f64>>,
) -> Option<OverBlocks> {
    let rows: Vec<&BTreeMap<u32, f64>> = rows.collect();
    let blocks: BTreeSet<u32> = rows.iter().flat_map(|row| row.keys().copied()).collect();
    let line = |row: &&BTreeMap<u32, f64>| {
        blocks.iter().map(|block| row.get(block).copied()).collect::<Vec<_>>()
    };
    over_blocks(&rows.iter().map(line).collect::<Vec<_>>(), LEVEL)
}
