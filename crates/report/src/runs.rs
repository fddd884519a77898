//! The list of runs.

use btu_studies::rate::Title;
use btu_units::Span;

use crate::head::TextOptions;
use crate::number::duration;
use crate::paint::Paint;
use crate::sheet::{Sheet, columns, wrap};
use crate::unit;

/// One run as listed; every text is as the list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// The name of the run, as the list shows it.
    pub id: String,
    /// The command that made it, without `btu`.
    pub command: String,
    /// The result in a few words; of a run that is not complete, how far it is.
    pub answer: String,
    /// The name of the network, as the list shows it.
    pub network: String,
    /// Wall time of the start.
    pub started: String,
    /// The name of the profile, as the list shows it.
    pub profile: String,
    /// The number of valid cells.
    pub valid_cells: u64,
    /// Cells that are stored.
    pub cells: u64,
    /// Its time, if it is known.
    pub duration: Option<Span>,
    /// The label that the user gave the run; absent when there is none.
    pub label: Option<String>,
    /// Why its result cannot be read.
    pub unread: Option<String>,
}

/// `1234 Mb/s`, or `part: 1234 Mb/s` where that is no BTU rating by its name.
pub fn rating_words(bits_per_second: Option<f64>, title: Title) -> String {
    let Some(rate) = bits_per_second else { return "no rating".to_owned() };
    let part = if title == Title::BtuRating { "" } else { "part: " };
    format!("{part}{}", unit::rate(rate))
}

/// The list of runs, in the order given; lines end with `\n`. Columns that a narrow terminal has no
/// room for are left out, the least important first.
pub fn runs_text(runs: &[RunLine], options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    if runs.is_empty() {
        return format!("No runs yet. {}\n", paint.quiet("`btu rate` makes one."));
    }
    let lines = fitted(runs, options.width);
    let widest = lines.iter().map(|line| columns(line)).max().unwrap_or(0);
    let longest = runs.iter().filter_map(|run| run.label.as_deref()).map(columns).max();
    let lines: Vec<String> = match longest {
        None => lines,
        Some(longest) if widest + 2 + longest <= options.width => behind(&lines, runs, widest),
        Some(_) => below(lines, runs, options),
    };
    let unread = runs.iter().filter_map(|run| run.unread.clone());
    lines.into_iter().chain(unread).collect::<Vec<_>>().join("\n") + "\n"
}

/// Lines of a table before its first row.
const HEAD_LINES: usize = 2;

/// Labels in a last column.
fn behind(lines: &[String], runs: &[RunLine], widest: usize) -> Vec<String> {
    let labels = runs.iter().map(|run| run.label.as_deref().unwrap_or_default());
    let labels = ["label", ""].into_iter().chain(labels);
    lines
        .iter()
        .zip(labels)
        .map(|(line, label)| format!("{line:widest$}  {label}").trim_end().to_owned())
        .collect()
}

/// Labels below their lines, where there is no room: words by which runs are found are never cut.
fn below(lines: Vec<String>, runs: &[RunLine], options: &TextOptions) -> Vec<String> {
    let labels = runs.iter().map(|run| run.label.as_deref());
    let labels = std::iter::repeat_n(None, HEAD_LINES).chain(labels);
    let both = |(line, label): (String, Option<&str>)| {
        let words = label
            .map(|label| wrap(label, options.width.saturating_sub(INDENT), 0))
            .unwrap_or_default();
        let words = words.into_iter().map(|words| format!("{}{words}", " ".repeat(INDENT)));
        std::iter::once(line).chain(words).collect::<Vec<_>>()
    };
    lines.into_iter().zip(labels).flat_map(both).collect()
}

/// Columns before a label below its line.
const INDENT: usize = 4;

/// Blanks between two columns.
const GAP: usize = 2;

/// A column of the table.
struct RunColumn {
    head: &'static str,
    of: fn(&RunLine) -> String,
    /// The fewest characters that still say something; a longer text is cut.
    least: usize,
    /// The order in which columns are left out, the highest first; those with 0 always stay.
    rank: u8,
}

/// The columns from left to right.
const COLUMNS: [RunColumn; 8] = [
    RunColumn { head: "run", of: |run| run.id.clone(), least: usize::MAX, rank: 0 },
    RunColumn { head: "command", of: |run| run.command.clone(), least: usize::MAX, rank: 0 },
    RunColumn { head: "result", of: |run| run.answer.clone(), least: 34, rank: 0 },
    RunColumn { head: "network", of: |run| run.network.clone(), least: 12, rank: 1 },
    RunColumn { head: "started", of: |run| run.started.clone(), least: usize::MAX, rank: 2 },
    RunColumn { head: "profile", of: |run| run.profile.clone(), least: usize::MAX, rank: 5 },
    RunColumn { head: "cells", of: counted, least: usize::MAX, rank: 4 },
    RunColumn {
        head: "took",
        of: |run| run.duration.map_or_else(String::new, duration),
        least: usize::MAX,
        rank: 3,
    },
];

fn counted(run: &RunLine) -> String {
    if run.valid_cells == run.cells {
        run.cells.to_string()
    } else {
        format!("{} of {}", run.valid_cells, run.cells)
    }
}

/// The table without labels, in `width` columns.
fn fitted(runs: &[RunLine], width: usize) -> Vec<String> {
    let mut shown: Vec<(&RunColumn, usize)> = COLUMNS
        .iter()
        .map(|column| {
            let texts = runs.iter().map(|run| columns(&(column.of)(run)));
            (column, texts.chain([column.head.len()]).max().unwrap_or(0))
        })
        .collect();
    let total = |shown: &[(&RunColumn, usize)], of: fn(&(&RunColumn, usize)) -> usize| {
        shown.iter().map(of).sum::<usize>() + GAP * shown.len().saturating_sub(1)
    };
    let least = |(column, widest): &(&RunColumn, usize)| column.least.min(*widest);
    while total(&shown, least) > width
        && let Some(last) =
            shown.iter().map(|(column, _)| column.rank).max().filter(|rank| *rank > 0)
    {
        shown.retain(|(column, _)| column.rank != last);
    }
    // The network is cut before the result.
    for head in ["network", "result"] {
        let excess = total(&shown, |(_, widest)| *widest).saturating_sub(width);
        let cut = shown.iter_mut().find(|(column, _)| column.head == head);
        if let Some(one) = cut {
            one.1 = one.1.saturating_sub(excess).max(least(one));
        }
    }
    let mut sheet =
        Sheet::new(shown.iter().map(|(column, _)| column.head.to_owned()).collect(), shown.len());
    for run in runs {
        sheet.row(shown.iter().map(|(column, most)| cut(&(column.of)(run), *most)).collect());
    }
    sheet.lines()
}

/// The text, shortened to so many characters.
fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
