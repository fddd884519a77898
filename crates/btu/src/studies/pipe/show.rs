//! Shows the result of a run from its stored data.

mod files;

use anyhow::Context;
use btu_report::html::Page;
use btu_report::{
    StoredRun, TextOptions, first_screen, hint_text, pipe_text, set_text, several_page,
};
use btu_store::{RunId, RunRow, Store};
use btu_studies::pipe::{PipeVerdict, SetVerdict, judge, judge_set};
use btu_suite::hint::{self, HintRecord, HintResult, HintRun, judge_run};
use btu_suite::pipe::{Point, Purpose, SetPoint};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::arguments::Pipe;
use crate::cli::Common;
use crate::start::preflight;
use crate::stored::runs;
use crate::stored::{Surroundings, head};
use crate::suites::Document;
use crate::terminal::{print, print_json, text_options};

/// The verdict over a run.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    One(Box<PipeVerdict>),
    Set(SetVerdict),
    Hint(Box<HintResult>),
}

/// Prints the results of these runs, and writes the requested files.
pub(super) fn results(runs: &[RunId], pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let rows = runs.iter().map(|run| store.run(&run.to_string())).collect::<Result<Vec<_>, _>>()?;
    let documents = rows.iter().map(|row| Ok(Document::of(row, outcome(&store, row)?)));
    let documents = documents.collect::<anyhow::Result<Vec<_>>>()?;
    files::write(&documents, &pipe.wanted)?;
    if common.json {
        return match &documents[..] {
            [one] => print_json(one),
            several => print_json(several),
        };
    }
    let options = text_options();
    match &documents[..] {
        [one] => runs::print_result(
            &store,
            one.run.summary.id,
            runs::Shown::of(pipe.wanted.all),
            runs::Form::of(common),
        ),
        // Several transports are compared, and each is shown by itself on demand.
        several => {
            print(&first_screen(&compared(&store, several), &options))?;
            let text =
                |one: &Document<'_, Outcome>| text(&store, one.run, &one.result, true, &options);
            let wanted = if pipe.wanted.all { several } else { &[] };
            wanted.iter().try_for_each(|document| print(&format!("\n{}", text(document)?)))
        }
    }
}

/// Several signatures of one command on one page.
fn compared(store: &Store, documents: &[Document<'_, Outcome>]) -> Page {
    let verdicts = documents.iter().filter_map(|document| match &document.result {
        Outcome::One(verdict) => Some((Surroundings::of(store, document.run), &**verdict)),
        Outcome::Set(_) | Outcome::Hint(_) => None,
    });
    let (surroundings, verdicts): (Vec<Surroundings>, Vec<&PipeVerdict>) = verdicts.unzip();
    let stored: Vec<StoredRun<'_>> = surroundings.iter().map(Surroundings::stored).collect();
    several_page(&stored, &verdicts)
}

/// The verdict over a stored run.
pub(crate) fn outcome(store: &Store, row: &RunRow) -> anyhow::Result<Outcome> {
    let (run, suite) = (row.summary.id, row.summary.suite.as_str());
    Ok(if Purpose::of_suite(suite).is_some() {
        Outcome::Set(judge_set(&plan(row)?, &store.records::<SetPoint>(run)?))
    } else if suite == hint::SUITE {
        Outcome::Hint(Box::new(judge_run(&plan(row)?, &store.records::<HintRecord>(run)?)))
    } else {
        Outcome::One(Box::new(signature(store, row)?))
    })
}

/// The verdict over a run of a single signature.
pub(super) fn signature(store: &Store, row: &RunRow) -> anyhow::Result<PipeVerdict> {
    Ok(judge(&plan(row)?, &store.records::<Point>(row.summary.id)?))
}

/// The plan of a run.
pub(crate) fn plan<T: DeserializeOwned>(row: &RunRow) -> anyhow::Result<T> {
    serde_json::from_value(row.plan.clone())
        .with_context(|| format!("reading the plan of run {}", row.summary.id))
}

/// The result for a terminal; every size if `all`.
pub(crate) fn text(
    store: &Store,
    row: &RunRow,
    result: &Outcome,
    all: bool,
    options: &TextOptions,
) -> anyhow::Result<String> {
    let head = head(store, row);
    Ok(match result {
        Outcome::One(verdict) => pipe_text(verdict, &head, all, options),
        Outcome::Set(verdict) => set_text(verdict, &head, all, options),
        Outcome::Hint(result) => {
            hint_text(result, plan::<HintRun>(row)?.pipe.kind.label(), &head, all, options)
        }
    })
}
