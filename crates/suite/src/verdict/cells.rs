//! The cells of a run, found by row.

use std::collections::BTreeMap;

use btu_stats::KnownVariance;

use super::earlier::EarlierRuns;
use super::processor_costs::{Exposure, PlacedReading, ProcessorCosts};
use super::spreads::KnownSpreads;
use crate::cell::Row;
use crate::compare::Reading;
use crate::record::{CellRecord, HostResult, NetworkResult, ProcessorReadings};

/// A run's cells, the valid and the void ones apart, each row's in the order of their blocks.
pub(super) struct Cells<'a> {
    valid: BTreeMap<Row, Vec<&'a CellRecord>>,
    invalid: BTreeMap<Row, Vec<&'a CellRecord>>,
    placed: Vec<PlacedReading>,
    processor_costs: ProcessorCosts,
    /// What the cells of a row in a block were exposed to.
    exposures: BTreeMap<(Row, u32), Exposure>,
    spreads: &'a KnownSpreads,
}

impl<'a> Cells<'a> {
    /// With what earlier runs tell of the machine.
    pub(super) fn new(records: &'a [CellRecord], known: &'a EarlierRuns) -> Self {
        let (mut valid, mut invalid) = (BTreeMap::new(), BTreeMap::new());
        for record in records {
            let side = if record.is_valid() { &mut valid } else { &mut invalid };
            side.entry(record.row).or_insert_with(Vec::new).push(record);
        }
        for repetitions in valid.values_mut().chain(invalid.values_mut()) {
            repetitions.sort_by_key(|record| (record.block, record.position));
        }
        let mut in_order: Vec<&CellRecord> = valid.values().flatten().copied().collect();
        in_order.sort_by_key(|record| (record.block, record.position));
        let placed = PlacedReading::in_order(
            &in_order.into_iter().filter_map(with_processors).collect::<Vec<_>>(),
        );
        let processor_costs = ProcessorCosts::of(&placed, known);
        let exposure = |cell: &PlacedReading| {
            ((cell.reading.row, cell.reading.block), processor_costs.exposure(cell))
        };
        let exposures = placed.iter().map(exposure).collect();
        let spreads = &known.spreads;
        Self { valid, invalid, placed, processor_costs, exposures, spreads }
    }

    /// What far and slow processors cost.
    pub(super) const fn processor_costs(&self) -> &ProcessorCosts {
        &self.processor_costs
    }

    /// The goodput of each valid cell, as measured, in b/s.
    pub(super) fn placed(&self) -> &[PlacedReading] {
        &self.placed
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

    /// Seconds and octets of each network result of `row`, as near processors at the speed of reference
    /// have them.
    pub(super) fn times(&self, row: Row) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.of(row).iter().filter_map(move |record| {
            let network = record.network.as_ref()?;
            let factor = self.processor_costs.factor(row, self.exposure_of(record));
            Some((network.duration.seconds() * factor, network.bytes.count()))
        })
    }

    /// How much the repetitions of `row` varied in earlier runs.
    pub(super) fn known_spread(&self, row: Row) -> Option<KnownVariance> {
        self.spreads.row(row)
    }

    /// What the row's cells were exposed to on average.
    pub(super) fn exposure(&self, row: Row) -> Exposure {
        Exposure::mean(self.of(row).iter().map(|record| self.exposure_of(record)))
    }

    fn exposure_of(&self, record: &CellRecord) -> Exposure {
        self.exposures.get(&(record.row, record.block)).copied().unwrap_or_default()
    }

    /// The host results of `row`.
    pub(super) fn host(&self, row: Row) -> impl Iterator<Item = &'a HostResult> + '_ {
        self.of(row).iter().filter_map(|record| record.host.as_ref())
    }

    /// Goodput of each repetition in b/s as measured, with its block.
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

fn with_processors(record: &CellRecord) -> Option<(Reading, ProcessorReadings)> {
    let per_second = record.network.as_ref()?.goodput_bits_per_second;
    let reading = Reading { row: record.row, block: record.block, per_second };
    Some((reading, record.machine.processor_readings()))
}
