//! The first screen of a result: the answer with its interval, its limit, the measured path, the
//! most severe warnings, and the next commands. It is made from the same [`Page`] as every file, so
//! that no study has a first screen of its own.

use btu_stats::{Estimate, Interval};

use crate::head::TextOptions;
use crate::html::{Cell, Page, PageWarning, Section, Table, tables_of};
use crate::narrow::{narrowed, narrowed_command};
use crate::number::{count, ends, three_digits};
use crate::paint::Paint;
use crate::sheet::{columns, wrap};
use crate::unit;

/// The texts of a first screen, unless all of more key numbers are shown; one that is longer than a
/// line goes on in the next.
pub const FIRST_SCREEN_TEXTS: usize = 12;

/// The lines that others leave for the headline, for the limit, and for the setting if there is room.
const MOST_OF_HEADLINE: usize = 2;
const MOST_OF_LIMIT: usize = 3;
const MOST_OF_SETTING: usize = 3;
const MOST_WARNINGS: usize = 3;

/// Warnings after the first, and what makes the setting longer than two lines, give way to so many
/// key numbers: a rating under each load, and that of all runs.
const KEY_FIGURES: usize = 4;
const SETTING: usize = 2;

/// The number of commands that are always shown, and of key numbers if there is no room for more.
const COMMANDS: usize = 2;
const FEWEST_FIGURES: usize = 2;

/// Columns for a command's mark and purpose, so that enough of the purpose can be read.
const LEAST_PURPOSE: usize = 16;

/// The content of the first screen below the headline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// A number that follows the headline in its line; may be empty.
    pub addition: String,
    /// The result's numbers, the most important first.
    pub figures: Vec<KeyFigure>,
    /// Whether all of these are shown, in a line more for each beyond the fourth: half of a pair would
    /// mislead.
    pub shows_all: bool,
    /// The limit of the result, in one short sentence; empty if it is not known.
    pub limit: String,
    /// What decides the result of an experiment, where that is known instead of a limit.
    pub decided: String,
    /// The measured path, and the meaning of the intervals: short phrases.
    pub setting: Vec<String>,
    /// The next commands; the first one shows all tables.
    pub next: Vec<Next>,
}

/// A number of the result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFigure {
    /// The name of the figure.
    pub name: String,
    /// The value with its unit.
    pub value: String,
    /// Ends of its 95 % interval, without a unit; empty where there is none.
    pub interval: String,
    /// An addition to the value; may be empty.
    pub note: String,
}

/// A command to type, and its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The command as a user types it.
    pub command: String,
    /// The purpose in a few words.
    pub gives: String,
}

impl Next {
    /// A command and its purpose.
    pub fn new(command: impl Into<String>, gives: &str) -> Self {
        Self { command: command.into(), gives: gives.to_owned() }
    }
}

impl Summary {
    /// The sentence about the limit, or about what decides, without a full stop; may be empty.
    pub(crate) fn limit_sentence(&self) -> String {
        match (self.limit.as_str(), self.decided.as_str()) {
            ("", "") => String::new(),
            ("", decided) => format!("Decided by {decided}"),
            (limit, _) => format!("Limited by {limit}"),
        }
    }
}

impl Page {
    /// Returns this page with `limit`, the sentence about the limit of the result.
    pub(crate) fn limited_by(mut self, limit: String) -> Self {
        self.summary.limit = limit;
        self
    }
}

/// The first screen of a result; each line ends with `\n`. It has at most [`FIRST_SCREEN_TEXTS`]
/// texts: fewer warnings and key numbers where others take more lines. What is shown is whole: a text
/// that is longer than a line goes on in the next, and the setting leaves out whole phrases.
pub fn first_screen(page: &Page, options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    let Shown { headline, figures, limit, setting, warnings, commands } = chosen(page, options);
    let plain = |_: Paint, line: &str| line.to_owned();
    let painted = |texts: &[String], style: fn(Paint, &str) -> String, indent: usize| {
        let lines = texts.iter().flat_map(|text| narrowed(text, options, indent));
        lines.map(|line| style(paint, &line)).collect::<Vec<String>>()
    };
    let painted = [
        painted(&[headline], Paint::strong, 2),
        painted(&figures, plain, 4),
        painted(&[limit], plain, 2),
        painted(&[setting], Paint::quiet, 0),
        painted(&warnings, Paint::warning, 2),
        commands,
    ];
    let lines = painted.concat().into_iter().filter(|line| !line.is_empty());
    lines.map(|line| line + "\n").collect()
}

/// The texts of a first screen, as long as they are.
struct Shown {
    headline: String,
    figures: Vec<String>,
    limit: String,
    setting: String,
    warnings: Vec<String>,
    commands: Vec<String>,
}

fn chosen(page: &Page, options: &TextOptions) -> Shown {
    let lines = |text: &str, most: usize| match text {
        "" => 0,
        text => wrap(text, options.columns(), 2).len().min(most),
    };
    let Summary { addition, figures, shows_all, setting, next, .. } = &page.summary;
    let headline = format!("{}{addition}", page.headline);
    let limit = page.summary.limit_sentence();
    let figures = lined_up(figures);
    let wanted = if *shows_all { figures.len() } else { figures.len().min(KEY_FIGURES) };
    let most = FIRST_SCREEN_TEXTS + wanted.saturating_sub(KEY_FIGURES);
    let phrases = |count: usize| setting[..count].join("; ");
    let fits = |count: &usize| lines(&phrases(*count), usize::MAX) <= MOST_OF_SETTING;
    let setting = phrases((1..=setting.len()).rev().find(fits).unwrap_or(setting.len().min(1)));
    let needed = lines(&headline, MOST_OF_HEADLINE)
        + lines(&limit, MOST_OF_LIMIT)
        + next.len().min(COMMANDS);
    let warnings: Vec<String> =
        grouped(&page.warnings).iter().map(|text| format!("! {text}")).collect();
    let room = most.saturating_sub(needed + wanted + lines(&setting, SETTING));
    let shown = warnings.len().min(room.clamp(1, MOST_WARNINGS));
    let needed = needed + lines(&setting, MOST_OF_SETTING) + shown;
    let room = most.saturating_sub(needed).max(FEWEST_FIGURES).max(wanted);
    let figures = figures[..figures.len().min(room)].to_vec();
    let room = most.saturating_sub(needed + figures.len()) + COMMANDS;
    let commands = commands(&next[..next.len().min(room)], warnings.len() - shown, options);
    Shown { headline, figures, limit, setting, warnings: warnings[..shown].to_vec(), commands }
}

