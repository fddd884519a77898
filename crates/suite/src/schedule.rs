//! The next cells: they depend only on the plan and on the stored cells, so a resumed run continues
//! exactly where it stopped.

use std::collections::{BTreeMap, BTreeSet};

use crate::cell::Row;
use crate::plan::Plan;
use crate::record::{CellRecord, Outcome};

/// A cell of a rating to be measured.
pub type Slot = crate::experiment::Slot<Row>;

/// The cells of block `block` that are not stored yet, in their order. Every block holds every row: a
/// row that ended as soon as its values lay close together would have too narrow an interval
/// whenever they do so by chance.
pub fn missing(plan: &Plan, block: u32, records: &[CellRecord]) -> Vec<Slot> {
    let stored: BTreeSet<(u32, Row)> =
        records.iter().map(|record| (record.block, record.row)).collect();
    if block >= plan.profile.most_blocks {
        return Vec::new();
    }
    let order = plan.shuffled(block, plan.rows()).into_iter().zip(0..);
    order
        .filter(|(row, _)| !stored.contains(&(block, *row)))
        .map(|(row, position)| Slot { cell: row, block, position })
        .collect()
}

/// The first cell, in the order of measurement, that is not where the plan's seed puts it: a
/// run that follows its plan has none.
pub fn out_of_place<'a>(plan: &Plan, records: &'a [CellRecord]) -> Option<&'a CellRecord> {
    let mut earlier = 0;
    records.chunk_by(|one, next| one.block == next.block).find_map(|of_block| {
        let (before, first) = (&records[..earlier], &of_block[0]);
        earlier += of_block.len();
        if before.last().is_some_and(|last| last.block > first.block) {
            return Some(first);
        }
        let slots = missing(plan, first.block, before);
        let places: BTreeMap<Row, u32> =
            slots.into_iter().map(|slot| (slot.cell, slot.position)).collect();
        of_block.iter().find(|record| places.get(&record.row) != Some(&record.position))
    })
}

/// The number by which a row is judged: goodput of bulk and datagrams, median round trip of request
/// and response, duration of a host activity alone. `None` if there is none above zero.
pub fn value(record: &CellRecord) -> Option<f64> {
    let value = match record.row {
        Row::Host { .. } => record.host.as_ref()?.duration.seconds(),
        Row::Network { .. } => {
            round_trip(record).or(record.network.as_ref().map(|n| n.goodput_bits_per_second))?
        }
    };
    (value > 0.0 && value.is_finite()).then_some(value)
}

/// The median round trip in ns of request and response.
pub fn round_trip(record: &CellRecord) -> Option<f64> {
    record.reports.iter().find_map(|placed| match &placed.result.as_ref().ok()?.outcome {
        Outcome::Requested(requested) => {
            requested.round_trip.quantile(0.5).map(|nanoseconds| nanoseconds as f64)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use btu_units::Span;

    use super::*;
    use crate::network::Network;
    use crate::plan::Profile;
    use crate::record::HostResult;

    fn plan() -> Plan {
        Plan { components: Vec::new(), ..Plan::whole(3, Profile::quick(), Network::Veth) }
    }

    fn record(slot: Slot, milliseconds: u64) -> CellRecord {
        let host =
            HostResult { work: 1, duration: Span::from_milliseconds(milliseconds), overlap: 0.0 };
        let empty = CellRecord::empty(slot.cell, slot.block, slot.position);
        CellRecord { host: Some(host), ..empty }
    }

    /// Measures whole blocks.
    fn measured(plan: &Plan, blocks: u32) -> Vec<CellRecord> {
        let mut records: Vec<CellRecord> = Vec::new();
        for block in 0..blocks {
            records
                .extend(missing(plan, block, &records).into_iter().map(|slot| record(slot, 100)));
        }
        records
    }

    /// Values that lie close together by chance end nothing.
    #[test]
    fn every_block_holds_every_row_whatever_was_measured() {
        let plan = plan();
        let records = measured(&plan, 3);
        assert_eq!(missing(&plan, 3, &records).len(), plan.rows().len());
    }

    #[test]
    fn a_cell_of_another_run_is_out_of_place() {
        let plan = plan();
        let mut records = measured(&plan, plan.profile.most_blocks);
        assert_eq!(out_of_place(&plan, &records), None);
        assert_eq!(out_of_place(&plan, &records[..4]), None, "an interrupted run");
        let other = Plan { seed: 4, ..plan.clone() };
        assert!(out_of_place(&other, &records).is_some(), "a plan with another seed");
        let (first, second) = (records[0].row, records[1].row);
        (records[0].row, records[1].row) = (second, first);
        assert_eq!(out_of_place(&plan, &records).map(|record| record.row), Some(second));
    }

    #[test]
    fn nothing_is_repeated_beyond_the_cap() {
        let plan = plan();
        let records = measured(&plan, plan.profile.most_blocks);
        assert_eq!(missing(&plan, plan.profile.most_blocks, &records), Vec::new());
    }

    #[test]
    fn a_resumed_block_keeps_its_order_and_skips_what_is_stored() {
        let plan = plan();
        let all = missing(&plan, 0, &[]);
        let stored = vec![record(all[1], 100)];
        assert_eq!(missing(&plan, 0, &stored), vec![all[0], all[2]]);
    }
}
