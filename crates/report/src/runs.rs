//! The list of runs.

use btu_suite::verdict::Title;
use btu_units::Span;

use crate::head::TextOptions;
use crate::number::{NOTHING, duration, three_digits};
use crate::paint::Paint;
use crate::sheet::{Sheet, columns, wrap};

/// One run as listed; every text is as the list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// The name of the run, as the list shows it.
    pub id: String,
    /// Wall time of the start.
    pub started: String,
    /// Its state.
    pub state: String,
    /// The name of the profile, as the list shows it.
    pub profile: String,
    /// The name of the network, as the list shows it.
    pub network: String,
    /// The label that the user gave the run; absent when there is none.
    pub label: Option<String>,
    /// The number of valid cells.
    pub valid_cells: u64,
    /// Cells that are stored.
    pub cells: u64,
    /// The BTU rating or a part of it, if it is known.
    pub rating_bits_per_second: Option<f64>,
    /// Its name by the run rules.
    pub title: Title,
    /// Its time, if it is known.
    pub duration: Option<Span>,
    /// Why its result cannot be read.
    pub unread: Option<String>,
}

/// The list of runs, in the order given; lines end with `\n`.
pub fn runs_text(runs: &[RunLine], options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    if runs.is_empty() {
        return format!("No runs yet. {}\n", paint.quiet("`btu rate` makes one."));
    }
    let lines = sheet(runs);
    let widest = lines.iter().map(|line| columns(line)).max().unwrap_or(0);
    let longest = runs.iter().filter_map(|run| run.label.as_deref()).map(columns).max();
    let lines: Vec<String> = match longest {
        None => lines,
        Some(longest) if widest + 2 + longest <= options.columns() => behind(&lines, runs, widest),
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
            .map(|label| wrap(label, options.columns().saturating_sub(INDENT), 0))
            .unwrap_or_default();
        let words = words.into_iter().map(|words| format!("{}{words}", " ".repeat(INDENT)));
        std::iter::once(line).chain(words).collect::<Vec<_>>()
    };
    lines.into_iter().zip(labels).flat_map(both).collect()
}

/// Columns before a label below its line.
const INDENT: usize = 4;

/// The table without labels.
fn sheet(runs: &[RunLine]) -> Vec<String> {
    let words = ["run", "started", "state", "profile", "network"];
    let head = words.into_iter().chain(["BTU, Mb/s", "cells", "took"]).map(str::to_owned);
    let mut sheet = Sheet::new(head.collect(), words.len());
    for run in runs {
        sheet.row(cells(run));
    }
    sheet.lines()
}

fn cells(run: &RunLine) -> Vec<String> {
    let counted = if run.valid_cells == run.cells {
        run.cells.to_string()
    } else {
        format!("{} of {}", run.valid_cells, run.cells)
    };
    let words = [&run.id, &run.started, &run.state, &run.profile, &run.network].map(Clone::clone);
    let numbers = [rating(run), counted, run.duration.map_or_else(|| NOTHING.to_owned(), duration)];
    words.into_iter().chain(numbers).collect()
}

/// `1234`, or `part: 1234` where that is no BTU rating.
fn rating(run: &RunLine) -> String {
    let Some(rate) = run.rating_bits_per_second else { return NOTHING.to_owned() };
    let part = if run.title == Title::BtuRating { "" } else { "part: " };
    format!("{part}{}", three_digits(rate / 1e6))
}
