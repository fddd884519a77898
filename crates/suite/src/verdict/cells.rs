//! The cells of a run, found by row.

use std::collections::BTreeMap;

use crate::cell::Row;
use crate::record::{CellRecord, HostResult, NetworkResult};

/// A run's cells, the valid and the void ones apart, each row's in the order of their blocks.
pub(super) struct Cells<'a> {
    valid: BTreeMap<Row, Vec<&'a CellRecord>>,
    invalid: BTreeMap<Row, Vec<&'a CellRecord>>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(records: &'a [CellRecord]) -> Self {
        let mut cells = Self { valid: BTreeMap::new(), invalid: BTreeMap::new() };
        for record in records {
            let side = if record.is_valid() { &mut cells.valid } else { &mut cells.invalid };
            side.entry(record.row).or_default().push(record);
        }
        for repetitions in cells.valid.values_mut().chain(cells.invalid.values_mut()) {
            repetitions.sort_by_key(|record| (record.block, record.position));
        }
        cells
    }

    /// The valid repetitions of `row`.
    pub(super) fn of(&self, row: Row) -> &[&'a CellRecord] {
        self.valid.get(&row).map_or(&[], Vec::as_slice)
    }

    /// The void repetitions of `row`.
    pub(super) fn void(&self, row: Row) -> &[&'a CellRecord] {
        self.invalid.get(&row).map_or(&[], Vec::as_slice)
    }

    /// The rows of which a repetition is valid.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.valid.keys().copied()
    }

    /// All valid cells.
    pub(super) fn valid(&self) -> impl Iterator<Item = &'a CellRecord> + '_ {
        self.valid.values().flatten().copied()
    }

    /// All cells that do not count.
    pub(super) fn invalid(&self) -> impl Iterator<Item = &'a CellRecord> + '_ {
        self.invalid.values().flatten().copied()
    }

    pub(super) fn valid_count(&self) -> usize {
        self.valid().count()
    }

    pub(super) fn invalid_count(&self) -> usize {
        self.invalid().count()
    }

    /// The network results of `row`.
    pub(super) fn network(&self, row: Row) -> impl Iterator<Item = &'a NetworkResult> + '_ {
        self.of(row).iter().filter_map(|record| record.network.as_ref())
    }

    /// The host results of `row`.
    pub(super) fn host(&self, row: Row) -> impl Iterator<Item = &'a HostResult> + '_ {
        self.of(row).iter().filter_map(|record| record.host.as_ref())
    }

    /// Goodput of each repetition in b/s, with its block.
    pub(super) fn goodputs(&self, row: Row) -> Vec<(u32, f64)> {
        let goodput = |record: &&CellRecord| {
            Some((record.block, record.network.as_ref()?.goodput_bits_per_second))
        };
        self.of(row)
            .iter()
            .filter_map(goodput)
            .filter(|(_, rate)| *rate > 0.0 && rate.is_finite())
            .collect()
    }
}
