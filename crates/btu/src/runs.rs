//! `btu runs` and `btu show`: what is stored, shown again.

use btu_report::{RunLine, runs_text};
use btu_store::{RunId, RunSummary, Store};
use btu_suite::verdict::Title;
use btu_units::shell_word;

use crate::cli::{Common, Runs, Show};
use crate::stored::{Rated, among_others, duration};
use crate::terminal::{print, print_json, text_options};
use crate::{preflight, rate, suites};

/// Lists the stored runs.
pub(crate) fn list(list: &Runs, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let mut runs = store.runs()?;
    if let Some(tag) = &list.tag {
        runs.retain(|run| run.tags.contains(tag));
        if runs.is_empty() && !common.json {
            return print(&format!("No run has the tag `{tag}`; `btu tag RUN {}` gives it to one.", shell_word(tag)));
        }
    }
    if common.json {
        return print_json(&runs);
    }
    let lines: Vec<RunLine> = runs.iter().map(|run| line(&store, run)).collect::<anyhow::Result<_>>()?;
    print(&runs_text(&lines, &text_options()))
}

/// Shows a stored run.
pub(crate) fn show(show: &Show, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let row = store.run(&show.run)?;
    let suite = suites::of(&row)?;
    print(&match (show.cells, common.json) {
        (true, is_json) => suite.cells(&store, &row, is_json)?,
        (false, true) => suite.json(&store, &row)?,
        (false, false) => suite.text(&store, &row, &text_options())?,
    })
}

/// Prints the result of a run.
pub(crate) fn print_result(store: &Store, run: RunId, common: &Common) -> anyhow::Result<()> {
    let row = store.run(&run.to_string())?;
    let suite = suites::of(&row)?;
    print(&if common.json { suite.json(store, &row)? } else { suite.text(store, &row, &text_options())? })
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
