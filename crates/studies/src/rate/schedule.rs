//! The next cells: they depend only on the plan and on the stored cells, so a resumed run continues
//! exactly where it stopped.

use std::collections::{BTreeMap, BTreeSet};

use btu_contract::experiment::CheckCells;
use btu_contract::network::HostRole;
use btu_contract::record::Outcome;
use btu_units::{Span, Time};
use serde::Deserialize;

use super::accounting::check_record;
use super::plan::Plan;
use super::record::CellRecord;
use super::row::Row;
use super::work::Amounts;

/// A cell of a rating to be measured.
pub(super) type Slot = btu_contract::experiment::Slot<Row>;

/// The cells of block `block` that are not stored yet, in their order. Every block holds every row: a
/// row that ended as soon as its values lay close together would have too narrow an interval
/// whenever they do so by chance.
pub(super) fn missing(plan: &Plan, block: u32, records: &[CellRecord]) -> Vec<Slot> {
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

/// The cells of a run, compared with the plan that it is said to follow.
#[derive(Debug)]
pub(super) struct PlannedCells {
    plan: Plan,
    /// The last block that was looked at, and the rows of every block in its order.
    order: (u32, Vec<Row>),
    /// The times of the cells by block and position: when the first activity of the machine under test began, and when
    /// the last had ended, by its clock; absent of cells that were not played.
    cells: BTreeMap<(u32, u32), Option<(Time, Time)>>,
}

/// Measuring ends at the first cell after the profile's time. Collecting the last one, and preparing the first, take
/// some of it: this share is between the cells' own times for certain.
const LEAST_SHARE_OF_BUDGET: f64 = 0.9;

impl PlannedCells {
    /// No cells of a run of `plan`.
    pub(super) fn of(plan: Plan) -> Self {
        let order = (0, plan.shuffled(0, plan.rows()));
        Self { plan, order, cells: BTreeMap::new() }
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// It is not where the plan's seed puts it: it came from another run.
    pub(super) fn add(&mut self, record: &CellRecord) -> Result<(), String> {
        let CellRecord { row, block, position, .. } = *record;
        let is_planned = block < self.plan.profile.most_blocks;
        if is_planned && self.row(block, position) == Some(row) {
            self.cells.insert((block, position), times(record));
            return Ok(());
        }
        let name =
            format!("cell {} of block {} ({row})", u64::from(position) + 1, u64::from(block) + 1);
        Err(format!("{name} is not where the seed of its plan puts it"))
    }

    fn row(&mut self, block: u32, position: u32) -> Option<Row> {
        if self.order.0 != block {
            self.order = (block, self.plan.shuffled(block, self.plan.rows()));
        }
        self.order.1.get(position as usize).copied()
    }

    /// Whether they are all that a run measures which ends by itself: the first block, and more blocks one after another,
    /// each whole, until the plan has no more or the profile's time is over.
    ///
    /// # Errors
    /// What is missing, in a sentence.
    pub(super) fn check_whole(&mut self) -> Result<(), String> {
        let rows = self.order.1.len() as u64;
        let place = |number: u64| ((number / rows) as u32, (number % rows) as u32);
        let whole = rows * u64::from(self.plan.profile.most_blocks);
        let measured = self.cells.len() as u64;
        let gap = (0..measured.max(rows)).map(place).find(|place| !self.cells.contains_key(place));
        if let Some((block, position)) = gap {
            let row = self.row(block, position).map(|row| format!(" ({row})")).unwrap_or_default();
            return Err(format!(
                "it is said to be complete, and cell {} of block {}{row}, which its plan and seed prescribe, is missing",
                position + 1,
                block + 1
            ));
        }
        let (spent, budget) = (self.spent(), self.plan.profile.budget);
        if measured >= whole || spent.seconds() >= LEAST_SHARE_OF_BUDGET * budget.seconds() {
            return Ok(());
        }
        Err(format!(
            "it is said to be complete, and ends after {measured} of {whole} cells and {spent}: its plan gives {budget} to all of them"
        ))
    }

    /// From the beginning of the first cell to the end of the last one; of those since the machine was started, should it
    /// have been started again meanwhile.
    fn spent(&self) -> Span {
        let mut times = self.cells.values().flatten();
        let Some(&(mut began, mut ended)) = times.next() else { return Span::ZERO };
        for &(start, end) in times {
            if start < ended {
                began = start;
            }
            ended = end;
        }
        ended.since(began)
    }
}

/// What the cells of a rating are compared with: its plan, and their own reports.
#[derive(Debug)]
pub(super) struct RatingCheck {
    plan: Plan,
    /// The amounts of work; absent where nothing was calibrated, and so no cell measured.
    amounts: Option<Amounts>,
    found: PlannedCells,
}

/// The part of what was calibrated that says what cells had to do.
#[derive(Deserialize)]
struct Calibrated {
    amounts: Amounts,
}

impl RatingCheck {
    /// For the cells of this plan, with what was calibrated for it.
    ///
    /// # Errors
    /// A calibration that cannot be read, in a sentence.
    pub(super) fn of(plan: &Plan, calibration: Option<&str>) -> Result<Self, String> {
        let calibrated = calibration.map(serde_json::from_str::<Calibrated>).transpose();
        let calibrated =
            calibrated.map_err(|error| format!("its calibration cannot be read ({error})"))?;
        let amounts = calibrated.map(|calibrated| calibrated.amounts);
        Ok(Self { plan: plan.clone(), amounts, found: PlannedCells::of(plan.clone()) })
    }
}

impl CheckCells<CellRecord> for RatingCheck {
    fn add(&mut self, record: &CellRecord) -> Result<(), String> {
        self.found.add(record)?;
        let amounts = self.amounts.as_ref();
        let amounts = amounts.ok_or("it has cells, and not the amounts of work that they had")?;
        check_record(&self.plan, amounts, record)
    }

    fn check_whole(&mut self) -> Result<(), String> {
        self.found.check_whole()
    }
}

/// When the activities of the machine under test began and had ended, by its clock.
fn times(record: &CellRecord) -> Option<(Time, Time)> {
    let of_test = record.reports.iter().filter(|placed| placed.station == HostRole::Test);
    let reports = of_test.filter_map(|placed| placed.result.as_ref().ok());
    reports
        .map(|report| (report.started, report.finished))
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// The median round trip in ns of request and response.
pub(super) fn round_trip(record: &CellRecord) -> Option<f64> {
    record.reports.iter().find_map(|placed| match &placed.result.as_ref().ok()?.outcome {
        Outcome::Requested(requested) => {
            requested.round_trip.quantile(0.5).map(|nanoseconds| nanoseconds as f64)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::plan::Profile;
    use crate::rate::record::HostResult;
    use btu_contract::network::Network;
    use btu_contract::record::{CpuTime, PlacedReport, Report};

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

    /// The cells of a run, each as long as the other.
    fn planned(plan: &Plan, records: &[CellRecord]) -> Result<PlannedCells, String> {
        let mut cells = PlannedCells::of(plan.clone());
        records.iter().try_for_each(|record| cells.add(record))?;
        Ok(cells)
    }

    #[test]
    fn a_cell_of_another_run_is_out_of_place() {
        let plan = plan();
        let mut records = measured(&plan, plan.profile.most_blocks);
        assert!(planned(&plan, &records).is_ok());
        let other = Plan { seed: 4, ..plan.clone() };
        assert!(planned(&other, &records).is_err(), "a plan with another seed");
        let (first, second) = (records[0].row, records[1].row);
        (records[0].row, records[1].row) = (second, first);
        let said = planned(&plan, &records).unwrap_err();
        assert!(said.contains("cell 1 of block 1") && said.contains("where the seed"), "{said}");
        let beyond = CellRecord { block: plan.profile.most_blocks, ..records[0].clone() };
        assert!(planned(&plan, &[beyond]).is_err());
    }

    /// Whichever cell is left out of a complete run, or as many as you like of its end.
    #[test]
    fn a_complete_run_lacks_no_cell() {
        let plan = plan();
        let records = measured(&plan, plan.profile.most_blocks);
        assert_eq!(planned(&plan, &records).unwrap().check_whole(), Ok(()));
        for left_out in 0..records.len() {
            let mut rest = records.clone();
            let cell = rest.remove(left_out);
            let said = planned(&plan, &rest).unwrap().check_whole().unwrap_err();
            let name =
                format!("cell {} of block {} ({})", cell.position + 1, cell.block + 1, cell.row);
            let is_last = left_out + 1 == records.len();
            assert!(
                said.contains(&name) != is_last && said.contains("is said to be complete"),
                "{said}"
            );
            let said = planned(&plan, &records[..left_out]).unwrap().check_whole();
            assert!(said.is_err(), "the first {left_out} cells");
        }
    }

    /// A run of which the time is over ends in the middle of a block that is not the first.
    #[test]
    fn a_complete_run_may_end_when_its_time_is_over() {
        let plan = plan();
        let (rows, budget) = (plan.rows().len() as u64, plan.profile.budget.nanoseconds());
        let lasting = |cells: u64, nanoseconds: u64| {
            let mut records = measured(&plan, 2);
            records.truncate(cells as usize);
            for (number, record) in (0..).zip(&mut records) {
                let started = Time::from_nanoseconds(7 + number * (nanoseconds / cells));
                let finished = started + Span::from_nanoseconds(nanoseconds / cells);
                let report =
                    Report { started, finished, cpu: CpuTime::default(), outcome: Outcome::Null };
                record.reports = vec![PlacedReport {
                    station: HostRole::Test.into(),
                    activity: "null".to_owned(),
                    result: Ok(report),
                }];
            }
            planned(&plan, &records).unwrap().check_whole()
        };
        assert_eq!(lasting(rows, budget), Ok(()), "one block took all the time");
        assert_eq!(lasting(rows + 1, budget), Ok(()));
        assert!(lasting(rows - 1, 3 * budget).unwrap_err().contains("is missing"));
        assert!(lasting(rows + 1, budget / 2).unwrap_err().contains("its plan gives 140 s"));
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
