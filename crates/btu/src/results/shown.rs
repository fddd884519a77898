//! The result of a stored run as a command prints it.

use std::process::ExitCode;

use anyhow::bail;
use btu_report::html::Page;
use btu_report::{TextOptions, VARIANCE, first_screen, section_text};
use btu_store::{RunId, Store};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::{Common, Tables};
use crate::exit::Refusal;
use crate::results;
use crate::terminal::{print, text_options};

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
    let study = results::of(&row)?;
    let options = text_options();
    let page = || study.page(store, &row, &[]);
    print(&match (form, shown) {
        (Form::Text, Shown::All) => study.text(store, &row, &options)?,
        (Form::Text, Shown::First) => first_screen(&page()?, &options),
        (Form::Text, Shown::Variance) => with_variance(&page()?, run, &options)?,
        (Form::Json, _) => study.json(store, &row)?,
        (Form::JsonLine, _) => result_line(&study.json(store, &row)?)?,
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
