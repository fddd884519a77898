//! `btu runs` and `btu show`: what is stored, shown again.

use std::process::ExitCode;

use anyhow::bail;
use btu_report::html::Page;
use btu_report::{
    RunLine, TextOptions, VARIANCE, first_screen, openmetrics, runs_text, section_text,
};
use btu_store::{RunId, RunRow, RunSummary, State, Store};
use btu_units::shell_word;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::{Common, Runs, Show, Tables};
use crate::exit::Refusal;
use crate::start::preflight;
use crate::stored::duration;
use crate::suites;
use crate::terminal::{line_options, print, print_json, text_options};

/// Lists the stored runs.
pub(crate) fn list(list: &Runs, common: &Common) -> anyhow::Result<()> {
    let store = preflight::stored(common)?;
    let mut runs = store.runs()?;
    if let Some(tag) = &list.tag {
        runs.retain(|run| run.tags.contains(tag));
        if runs.is_empty() && !common.json {
            return print(&format!(
                "No run has the tag `{tag}`; `btu runs tag RUN {}` gives it to one.",
                shell_word(tag)
            ));
        }
    }
    let lines: Vec<RunLine> = runs.iter().map(|run| line(&store, run)).collect();
    if common.json {
        return print_json(&runs.iter().zip(&lines).map(ListedRun::of).collect::<Vec<_>>());
    }
    print(&runs_text(&lines, &line_options()))
}

/// A run as `--json` lists it: its row, and what the text says of it.
#[derive(Serialize)]
struct ListedRun<'a> {
    #[serde(flatten)]
    run: &'a RunSummary,
    command: &'a str,
    /// The result in a few words with its units, as in the text; `None` where it cannot be read.
    answer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<&'a str>,
}

impl<'a> ListedRun<'a> {
    fn of((run, line): (&'a RunSummary, &'a RunLine)) -> Self {
        let unread = line.unread.as_deref();
        let answer = unread.is_none().then_some(line.answer.as_str());
        Self { run, command: &line.command, answer, unread }
    }
}

/// Shows a stored run.
pub(crate) fn show(show: &Show, common: &Common) -> anyhow::Result<()> {
    let store = preflight::stored(common)?;
    let row = store.run(&show.run)?;
    if show.cells {
        return print(&suites::of(&row)?.cells(&store, &row, common.json)?);
    }
    if show.openmetrics {
        return print(&gauges(&store, &row)?);
    }
    print_result(&store, row.summary.id, Shown::by(show.tables), Form::of(common))
}

/// The result of a run in the text format of `OpenMetrics`.
pub(crate) fn gauges_of(common: &Common, run: RunId) -> anyhow::Result<String> {
    let store = preflight::stored(common)?;
    gauges(&store, &store.run(&run.to_string())?)
}

fn gauges(store: &Store, row: &RunRow) -> anyhow::Result<String> {
    let suite = suites::of(row)?;
    let result = suite.numbers(store, row)?;
    let RunSummary { id, uuid, network, label, finished, .. } = &row.summary;
    let label = label.as_deref().map(|label| ("label", label));
    let plan: Vec<(&str, &str)> = label.into_iter().chain([("network", &**network)]).collect();
    let (id, finished) = (id.to_string(), finished.as_deref().unwrap_or_default());
    let run = [("run", id.as_str()), ("uuid", uuid), ("finished", finished)];
    let seconds = finished.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    let study = suite.made_by(&row.summary.profile).trim_start_matches("btu ");
    Ok(openmetrics(study, &plan, &run, seconds, &result))
}

/// In which form a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    /// Indented for readers.
    Json,
    /// On one line, behind lines of other kinds.
    JsonLine,
}

impl Form {
    /// The request of the command line.
    pub(crate) fn of(common: &Common) -> Self {
        if common.json { Self::Json } else { Self::Text }
    }
}

/// The part of a result that is shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Print the first screen only.
    First,
    /// Print every table.
    All,
    /// The first screen, and where the spread of the rows comes from.
    Variance,
}

impl Shown {
    /// The request of these options.
    pub(crate) fn by(tables: Tables) -> Self {
        if tables.explain_variance { Self::Variance } else { Self::of(tables.all) }
    }

