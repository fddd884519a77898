//! The BTU benchmark.

use std::process::ExitCode;

use btu_control::environment::settings;
use btu_report::html::Page;
use btu_report::{RunReport, TextOptions, rate_text, run_page};
use btu_store::{RunRow, Store};
use btu_suite::cell::Row;
use btu_suite::compare::{PlanDifference, Reading, asks_the_same, plan_differences};
use btu_suite::history::Study;
use btu_suite::plan::Plan;
use btu_suite::record::CellRecord;

use super::{Suite, json, lines};
use crate::cli::{Common, Compare};
use crate::compare::{self, Compared};
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

    fn compare(&self, store: &Store, arguments: &Compare, common: &Common) -> anyhow::Result<ExitCode> {
        compare::run_for(&Self, store, arguments, common)
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

impl Compared for Rating {
    type Row = Row;
    type Plan = Plan;

    fn commands(&self) -> &'static str {
        "btu rate"
    }

    fn is_of(&self, suite: &str) -> bool {
        self.has(suite)
    }

    fn hash(&self, plan: &Plan) -> String {
        plan.hash()
    }

    fn differences(&self, base: &Plan, other: &Plan) -> Vec<PlanDifference> {
        plan_differences(base, other)
    }

    fn readings(&self, store: &Store, row: &RunRow, _: &Plan) -> anyhow::Result<Vec<Reading>> {
        Ok(store.readings(row.summary.id)?)
    }

    /// The paced stream only where it was asked to do what it does in `base`.
    fn asks_the_same(&self, base: &Plan, other: &Plan, row: &Row) -> bool {
        asks_the_same(base, other, *row)
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
