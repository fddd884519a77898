//! The report of a run.

use btu_report::html::{Block, Cell, Page, Section, Table};
use btu_report::{CellTable, Reported, StoredRun, script_cells};

use super::plan::{AskPlan, AskVerdict};

impl Reported for AskPlan {
    fn page(&self, verdict: &AskVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let mut table = Table::new("Round trips, ms", &["size, B", "round trip, ms"], 1);
        for (message, estimate) in &verdict.round_trips {
            let size = Cell::text(message.count().to_string());
            table.rows.push(vec![size, Cell::estimate(estimate.as_ref(), 1e-3)]);
        }
        let headline = format!("Requests of {} sizes", verdict.round_trips.len());
        let note = "medians; geometric mean of the blocks, 95 % interval";
        stored.page(
            headline,
            Vec::new(),
            vec![Section::of("Round trips", note, vec![Block::Table(table)])],
        )
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}
