//! `btu runs` and `btu show`: what is stored, shown again.

use btu_report::html::Page;
use btu_report::{RunLine, TextOptions, VARIANCE, first_screen, runs_text, section_text};
use btu_store::{RunId, RunSummary, Store};
use btu_suite::verdict::Title;
use btu_units::shell_word;
use serde_json::Value;

use crate::cli::{Common, Runs, Show, Tables};
use crate::exit::Refusal;
use crate::stored::{Rated, among_others, duration};
use crate::terminal::{line_options, print, print_json, text_options};
use crate::{preflight, rate, suites};

/// Lists the stored runs.
pub(crate) fn list(list: &Runs, common: &Common) -> anyhow::Result<()> {
    let store = preflight::stored(common)?;
    let mut runs = store.runs()?;
    if let Some(tag) = &list.tag {
        runs.retain(|run| run.tags.contains(tag));
        if runs.is_empty() && !common.json {
            return print(&format!(
                "No run has the tag `{tag}`; `btu tag RUN {}` gives it to one.",
                shell_word(tag)
            ));
        }
    }
    if common.json {
        return print_json(&runs);
    }
    let lines: Vec<RunLine> =
        runs.iter().map(|run| line(&store, run)).collect::<anyhow::Result<_>>()?;
    print(&runs_text(&lines, &line_options()))
}

/// Shows a stored run.
pub(crate) fn show(show: &Show, common: &Common) -> anyhow::Result<()> {
    let store = preflight::stored(common)?;
    let row = store.run(&show.run)?;
    if show.cells {
        return print(&suites::of(&row)?.cells(&store, &row, common.json)?);
    }
    print_result(&store, row.summary.id, Shown::by(show.tables), Form::of(common))
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

fn line(store: &Store, run: &RunSummary) -> anyhow::Result<RunLine> {
    let is_rated = run.suite == rate::SUITE;
    let rated = if is_rated { Some(among_others(Rated::read(store, run.id))?) } else { None };
    let (rated, unread) = match rated.transpose() {
        Ok(rated) => (rated, None),
        Err(why) => (None, Some(why)),
    };
    let title = rated.as_ref().map_or(Title::None, |rated| Title::of(&rated.obstacles));
    let rating = rated.and_then(|rated| rated.rating);
    Ok(RunLine {
        id: run.id.to_string(),
        started: run.created.clone(),
        state: run.state.to_string(),
        profile: run.profile.clone(),
        network: run.network.clone(),
        label: label(run),
        valid_cells: u64::from(run.valid_cells),
        cells: u64::from(run.cells),
        rating_bits_per_second: rating.map(|rating| rating.btu_bits_per_second.value),
        title,
        duration: duration(run),
        unread,
    })
}
