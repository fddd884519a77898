//! The BTU benchmark.

use std::process::ExitCode;

use btu_control::environment::settings;
use btu_report::html::Page;
use btu_report::{RawRow, RunReport, TextOptions, rate_text, rating_words, run_page};
use btu_store::{RunRow, Store};
use btu_studies::compare::{PlanDifference, RunReadings, asks_the_same, plan_differences};
use btu_studies::papers::Study;
use btu_studies::rate::Title;
use btu_suite::cell::Row;
use btu_suite::plan::Plan;
use btu_suite::record::{CellRecord, Outcome};
use btu_units::written_rate;

use super::{Suite, first_values, json, lines, value};
use crate::cli::{Common, Compare};
use crate::commands::compare::{self, Compared};
use crate::stored::{Rated, Stored, compared, origin};
use btu_suite::plan::SUITE;

pub(crate) struct Rating;

impl Suite for Rating {
    fn has(&self, name: &str) -> bool {
        name == SUITE
    }

    fn command(&self) -> &'static str {
        "btu rate"
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
        lines(&Stored::read(store, row.summary.id)?.cells, is_json, CELL_HEAD, cell_line)
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        Ok(Stored::read(store, row.summary.id)?
            .cells
            .iter()
            .map(|cell| raw_cell(row, cell))
            .collect())
    }

    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        compare::run_for(&Self, store, arguments, common)
    }

    /// The rating of the whole suite, or that of a part of it.
    fn answer(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        let rated = Rated::read(store, row.summary.id)?;
        let rate = rated.rating.map(|rating| rating.btu_bits_per_second.value);
        Ok(rating_words(rate, Title::of(&rated.obstacles)))
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
            earlier: compare::of_machine(self, store, row.summary.id)?.as_ref(),
            studies: with,
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

    fn run(&self, store: &Store, row: &RunRow, _: &Plan) -> anyhow::Result<RunReadings> {
        compared(store, row)
    }

    /// The paced stream only if its order equals that in `base`.
    fn asks_the_same(&self, base: &Plan, other: &Plan, row: &Row) -> bool {
        asks_the_same(base, other, *row)
    }
}

fn raw_cell(row: &RunRow, cell: &CellRecord) -> RawRow {
    let mut raw = first_values(row, cell.is_valid());
    raw.extend([value("block", cell.block + 1), value("position", cell.position + 1)]);
    match cell.row {
        Row::Network { component, message, load } => {
            raw.extend([
                value("component", component),
                value("message_bytes", message.count()),
                value("load", load),
            ]);
        }
        Row::Host { load } => raw.extend([
            value("component", "none"),
            value("message_bytes", ""),
            value("load", load),
        ]),
    }
    if let Some(network) = &cell.network {
        raw.extend([
            value("bytes", network.bytes.count()),
            value("duration_seconds", network.duration.seconds()),
            value("goodput_bits_per_second", network.goodput_bits_per_second),
            value("loss_share", network.loss),
        ]);
    }
    if let Some(host) = &cell.host {
        raw.extend([
            value("host_work", host.work),
            value("host_duration_seconds", host.duration.seconds()),
            value("overlap_share", host.overlap),
        ]);
    }
    let outcomes = cell
        .reports
        .iter()
        .filter_map(|placed| placed.result.as_ref().ok())
        .map(|report| &report.outcome);
    for outcome in outcomes {
        if let Outcome::Requested(requested) = outcome {
            let seconds = |share| {
                requested.round_trip.quantile(share).map_or(f64::NAN, |ns| ns as f64 * 1e-9)
            };
            raw.extend([
                value("answers", requested.answers),
                value("round_trip_p50_seconds", seconds(0.5)),
            ]);
        }
    }
    raw.push(value("faults", cell.faults.join("; ")));
    raw
}

/// Above the lines of cells.
const CELL_HEAD: &str =
    "in block, cell, goodput or requests answered, the host activity at the same time";

fn cell_line(cell: &CellRecord) -> String {
    let answers =
        cell.reports.iter().filter_map(|placed| placed.result.as_ref().ok()).find_map(|report| {
            match &report.outcome {
                Outcome::Requested(requested) => Some(requested.answers),
                _ => None,
            }
        });
    let network = cell.network.as_ref().map_or_else(String::new, |network| {
        let what = answers.map_or_else(
            || format!("{:>15}", written_rate(network.goodput_bits_per_second)),
            |answers| format!("{answers:10} answers"),
        );
        format!("{what} in {}", network.duration)
    });
    let host =
        cell.host.as_ref().map_or_else(String::new, |host| format!("  host {}", host.duration));
    let line = format!("{:>2} {:<34} {network}{host}", cell.block + 1, cell.row.to_string());
    let faults = cell.faults.iter().map(|fault| format!("      INVALID: {fault}"));
    std::iter::once(line).chain(faults).collect::<Vec<_>>().join("\n")
}
