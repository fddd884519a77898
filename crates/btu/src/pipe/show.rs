//! What came of a run, from what is stored of it.

mod files;

use anyhow::Context;
use btu_report::{hint_text, pipe_text, set_text};
use btu_store::{RunId, RunRow, Store};
use btu_suite::hint::{self, HintRecord, HintResult, HintRun, judge_run};
use btu_suite::pipe::{self, PipePlan, PipeVerdict, Point, Purpose, SetPlan, SetPoint, SetVerdict, judge, judge_set};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::{Common, Pipe};
use crate::stored::head;
use crate::terminal::{print, print_json, text_options};
use crate::{preflight, provenance};

/// Whether a run of this suite is one of `btu pipe`.
pub(crate) fn is_ours(suite: &str) -> bool {
    suite == pipe::SUITE || suite == hint::SUITE || Purpose::of_suite(suite).is_some()
}

/// What `--json` prints of a run.
#[derive(Serialize)]
struct Document<'a> {
    run: &'a RunRow,
    result: Outcome,
    /// On what else it was resumed, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resumed_elsewhere: Vec<String>,
}

/// What a run amounts to.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    One(Box<PipeVerdict>),
    Set(SetVerdict),
    Hint(Box<HintResult>),
}

/// Prints the results of these runs, and writes what was asked for of them.
pub(super) fn results(runs: &[RunId], pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let rows = runs.iter().map(|run| store.run(&run.to_string())).collect::<Result<Vec<_>, _>>()?;
    let documents = rows.iter().map(|row| document(&store, row)).collect::<anyhow::Result<Vec<_>>>()?;
    files::write(&documents, &pipe.wanted)?;
    if common.json {
        return match &documents[..] {
            [one] => print_json(one),
            several => print_json(several),
        };
    }
    documents.iter().try_for_each(|document| print(&text(&store, document, pipe.wanted.all)?))
}

/// Prints what a stored run amounts to.
pub(crate) fn stored(store: &Store, row: &RunRow, common: &Common) -> anyhow::Result<()> {
    let document = document(store, row)?;
    if common.json { print_json(&document) } else { print(&text(store, &document, false)?) }
}

fn document<'a>(store: &Store, row: &'a RunRow) -> anyhow::Result<Document<'a>> {
    let (run, suite) = (row.summary.id, row.summary.suite.as_str());
    let result = if Purpose::of_suite(suite).is_some() {
        Outcome::Set(judge_set(&plan(row)?, &store.records::<SetPoint>(run)?))
    } else if suite == hint::SUITE {
        Outcome::Hint(Box::new(judge_run(&plan(row)?, &store.records::<HintRecord>(run)?)))
    } else {
        Outcome::One(Box::new(signature(store, row)?))
    };
    Ok(Document { run: row, result, resumed_elsewhere: provenance::changes(row) })
}

/// What a run of a single signature amounts to.
pub(super) fn signature(store: &Store, row: &RunRow) -> anyhow::Result<PipeVerdict> {
    Ok(judge(&plan(row)?, &store.records::<Point>(row.summary.id)?))
}

/// The plan of a run.
pub(super) fn plan<T: DeserializeOwned>(row: &RunRow) -> anyhow::Result<T> {
    serde_json::from_value(row.plan.clone()).with_context(|| format!("reading the plan of run {}", row.summary.id))
}

fn text(store: &Store, document: &Document<'_>, all: bool) -> anyhow::Result<String> {
    let (head, options) = (head(store, document.run), text_options());
    Ok(match &document.result {
        Outcome::One(verdict) => pipe_text(verdict, &head, all, &options),
        Outcome::Set(verdict) => set_text(verdict, &head, all, &options),
        Outcome::Hint(result) => {
            hint_text(result, plan::<HintRun>(document.run)?.pipe.kind.label(), &head, all, &options)
        }
    })
}

/// Prints a stored run's points with all their trials.
pub(crate) fn cells(store: &Store, row: &RunRow, common: &Common) -> anyhow::Result<()> {
    let (run, suite) = (row.summary.id, row.summary.suite.as_str());
    if Purpose::of_suite(suite).is_some() {
        let set: SetPlan = plan(row)?;
        return lines(&store.records::<SetPoint>(run)?, common, |SetPoint { series, point }| {
            let plan = set.series.get(*series);
            let name = plan.map_or_else(String::new, |plan| format!("{} {}", plan.kind, plan.load));
            format!("{name:<22} {}", plan.map_or_else(String::new, |plan| trials(plan, point)))
        });
    }
    if suite == hint::SUITE {
        let run_plan: HintRun = plan(row)?;
        return lines(&store.records::<HintRecord>(run)?, common, |record| match record {
            HintRecord::Message(point) => format!("message {}", trials(&run_plan.pipe, point)),
            HintRecord::Two(point) => format!("two     {:>10} {}", point.intervals, microseconds(&point.lap_seconds())),
            HintRecord::One(point) => format!("one     {:>10} {}", point.intervals, microseconds(&point.lap_seconds())),
        });
    }
    let plan: PipePlan = plan(row)?;
    lines(&store.records::<Point>(run)?, common, |point| trials(&plan, point))
}

/// A line for each record, or all as JSON.
fn lines<T: Serialize>(records: &[T], common: &Common, line: impl Fn(&T) -> String) -> anyhow::Result<()> {
    if common.json {
        return print(&serde_json::to_string(records)?);
    }
    print(&records.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn trials(plan: &PipePlan, point: &Point) -> String {
    format!("{:>10} {}", point.size.count(), microseconds(&point.one_way_seconds(plan.pattern)))
}

fn microseconds(seconds: &[f64]) -> String {
    seconds.iter().map(|seconds| format!("{:10.3}", seconds * 1e6)).collect::<Vec<_>>().join(" ") + " us"
}
