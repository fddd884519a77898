//! The input of a rating, and of a comparison of ratings: the goodput of each valid cell, by row.

use std::collections::{BTreeMap, BTreeSet};

use btu_stats::{Estimate, KnownVariance, LogSample, block_ratings, contrast};

use super::LEVEL;
use super::processor_costs::{Exposure, PlacedReading, ProcessorCosts};
use super::spreads::{KnownSpreads, Scope};
use crate::cell::Row;
use crate::compare::{Reading, Run};

/// Goodput of each repetition in b/s, as near processors at the speed of reference have it.
pub(super) struct Goodputs<'a> {
    rows: BTreeMap<Row, Goodput>,
    processor_costs: &'a ProcessorCosts,
    spreads: &'a KnownSpreads,
}

/// The goodput of a row.
#[derive(Default)]
struct Goodput {
    /// Of each repetition with its block, in the order of the blocks.
    repetitions: Vec<(u32, f64)>,
    /// What these cells were exposed to.
    exposures: Vec<Exposure>,
}

impl Goodput {
    fn exposure(&self) -> Exposure {
        Exposure::mean(self.exposures.iter().copied())
    }
}

impl<'a> Goodputs<'a> {
    /// Of valid cells, with what was found of far and slow ones among them, and how much earlier runs varied.
    pub(super) fn of(
        cells: &[PlacedReading],
        processor_costs: &'a ProcessorCosts,
        spreads: &'a KnownSpreads,
    ) -> Self {
        let mut rows: BTreeMap<Row, Goodput> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| cell.reading.counts()) {
            let row = rows.entry(cell.reading.row).or_default();
            let exposure = processor_costs.exposure(cell);
            let factor = processor_costs.factor(cell.reading.row, exposure);
            row.repetitions.push((cell.reading.block, cell.reading.per_second / factor));
            row.exposures.push(exposure);
        }
        for row in rows.values_mut() {
            row.repetitions.sort_by_key(|(block, _)| *block);
        }
        Self { rows, processor_costs, spreads }
    }

    fn repetitions(&self, row: Row) -> &[(u32, f64)] {
        self.rows.get(&row).map_or(&[], |row| row.repetitions.as_slice())
    }

    /// Those of a row without their blocks, for inference.
    pub(super) fn sample(&self, row: Row) -> Option<LogSample> {
        let rates: Vec<f64> = self.repetitions(row).iter().map(|(_, rate)| *rate).collect();
        Some(LogSample::of(&rates)?.knowing(self.spreads.row(row)))
    }

    /// The geometric mean of a row with its interval.
    pub(super) fn estimate(&self, row: Row) -> Option<Estimate> {
        let own = [(1.0, self.sample(row)?)];
        contrast(&[&own[..], &self.errors(&[row])].concat(), LEVEL)
    }

    /// What the errors of the costs add to the geometric mean over `rows`.
    pub(super) fn errors(&self, rows: &[Row]) -> Vec<(f64, LogSample)> {
        let exposure =
            |row: &Row| Some((*row, self.rows.get(row)?.exposure() * (1.0 / rows.len() as f64)));
        self.processor_costs.errors(rows.iter().filter_map(exposure))
    }

    /// How much the ratings of blocks over `scope` varied in earlier runs.
    pub(super) fn known_blocks(&self, scope: Scope) -> Option<KnownVariance> {
        self.spreads.blocks(scope)
    }

    /// The number of these runs.
    pub(super) const fn earlier_runs(&self) -> u32 {
        self.spreads.runs
    }

    /// The run for a comparison.
    pub(super) fn run(&self, name: String) -> Run {
        let readings = self.rows.iter().flat_map(|(&row, goodput)| {
            let repetitions = goodput.repetitions.iter();
            repetitions.map(move |&(block, per_second)| Reading { row, block, per_second })
        });
        let exposures = self.rows.iter().map(|(row, goodput)| (*row, goodput.exposure()));
        let taken_out = self.processor_costs.taken_out(&exposures.collect());
        Run { name, readings: readings.collect(), taken_out }
    }

    /// The geometric mean over `rows` for each block that holds at least half of them, and how many
    /// blocks hold all.
    pub(super) fn block_ratings(&self, rows: &[Row]) -> (Vec<f64>, usize) {
        let by_row: Vec<BTreeMap<u32, f64>> =
            rows.iter().map(|&row| self.repetitions(row).iter().copied().collect()).collect();
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
