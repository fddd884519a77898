//! What came of a series, from what is stored of it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use btu_store::{RunId, RunRow, Store};
use btu_suite::pipe::{PipePlan, PipeVerdict, Point, judge};
use serde::Serialize;

use crate::cli::{Common, Pipe};
use crate::preflight;
use crate::terminal::{print, print_json};

/// The suite's name in the store.
pub(crate) const SUITE: &str = "pipe";

/// What `--json` prints of a run.
#[derive(Serialize)]
struct Document<'a> {
    run: &'a RunRow,
    result: PipeVerdict,
}

/// Prints the results of these runs.
pub(super) fn results(runs: &[RunId], pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let rows = runs.iter().map(|run| store.run(&run.to_string())).collect::<Result<Vec<_>, _>>()?;
    if common.json {
        let documents = rows.iter().map(|row| document(&store, row)).collect::<anyhow::Result<Vec<_>>>()?;
        return match &documents[..] {
            [one] => print_json(one),
            several => print_json(several),
        };
    }
    for row in &rows {
        stored(&store, row, common)?;
    }
    match (&pipe.np_out, &rows[..]) {
        (Some(path), [row]) => write_np_out(path, &read(&store, row)?),
        _ => Ok(()),
    }
}

/// Prints what a stored run amounts to.
pub(crate) fn stored(store: &Store, row: &RunRow, common: &Common) -> anyhow::Result<()> {
    let document = document(store, row)?;
    if common.json { print_json(&document) } else { print(&text(row, &document.result)) }
}

/// Prints a stored run's points with all their trials.
pub(crate) fn cells(store: &Store, row: &RunRow, common: &Common) -> anyhow::Result<()> {
    let points: Vec<Point> = store.records(row.summary.id)?;
    if common.json {
        return print(&serde_json::to_string(&points)?);
    }
    let plan = plan(row)?;
    let lines = points.iter().map(|point| {
        let trials = point.one_way_seconds(plan.pattern);
        let trials = trials.iter().map(|seconds| format!("{:10.3}", seconds * 1e6)).collect::<Vec<_>>().join(" ");
        format!("{:>10} {trials} us", point.size.count())
    });
    print(&lines.collect::<Vec<_>>().join("\n"))
}

fn document<'a>(store: &Store, row: &'a RunRow) -> anyhow::Result<Document<'a>> {
    Ok(Document { run: row, result: read(store, row)? })
}

fn read(store: &Store, row: &RunRow) -> anyhow::Result<PipeVerdict> {
    Ok(judge(&plan(row)?, &store.records::<Point>(row.summary.id)?))
}

fn plan(row: &RunRow) -> anyhow::Result<PipePlan> {
    serde_json::from_value(row.plan.clone()).with_context(|| format!("reading the plan of run {}", row.summary.id))
}

fn text(row: &RunRow, verdict: &PipeVerdict) -> String {
    let run = &row.summary;
    let mut text =
        format!("Run {}: {} {} ({}), {}\n\n", run.id, verdict.kind.label(), verdict.pattern, run.network, run.state);
    let _ = writeln!(text, "{:>10} {:>12} {:>12} {:>14}", "bytes", "median us", "least us", "Mb/s");
    for size in &verdict.sizes {
        let (median, rate) = (size.one_way.median_seconds.value * 1e6, size.throughput_bits_per_second.value / 1e6);
        let least = size.one_way.least_seconds * 1e6;
        let _ = writeln!(text, "{:>10} {median:>12.2} {least:>12.2} {rate:>14.3}", size.size.count());
    }
    if let Some(latency) = &verdict.latency {
        let _ =
            writeln!(text, "\nLatency {:.2} us up to {} B", latency.median_seconds.value * 1e6, latency.up_to.count());
    }
    if let Some(maximum) = &verdict.maximum {
        let _ = writeln!(text, "Maximum {:.2} Mb/s at {}", maximum.bits_per_second.value / 1e6, maximum.size);
    }
    for warning in &verdict.warnings {
        let _ = writeln!(text, "Doubt: {} {}", warning.seen, warning.advice);
    }
    text
}

/// Three columns, as `NetPIPE` 3 writes them: bytes, Mbps of 2^20 bits, seconds.
fn write_np_out(path: &Path, verdict: &PipeVerdict) -> anyhow::Result<()> {
    let lines = verdict.sizes.iter().fold(String::new(), |mut text, size| {
        let (bits, seconds) = (size.throughput_bits_per_second.value, size.one_way.least_seconds);
        let _ = writeln!(text, "{:8} {:.6} {:.8}", size.size.count(), bits / f64::from(1 << 20), seconds);
        text
    });
    std::fs::write(path, lines).with_context(|| format!("writing {}", path.display()))
}