/// Names, values and intervals in columns.
fn lined_up(figures: &[KeyFigure]) -> Vec<String> {
    let widest = |text: fn(&KeyFigure) -> &str| {
        figures.iter().map(|one| columns(text(one))).max().unwrap_or(0)
    };
    let (names, values) = (widest(|one| &one.name), widest(|one| &one.value));
    let interval = |one: &KeyFigure| {
        if one.interval.is_empty() { String::new() } else { format!("({})", one.interval) }
    };
    let intervals = figures.iter().map(|one| columns(&interval(one))).max().unwrap_or(0);
    let line = |one: &KeyFigure| {
        let KeyFigure { name, value, note, .. } = one;
        let line =
            format!("  {name:names$}  {value:>values$}  {:intervals$}  {note}", interval(one));
        line.trim_end().to_owned()
    };
    figures.iter().map(line).collect()
}

/// Warnings with equal titles are merged, in the order of their first occurrence.
fn grouped(warnings: &[PageWarning]) -> Vec<String> {
    let mut groups: Vec<(&PageWarning, usize)> = Vec::new();
    for warning in warnings {
        match groups.iter_mut().find(|(first, _)| first.title == warning.title) {
            Some((_, times)) => *times += 1,
            None => groups.push((warning, 1)),
        }
    }
    let text = |(warning, times): (&PageWarning, usize)| {
        let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
        format!("{}{times}: {}", warning.title, warning.observed)
    };
    groups.into_iter().map(text).collect()
}

/// Commands with their purposes, in columns, or below where a line has no room for both.
fn commands(next: &[Next], left_out: usize, options: &TextOptions) -> Vec<String> {
    let quiet = |gives: &str| Paint(options.colour).quiet(gives);
    let most = options.width.saturating_sub(LEAST_PURPOSE);
    let widths = next.iter().map(|one| columns(&one.command)).filter(|width| *width <= most);
    let widest = if options.is_narrow() { 0 } else { widths.max().unwrap_or(0) };
    let lines = |(place, Next { command, gives }): (usize, &Next)| {
        let gives = match left_out {
            more if place == 0 && more > 0 => format!("{gives}, {}", count(more, "more warning")),
            _ => gives.clone(),
        };
        // Only the command is emphasised; its purpose is dim.
        if columns(command) <= widest && columns(&gives) + widest + 4 <= options.width {
            return vec![format!("> {command:widest$}{}", quiet(&format!("  {gives}")))];
        }
        let purpose = narrowed(&format!("    {gives}"), options, 4);
        let command = narrowed_command(&format!("> {command}"), options);
        command.into_iter().chain(purpose.iter().map(|line| quiet(line))).collect::<Vec<_>>()
    };
    next.iter().enumerate().flat_map(lines).collect()
}

/// The rows of the first table of `sections` that has an interval, each with its first value that
/// has one, else of the first table with its first numbers: the key numbers of a result that names
/// none.
pub(crate) fn first_estimates(sections: &[Section]) -> Vec<KeyFigure> {
    let has_estimate =
        |table: &&Table| table.rows.iter().flatten().any(|cell| cell.interval().is_some());
    let shown = || {
        sections
            .iter()
            .filter(|section| !section.appendix)
            .map(std::slice::from_ref)
            .flat_map(tables_of)
    };
    let Some(table) = shown().find(has_estimate).or_else(|| shown().next()) else {
        return Vec::new();
    };
    table.rows.iter().filter_map(|row| estimate(table, row)).collect()
}

fn estimate(table: &Table, row: &[Cell]) -> Option<KeyFigure> {
    let is_number = |cell: &Cell| matches!(cell, Cell::Number { .. });
    let place = row
        .iter()
        .position(|cell| cell.interval().is_some())
        .or_else(|| row.iter().position(is_number))?;
    let names: Vec<&str> = row.iter().take(table.labels).map(Cell::shown).collect();
    // A head is a unit, or a name with its unit behind the last comma.
    let head = table.head.get(place).map_or("", String::as_str);
    let (note, unit) = head.rsplit_once(", ").unwrap_or(("", head));
    let Cell::Number { value, interval, .. } = row[place] else { return None };
    let figure = |value, interval| KeyFigure {
        name: names.join(" "),
        value,
        interval,
        note: note.to_owned(),
    };
    let Some((_, of)) = unit::of_head(unit) else {
        let interval = row[place].interval().unwrap_or_default();
        return Some(figure(format!("{} {unit}", three_digits(value)), interval));
    };
    let interval = interval.map(|(low, high)| Interval { low, high });
    let found = Estimate { value, interval }.scaled(of.worth);
    let fitting = of.fitting(found.value.abs());
    let interval = ends(&found, fitting.worth).unwrap_or_default();
    Some(figure(fitting.write(found.value), interval))
}
