//! The operations on stored runs, suite by suite: `show`, `report`, `compare` and `--resume` use
//! only this table.

mod rating;
mod roll_call;
mod signatures;
mod studied;

use std::process::ExitCode;

use btu_report::html::Page;
use btu_report::{RawRow, TextOptions};
use btu_store::{RunRow, Store};
use btu_suite::app::AppPlan;
use btu_suite::copy::CopyPlan;
use btu_suite::history::Study;
use btu_suite::lan::LanPlan;
use btu_suite::run::RunPlan;
use btu_suite::speed::SpeedPlan;
use serde::Serialize;

use crate::cli::{Common, Compare};
use crate::exit::Refusal;
use crate::provenance;
use studied::Studied;

/// A suite's stored runs.
pub(crate) trait Suite: Sync {
    /// Whether runs of this name in the store are its own.
    fn has(&self, name: &str) -> bool;

    /// The command that continues a run, or why none does.
    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String>;

    /// The result as JSON: the output of `show --json`.
    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String>;

    /// The result for a terminal.
    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String>;

    /// All cells: a line for each, or all as JSON.
    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String>;

    /// Compares runs of which one is of this suite; the exit code says whether one is slower than
    /// allowed.
    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode>;
    /// Raw values, one row for each repetition; numbers in full, units in the columns' names.
    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>>;

    /// The result as a report, with rates of these studies drawn in it.
    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page>;
}

/// All suites, a line each.
static SUITES: [&dyn Suite; 8] = [
    &rating::Rating,
    &signatures::Signatures,
    &Studied::<AppPlan>::new(),
    &Studied::<CopyPlan>::new(),
    &Studied::<LanPlan>::new(),
    &Studied::<RunPlan>::new(),
    &Studied::<SpeedPlan>::new(),
    &roll_call::RollCall,
];

/// The suite of a run.
///
/// # Errors
/// A run of a suite that this version does not know.
pub(crate) fn of(row: &RunRow) -> Result<&'static dyn Suite, Refusal> {
    let name = row.summary.suite.as_str();
    SUITES.into_iter().find(|suite| suite.has(name)).ok_or_else(|| {
        let (run, version) = (row.summary.id, &row.summary.btu_version);
        Refusal::Usage(format!(
            "run {run} is of the suite `{name}`, which this btu does not know: use btu {version}, which made it"
        ))
    })
}

/// The `--json` output for a run.
#[derive(Serialize)]
pub(crate) struct Document<'a, R> {
    pub(crate) run: &'a RunRow,
    pub(crate) result: R,
    /// Warnings about resumptions on another machine or version, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resumed_elsewhere: Vec<String>,
}

impl<'a, R> Document<'a, R> {
    /// A run with its result.
    pub(crate) fn of(run: &'a RunRow, result: R) -> Self {
        Self { run, result, resumed_elsewhere: provenance::changes(run) }
    }
}

/// Indented for readers.
fn json<R: Serialize>(run: &RunRow, result: R) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&Document::of(run, result))? + "\n")
}

/// Records as lines below a head, or as JSON on one line: spread out, the samples of a run would be
/// a hundred megabytes.
fn lines<T: Serialize>(
    records: &[T],
    is_json: bool,
    head: &str,
    line: impl Fn(&T) -> String,
) -> anyhow::Result<String> {
    if is_json {
        return Ok(serde_json::to_string(records)?);
    }
    Ok(std::iter::once(head.to_owned())
        .chain(records.iter().map(line))
        .collect::<Vec<_>>()
        .join("\n"))
}

/// A value of a raw row.
#[expect(
    clippy::needless_pass_by_value,
    reason = "numbers, names and texts alike, most of them made for this"
)]
fn value(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// The first columns of every raw row: the run, and whether the repetition counts.
fn first_values(row: &RunRow, is_valid: bool) -> RawRow {
    vec![value("run", row.summary.id), value("valid", is_valid)]
}

/// Refuses studies if no report draws them.
fn refuse_studies(row: &RunRow, with: &[Study]) -> Result<(), Refusal> {
    if with.is_empty() {
        return Ok(());
    }
    let run = row.summary.id;
    Err(Refusal::Usage(format!(
        "--with draws studies in reports of `btu rate`, and run {run} is none: leave it out"
    )))
}
