//! `btu runs` and `btu show`: what is stored, shown again.

use btu_report::{RunLine, openmetrics, runs_text};
use btu_store::{RunId, RunRow, RunSummary, State, Store};
use btu_units::shell_word;
use serde::Serialize;

use crate::cli::{Common, Runs, Show};
use crate::results;
use crate::results::shown::{Form, Shown, print_result};
use crate::stored::{self, duration};
use crate::terminal::{line_options, print, print_json};

/// Lists the stored runs.
pub(crate) fn list(list: &Runs, common: &Common) -> anyhow::Result<()> {
    let store = stored::open_to_read(common)?;
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
    let store = stored::open_to_read(common)?;
    let row = store.run(&show.run)?;
    if show.cells {
        return print(&results::of(&row)?.cells(&store, &row, common.json)?);
    }
    if show.openmetrics {
        return print(&gauges(&store, &row)?);
    }
    print_result(&store, row.summary.id, Shown::by(show.tables), Form::of(common))
}

/// The result of a run in the text format of `OpenMetrics`.
pub(crate) fn gauges_of(common: &Common, run: RunId) -> anyhow::Result<String> {
    let store = stored::open_to_read(common)?;
    gauges(&store, &store.run(&run.to_string())?)
}

fn gauges(store: &Store, row: &RunRow) -> anyhow::Result<String> {
    let study = results::of(row)?;
    let result = study.numbers(store, row)?;
    let RunSummary { id, uuid, network, label, finished, .. } = &row.summary;
    let label = label.as_deref().map(|label| ("label", label));
    let plan: Vec<(&str, &str)> = label.into_iter().chain([("network", &**network)]).collect();
    let (id, finished) = (id.to_string(), finished.as_deref().unwrap_or_default());
    let run = [("run", id.as_str()), ("uuid", uuid), ("finished", finished)];
    let seconds = finished.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    let study = study.made_by(&row.summary.profile).trim_start_matches("btu ");
    Ok(openmetrics(study, &plan, &run, seconds, &result))
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
        command: results::command(run).unwrap_or(&run.study).to_owned(),
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
    let answer = results::of(&row)?.answer(store, &row)?;
    // A database that cannot be written is listed all the same.
    let _ = store.keep_answer(run.id, &answer, version);
    Ok(answer)
}
