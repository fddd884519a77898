//! The BTU benchmark.

use btu_control::environment::settings;
use btu_report::html::Page;
use btu_report::{RunReport, TextOptions, rate_text, run_page};
use btu_store::{RunRow, Store};
use btu_suite::history::Study;
use btu_suite::record::CellRecord;

use super::{Suite, json, lines};
use crate::rate::SUITE;
use crate::stored::{Stored, origin};

pub(super) struct Rating;

impl Suite for Rating {
    fn has(&self, name: &str) -> bool {
        name == SUITE
    }

    fn resumed_by(&self, _: &RunRow) -> Result<&'static str, String> {
        Ok("btu rate")
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        let stored = Stored::read(store, row.summary.id)?;
        json(row, &stored.verdict)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        let stored = Stored::read(store, row.summary.id)?;
        Ok(rate_text(&stored.verdict, &stored.head(store), options))
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        lines(&Stored::read(store, row.summary.id)?.cells, is_json, cell_line)
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        let stored = Stored::read(store, row.summary.id)?;
        Ok(run_page(&RunReport {
            run: &stored.head(store),
            origin: &origin(row, stored.plan_is_known),
            verdict: &stored.verdict,
            plan: &stored.plan,
            cells: &stored.cells,
            settings: &stored.before().as_ref().map(settings).unwrap_or_default(),
            changes: &stored.changes(),
            beside: with,
        }))
    }
}

fn cell_line(cell: &CellRecord) -> String {
    let network = cell.network.as_ref().map_or_else(String::new, |network| {
        format!("{:10.2} Mb/s in {}", network.goodput_bits_per_second / 1e6, network.duration)
    });
    let host = cell.host.as_ref().map_or_else(String::new, |host| format!("  host {}", host.duration));
    let line = format!("{:>2} {:<34} {network}{host}", cell.block + 1, cell.row.to_string());
    let faults = cell.faults.iter().map(|fault| format!("      INVALID: {fault}"));
    std::iter::once(line).chain(faults).collect::<Vec<_>>().join("\n")
}
