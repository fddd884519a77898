//! `btu runs` and `btu show`: what is stored, shown again.

use anyhow::Context as _;
use btu_control::environment::Environment;
use btu_report::{RunHead, RunLine, rate_text, runs_text};
use btu_store::{Level, Moment, RunId, RunRow, RunSummary, Store};
use btu_suite::plan::Plan;
use btu_suite::record::CellRecord;
use btu_suite::verdict::{Context, Verdict, judge};
use btu_units::{Bytes, Span};
use serde::Serialize;

use crate::cli::{Common, Runs, Show};
use crate::preflight;
use crate::terminal::{print, print_json, text_options};

/// Lists the stored runs.
pub(crate) fn list(_: &Runs, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let runs = store.runs()?;
    if common.json {
        return print_json(&runs);
    }
    let lines: Vec<RunLine> = runs.iter().map(|run| line(&store, run)).collect::<anyhow::Result<_>>()?;
    print(&runs_text(&lines, &text_options()))
}

/// Shows a stored run.
pub(crate) fn show(show: &Show, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let run = store.find(&show.run)?;
    if show.cells {
        return print_cells(&store, run, common);
    }
    print_result(&store, run, common)
}

/// What `--json` prints of a run.
#[derive(Serialize)]
struct Document<'a> {
    run: &'a RunRow,
    result: &'a Verdict,
}

/// Prints the result of a run.
pub(crate) fn print_result(store: &Store, run: RunId, common: &Common) -> anyhow::Result<()> {
    let row = store.run(&run.to_string())?;
    let verdict = verdict(store, &row)?;
    if common.json {
        return print_json(&Document { run: &row, result: &verdict });
    }
    print(&rate_text(&verdict, &head(store, &row), &text_options()))
}

fn print_cells(store: &Store, run: RunId, common: &Common) -> anyhow::Result<()> {
    let cells = store.cells(run)?;
    if common.json {
        // On one line: spread out, the samples of a run would be a hundred megabytes.
        return print(&serde_json::to_string(&cells)?);
    }
    let text: Vec<String> = cells.iter().map(cell_line).collect();
    print(&text.join("\n"))
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

fn verdict(store: &Store, row: &RunRow) -> anyhow::Result<Verdict> {
    let environment = environment(row);
    let context = Context {
        plan: plan(row)?,
        cpus: environment.as_ref().map_or(1, |environment| environment.processor.online),
        load_before: environment.as_ref().and_then(|environment| Some(environment.load.as_ref()?.one_minute)),
    };
    Ok(judge(&store.cells(row.summary.id)?, &context))
}

/// The machine as it was before the run; `None` where the run ended before it was looked at.
fn environment(row: &RunRow) -> Option<Environment> {
    let (_, before) = row.environments.iter().find(|(moment, _)| *moment == Moment::Before)?;
    serde_json::from_value(before.clone()).ok()
}

fn plan(row: &RunRow) -> anyhow::Result<Plan> {
    serde_json::from_value(row.plan.clone()).with_context(|| format!("reading the plan of run {}", row.summary.id))
}

fn head(store: &Store, row: &RunRow) -> RunHead {
    let run = &row.summary;
    RunHead {
        id: run.id.to_string(),
        started: run.created.clone(),
        network: run.network.clone(),
        profile: run.profile.clone(),
        seed: row.seed,
        machine: environment(row).as_ref().map_or_else(|| "unknown machine".to_owned(), machine),
        database: store.path().display().to_string(),
        duration: duration(run).unwrap_or_default(),
        own_cost: row.calibration.as_ref().and_then(own_cost),
        notes: notes(row),
    }
}

/// What an empty cell took when the run was calibrated.
fn own_cost(calibration: &serde_json::Value) -> Option<Span> {
    calibration["amounts"]["null_cell_ns"].as_u64().map(Span::from_nanoseconds)
}

/// Warnings that were stored while the run went on.
fn notes(row: &RunRow) -> Vec<String> {
    let warnings = row.events.iter().filter(|event| event.level != Level::Info);
    warnings.map(|event| event.text.clone()).collect()
}

/// Processor, kernel and memory in one line.
fn machine(environment: &Environment) -> String {
    let processor = &environment.processor;
    let model = processor.model.as_deref().unwrap_or("unknown processor");
    let kernel = environment.kernel.release.as_deref().unwrap_or("unknown");
    let memory = environment.memory.total_bytes.map_or_else(String::new, |total| format!(", {}", Bytes::new(total)));
    let virtual_machine = if processor.virtual_machine { ", virtual machine" } else { "" };
    format!("{} x {model}, Linux {kernel}{memory}{virtual_machine}", processor.online)
}

fn line(store: &Store, run: &RunSummary) -> anyhow::Result<RunLine> {
    let verdict = verdict(store, &store.run(&run.id.to_string())?)?;
    Ok(RunLine {
        id: run.id.to_string(),
        started: run.created.clone(),
        state: run.state.to_string(),
        profile: run.profile.clone(),
        network: run.network.clone(),
        label: run.label.clone(),
        valid_cells: u64::from(run.valid_cells),
        cells: u64::from(run.cells),
        rating_bits_per_second: verdict.rating.map(|rating| rating.btu_bits_per_second.value),
        duration: duration(run),
    })
}

/// Wall time from start to end, when the run has ended.
fn duration(run: &RunSummary) -> Option<Span> {
    let instant = |text: &str| text.parse::<jiff::Timestamp>().ok();
    let seconds = instant(run.finished.as_ref()?)?.duration_since(instant(&run.created)?).as_secs();
    u64::try_from(seconds).ok().map(Span::from_seconds)
}
