//! The list of runs.

use btu_suite::verdict::Title;
use btu_units::Span;

use crate::head::TextOptions;
use crate::number::{NOTHING, duration, three_digits};
use crate::paint::Paint;
use crate::sheet::{Sheet, columns};

/// One run as listed; every text as it shall be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// The run's name.
    pub id: String,
    /// Wall time of the start.
    pub started: String,
    /// How far it got.
    pub state: String,
    /// The profile's name.
    pub profile: String,
    /// The network.
    pub network: String,
    /// The user's own word for it.
    pub label: Option<String>,
    /// Cells that count.
    pub valid_cells: u64,
    /// Cells that are stored.
    pub cells: u64,
    /// The BTU rating or what there is of one, where it is known.
    pub rating_bits_per_second: Option<f64>,
    /// What that may be called.
    pub title: Title,
    /// How long it took, where it is known.
    pub duration: Option<Span>,
    /// Why more cannot be told of it.
    pub unread: Option<String>,
}

/// The list of runs, in the order given; lines end with `\n`.
pub fn runs_text(runs: &[RunLine], options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    if runs.is_empty() {
        return format!("No runs yet. {}\n", paint.quiet("`btu rate` makes one."));
    }
    let longest = runs.iter().filter_map(|run| run.label.as_deref()).map(columns).max();
    let bare = sheet(runs, None);
    let taken = bare.iter().map(|line| columns(line)).max().unwrap_or(0);
    let room = options.columns().saturating_sub(taken + 2).max(SHORTEST_LABEL);
    let lines = match longest {
        Some(longest) => sheet(runs, Some(longest.min(room))),
        None => bare,
    };
    let unread = runs.iter().filter_map(|run| run.unread.clone());
    lines.into_iter().chain(unread).collect::<Vec<_>>().join("\n") + "\n"
}

/// A label may be cut to this many columns, not further.
const SHORTEST_LABEL: usize = 8;

/// The table; with labels cut to so many columns, or without them.
fn sheet(runs: &[RunLine], label: Option<usize>) -> Vec<String> {
    let words = ["run", "started", "state", "profile", "network"].into_iter().chain(label.map(|_| "label"));
    let labels = words.clone().count();
    let mut sheet = Sheet::new(words.chain(["BTU, Mb/s", "cells", "took"]).map(str::to_owned).collect(), labels);
    for run in runs {
        sheet.row(cells(run, label));
    }
    sheet.lines()
}

/// `text`, or as much of it as fits with a mark that it was cut.
fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room { text.to_owned() } else { text.chars().take(room - 1).chain(['…']).collect() }
}

fn cells(run: &RunLine, label: Option<usize>) -> Vec<String> {
    let counted = if run.valid_cells == run.cells {
        run.cells.to_string()
    } else {
        format!("{} of {}", run.valid_cells, run.cells)
    };
    let words = [&run.id, &run.started, &run.state, &run.profile, &run.network].map(Clone::clone);
    let label = label.map(|room| cut(run.label.as_deref().unwrap_or_default(), room));
    let numbers = [rating(run), counted, run.duration.map_or_else(|| NOTHING.to_owned(), duration)];
    words.into_iter().chain(label).chain(numbers).collect()
}

/// `1234`, or `part: 1234` where that is no BTU rating.
fn rating(run: &RunLine) -> String {
    let Some(rate) = run.rating_bits_per_second else { return NOTHING.to_owned() };
    let part = if run.title == Title::BtuRating { "" } else { "part: " };
    format!("{part}{}", three_digits(rate / 1e6))
}
