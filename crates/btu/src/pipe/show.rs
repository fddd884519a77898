//! What came of a series, from what is stored of it.

use anyhow::Context;
use btu_report::{NamedSignature, np_out, pipe_csv, pipe_picture, pipe_text};
use btu_store::{RunId, RunRow, Store};
use btu_suite::pipe::{PipePlan, PipeVerdict, Point, judge};
use serde::Serialize;

use crate::cli::{Common, Pictures, Pipe};
use crate::stored::head;
use crate::terminal::{print, print_json, text_options};
use crate::{files, pictures, preflight};

/// The suite's name in the store.
pub(crate) const SUITE: &str = "pipe";

/// What `--json` prints of a run.
#[derive(Serialize)]
struct Document<'a> {
    run: &'a RunRow,
    result: PipeVerdict,
}

/// Prints the results of these runs, and writes what was asked for of them.
pub(super) fn results(runs: &[RunId], pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let rows = runs.iter().map(|run| store.run(&run.to_string())).collect::<Result<Vec<_>, _>>()?;
    let documents = rows.iter().map(|row| document(&store, row)).collect::<anyhow::Result<Vec<_>>>()?;
    files_of(&documents, pipe)?;
    if common.json {
        return match &documents[..] {
            [one] => print_json(one),
            several => print_json(several),
        };
    }
    documents.iter().try_for_each(|document| print(&text(&store, document, pipe.wanted.all)))
}

/// The files that were asked for; those for one transport are refused for several before anything is measured.
fn files_of(documents: &[Document<'_>], pipe: &Pipe) -> anyhow::Result<()> {
    if let [one] = documents {
        for (path, text) in [(&pipe.wanted.np_out, np_out as fn(&PipeVerdict) -> String), (&pipe.wanted.csv, pipe_csv)]
        {
            path.as_ref().map(|path| files::save(path, text(&one.result).as_bytes())).transpose()?;
        }
    }
    let names: Vec<String> = documents.iter().map(|one| one.result.kind.label().to_owned()).collect();
    let runs: Vec<NamedSignature> =
        documents.iter().zip(&names).map(|(one, name)| NamedSignature { name, verdict: &one.result }).collect();
    let pictures = Pictures { svg: pipe.wanted.svg.clone(), png: pipe.wanted.png.clone() };
    let notes = documents
        .iter()
        .map(|one| format!("{}: {}, {}", one.run.summary.id, one.run.summary.network, one.run.summary.created));
    pictures::draw(&pictures, || pipe_picture("Signatures", notes.collect(), &runs, pipe.wanted.with.is_some()))
}

/// Prints what a stored run amounts to.
pub(crate) fn stored(store: &Store, row: &RunRow, common: &Common) -> anyhow::Result<()> {
    let document = document(store, row)?;
    if common.json { print_json(&document) } else { print(&text(store, &document, false)) }
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

fn text(store: &Store, document: &Document<'_>, all: bool) -> String {
    pipe_text(&document.result, &head(store, document.run), all, &text_options())
}
