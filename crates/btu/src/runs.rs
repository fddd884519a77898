//! `btu runs` and `btu show`: what is stored, shown again.

use btu_report::{RunLine, rate_text, runs_text, shell_word};
use btu_store::{RunId, RunRow, RunSummary, Store};
use btu_suite::record::CellRecord;
use btu_suite::roll;
use btu_suite::verdict::{Title, Verdict};
use serde::Serialize;

use crate::cli::{Common, Runs, Show};
use crate::stored::{Rated, Stored, among_others, duration};
use crate::terminal::{print, print_json, text_options};
use crate::{hosts, pipe, preflight, provenance, rate};

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
    if pipe::is_ours(&row.summary.suite) {
        return if show.cells { pipe::cells(&store, &row, common) } else { pipe::stored(&store, &row, common) };
    }
    if row.summary.suite == roll::SUITE {
        return hosts::stored(&store, &row, common);
    }
    let stored = Stored::named(&store, &show.run)?;
    if show.cells { print_cells(&stored.cells, common) } else { print_stored(&store, &stored, common) }
}

/// What `--json` prints of a run.
#[derive(Serialize)]
struct Document<'a> {
    run: &'a RunRow,
    result: &'a Verdict,
    /// On what else it was resumed, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resumed_elsewhere: Vec<String>,
}

/// Prints the result of a run.
pub(crate) fn print_result(store: &Store, run: RunId, common: &Common) -> anyhow::Result<()> {
    print_stored(store, &Stored::read(store, run)?, common)
}

/// What `--json` prints of a run, as text.
pub(crate) fn document(stored: &Stored) -> anyhow::Result<String> {
    let resumed_elsewhere = provenance::changes(&stored.row);
    let document = Document { run: &stored.row, result: &stored.verdict, resumed_elsewhere };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn print_stored(store: &Store, stored: &Stored, common: &Common) -> anyhow::Result<()> {
    if common.json {
        return print(&document(stored)?);
    }
    print(&rate_text(&stored.verdict, &stored.head(store), &text_options()))
}

fn print_cells(cells: &[CellRecord], common: &Common) -> anyhow::Result<()> {
    if common.json {
        // On one line: spread out, the samples of a run would be a hundred megabytes.
        return print(&serde_json::to_string(cells)?);
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