    /// Every table, or the first screen alone.
    pub(crate) fn of(all: bool) -> Self {
        if all { Self::All } else { Self::First }
    }
}

/// Prints the result of a run; as text, the requested part of it.
pub(crate) fn print_result(
    store: &Store,
    run: RunId,
    shown: Shown,
    form: Form,
) -> anyhow::Result<()> {
    let row = store.run(&run.to_string())?;
    let suite = suites::of(&row)?;
    let options = text_options();
    let page = || suite.page(store, &row, &[]);
    print(&match (form, shown) {
        (Form::Text, Shown::All) => suite.text(store, &row, &options)?,
        (Form::Text, Shown::First) => first_screen(&page()?, &options),
        (Form::Text, Shown::Variance) => with_variance(&page()?, run, &options)?,
        (Form::Json, _) => suite.json(store, &row)?,
        (Form::JsonLine, _) => result_line(&suite.json(store, &row)?)?,
    })
}

/// The exit code of a command that has measured this run and shown it.
///
/// # Errors
/// Nothing of the run counts: the reason is that of the first cell.
pub(crate) fn code(store: &Store, run: RunId) -> anyhow::Result<ExitCode> {
    #[derive(Deserialize)]
    struct Judged {
        #[serde(default)]
        faults: Vec<String>,
    }
    if store.summary(run)?.valid_cells > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let cells: Vec<Judged> = store.records(run)?;
    let why = cells.into_iter().flat_map(|cell| cell.faults).next();
    let why = why.unwrap_or_else(|| "no cell was measured".to_owned());
    bail!(
        "nothing of run {run} counts: {why}; `btu show {run} --cells` has the reason of each cell"
    );
}

/// The first screen, and below it where the spread comes from.
fn with_variance(page: &Page, run: RunId, options: &TextOptions) -> Result<String, Refusal> {
    let section = section_text(page, VARIANCE, options).ok_or_else(|| {
        Refusal::Usage(format!(
            "the spread of run {run} cannot be explained: that takes a run of `btu rate` in which some row was measured twice"
        ))
    })?;
    Ok(format!("{}\n{section}", first_screen(page, options)))
}

/// The document of a result on one line, with its kind added.
fn result_line(document: &str) -> anyhow::Result<String> {
    let mut document: serde_json::Map<String, Value> = serde_json::from_str(document)?;
    document.insert("kind".to_owned(), "result".into());
    Ok(serde_json::to_string(&document)?)
}

/// The user's own words for a run: its label, and each tag with a mark.
fn label(run: &RunSummary) -> Option<String> {
    let tags = run.tags.iter().map(|tag| format!("#{tag}"));
    let words: Vec<String> = run.label.iter().cloned().chain(tags).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn line(store: &Store, run: &RunSummary) -> RunLine {
    // One run that cannot be read does not hide the others.
    let (answer, unread) = match answer(store, run) {
        Ok(answer) => (answer, None),
        Err(why) => ("-".to_owned(), Some(why.to_string())),
    };
    RunLine {
        id: run.id.to_string(),
        command: suites::command(run).unwrap_or(&run.suite).to_owned(),
        answer,
        network: run.network.clone(),
        started: started(&run.created),
        profile: run.profile.clone(),
        valid_cells: u64::from(run.valid_cells),
        cells: u64::from(run.cells),
        duration: duration(run),
        label: label(run),
        unread,
    }
}

/// `2026-11-27 03:03` of the UTC time 2026-11-27T03:03:03Z; another text as it is.
fn started(created: &str) -> String {
    created.get(..16).map_or_else(|| created.to_owned(), |minutes| minutes.replace('T', " "))
}

/// The result in a few words, or how far the run is.
fn answer(store: &Store, run: &RunSummary) -> anyhow::Result<String> {
    if run.state != State::Complete {
        return Ok(format!("{} after {} cells", run.state, run.cells));
    }
    let version = env!("CARGO_PKG_VERSION");
    if let Some((answer, _)) = run.answer.as_ref().filter(|(_, of)| of == version) {
        return Ok(answer.clone());
    }
    let row = store.run(&run.id.to_string())?;
    let answer = suites::of(&row)?.answer(store, &row)?;
    // A database that cannot be written is listed all the same.
    let _ = store.keep_answer(run.id, &answer, version);
    Ok(answer)
}
