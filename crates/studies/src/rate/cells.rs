//! The cells of a run, found by row.

use std::collections::BTreeMap;

use super::reading::Reading;
use super::record::{CellRecord, NetworkResult};
use super::row::Row;

/// A run's cells, the valid and the void ones apart, each row's in the order of their blocks.
pub(super) struct Cells<'a> {
    valid: BTreeMap<Row, Vec<&'a CellRecord>>,
    invalid: BTreeMap<Row, Vec<&'a CellRecord>>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(records: &'a [CellRecord]) -> Self {
        let (mut valid, mut invalid) = (BTreeMap::new(), BTreeMap::new());
        for record in records {
            let side = if record.is_valid() { &mut valid } else { &mut invalid };
            side.entry(record.row).or_insert_with(Vec::new).push(record);
        }
        for repetitions in valid.values_mut().chain(invalid.values_mut()) {
            repetitions.sort_by_key(|record| (record.block, record.position));
        }
        Self { valid, invalid }
    }

    /// The goodput of each valid cell in b/s.
    pub(super) fn readings(&self) -> impl Iterator<Item = Reading> + '_ {
        self.valid().filter_map(|record| {
            let per_second = record.network.as_ref()?.goodput_bits_per_second;
            Some(Reading { row: record.row, block: record.block, per_second })
        })
    }

    /// The valid repetitions of `row`.
    pub(super) fn of(&self, row: Row) -> &[&'a CellRecord] {
        self.valid.get(&row).map_or(&[], Vec::as_slice)
    }

    /// The void repetitions of `row`.
    pub(super) fn void(&self, row: Row) -> &[&'a CellRecord] {
        self.invalid.get(&row).map_or(&[], Vec::as_slice)
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
}
