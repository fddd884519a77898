//! The content of a report, independent of its format: HTML, Markdown, CSV, a workbook or a
//! picture.
//!
//! All texts are plain: the code that writes a format escapes them.

use btu_stats::Estimate;

use super::figure::Figure;
use crate::number::{NOTHING, ends, three_digits};
use crate::summary::Summary;
use crate::unit;

/// A report as a page of sections, with a summary for the terminal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Its subject, in a few words.
    pub title: String,
    /// The result, in large letters.
    pub headline: String,
    /// Additions to the result, one line each.
    pub remarks: Vec<String>,
    /// Short words that every form shows next to the result.
    pub marks: Vec<Mark>,
    /// Warnings; they come first.
    pub warnings: Vec<PageWarning>,
    /// The sections of the report, in the order in which they are shown.
    pub sections: Vec<Section>,
    /// The first screen of a terminal.
    pub summary: Summary,
    /// The closing text: the valid statements about the result, and the rules for quoting it.
    pub footer: Vec<String>,
}

/// A short word about the result, and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// One to three words.
    pub word: String,
    /// The meaning of the mark, in one sentence.
    pub meaning: String,
}

/// A warning as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageWarning {
    /// The title, in two or three words.
    pub title: String,
    /// The observation that caused the warning.
    pub observed: String,
    /// The advice; may be empty.
    pub advice: String,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The title of the section.
    pub title: String,
    /// How to read it; may be empty.
    pub note: String,
    /// The blocks of the section, in the order in which they are shown.
    pub blocks: Vec<Block>,
    /// Whether it appears in files only.
    pub appendix: bool,
}

impl Section {
    /// A section; `None` if it has no content.
    pub fn of(title: &str, note: &str, blocks: Vec<Block>) -> Option<Self> {
        let (title, note) = (title.to_owned(), note.to_owned());
        (!blocks.is_empty()).then_some(Self { title, note, blocks, appendix: false })
    }

    /// Like `of`, for files only.
    #[must_use]
    pub(crate) fn into_appendix(self) -> Self {
        Self { appendix: true, ..self }
    }
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph of text.
    Text(String),
    /// A command to type.
    Command(String),
    /// A block with a table.
    Table(Table),
    /// A picture with its table.
    Figure(Figure),
}

/// A table: some columns of words, then columns of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Its content with the unit; the name of its sheet and of its part of a CSV file.
    pub caption: String,
    /// One word for each column.
    pub head: Vec<String>,
    /// How many columns at the left hold words.
    pub labels: usize,
    /// The rows, each as long as the head.
    pub rows: Vec<Vec<Cell>>,
    /// Whether the background of a number shows its size, by equal ratios: a heat map, in formats
    /// that have colours.
    pub shaded: bool,
}

impl Table {
    /// The table as people read it: a column of times or rates that are all a thousand of its unit or more
    /// has a larger unit, by the smallest of them. Files for programs keep the unit.
    pub(crate) fn for_readers(&self) -> Self {
        let mut table = self.clone();
        for column in self.labels..self.head.len() {
            if let Some((head, times)) = self.larger(column) {
                table.head[column] = head;
                let cells = table.rows.iter_mut().filter_map(|row| row.get_mut(column));
                cells.for_each(|cell| cell.divide(times));
            }
        }
        table
    }

    /// The head of a column with its larger unit, and how many of the present one that is.
    fn larger(&self, column: usize) -> Option<(String, f64)> {
        let (name, unit) = unit::of_head(&self.head[column])?;
        let cells = || self.rows.iter().filter_map(move |row| row.get(column));
        if !cells().all(Cell::is_plain) {
            return None;
        }
        let values = cells().filter_map(|cell| match cell {
            Cell::Number { value, .. } if *value > 0.0 => Some(*value),
            Cell::Number { .. } | Cell::Text(_) | Cell::Nothing => None,
        });
        let larger = unit.fitting(values.reduce(f64::min)? * unit.worth);
        (larger.worth > unit.worth)
            .then(|| (format!("{name}{}", larger.name), larger.worth / unit.worth))
    }

    /// An empty table; its first `labels` columns hold words.
    pub fn new(caption: &str, head: &[&str], labels: usize) -> Self {
        let head = head.iter().map(|&word| word.to_owned()).collect();
        Self { caption: caption.to_owned(), head, labels, rows: Vec::new(), shaded: false }
    }
}

/// A cell of a table: text or a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A cell with text.
    Text(String),
    /// A number, rounded for readers and in full for programs.
    Number {
        /// The value without rounding.
        value: f64,
        /// The rounded value, with its marks.
        shown: String,
        /// Ends of its 95 % interval, in full.
        interval: Option<(f64, f64)>,
    },
    /// The cell has no value.
    Nothing,
}

impl Cell {
    /// A cell with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number shown with three digits.
    pub fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Nothing, |value| Self::Number {
            value,
            shown: three_digits(value),
            interval: None,
        })
    }

    /// A share, shown in per cent.
    pub fn percent(share: f64) -> Self {
        let shown = crate::number::percent(share);
        Self::Number { value: share * 100.0, shown, interval: None }
    }

    /// A count, shown in full.
    pub fn count(count: u64) -> Self {
        Self::Number { value: count as f64, shown: count.to_string(), interval: None }
    }

    /// A value with its interval, both divided by `unit`.
    pub fn estimate(estimate: Option<&Estimate>, unit: f64) -> Self {
        let Some(estimate) = estimate else { return Self::Nothing };
        let interval =
            estimate.interval.map(|interval| (interval.low / unit, interval.high / unit));
        let shown = three_digits(estimate.value / unit);
        Self::Number { value: estimate.value / unit, shown, interval }
    }

    /// The text as the report shows it.
    pub fn shown(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number { shown, .. } => shown,
            Self::Nothing => NOTHING,
        }
    }

    /// Whether it has no number that is shown in another way, such as with a mark.
    fn is_plain(&self) -> bool {
        match self {
            Self::Number { value, shown, .. } => {
                *shown == three_digits(*value)
                    || !shown.contains(|letter: char| letter.is_numeric())
            }
            Self::Text(_) | Self::Nothing => true,
        }
    }

    /// Makes it a number of a unit that is `times` as large.
    fn divide(&mut self, times: f64) {
        let Self::Number { value, shown, interval } = self else { return };
        let is_shown = *shown == three_digits(*value);
        *value /= times;
        *interval = interval.map(|(low, high)| (low / times, high / times));
        if is_shown {
            *shown = three_digits(*value);
        }
    }

    /// The interval as text, if there is one.
    pub fn interval(&self) -> Option<String> {
        let Self::Number { value, interval: Some((low, high)), .. } = *self else { return None };
        ends(&Estimate { value, interval: Some(btu_stats::Interval { low, high }) }, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_long_times_have_a_larger_unit() {
        let mut table = Table::new("Times", &["", "time, us", "mixed, us", "queue, ms", "us"], 1);
        let estimate =
            Estimate { value: 0.275, interval: Some(btu_stats::Interval::around(0.275, 0.025)) };
        let none = Cell::Number { value: 0.0, shown: "none".to_owned(), interval: None };
        let long = [Cell::estimate(Some(&estimate), 1e-6), Cell::number(Some(2e6))];
        let short = [Cell::number(Some(1990.0)), Cell::number(Some(12.0))];
        for ([time, mixed], queue) in [long, short].into_iter().zip([none, Cell::number(Some(1e6))])
        {
            table.rows.push(vec![Cell::text("a"), time, mixed, queue, Cell::Nothing]);
        }
        let read = table.for_readers();
        assert_eq!(read.head, ["", "time, ms", "mixed, us", "queue, s", "us"]);
        let shown: Vec<Vec<&str>> =
            read.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        assert_eq!(
            shown,
            [["a", "275", "2000000", "none", "-"], ["a", "1.99", "12.0", "1000", "-"]]
        );
        assert_eq!(read.rows[0][1].interval().as_deref(), Some("250 .. 300"));
        // Marked numbers are left alone.
        table.rows[0][1] =
            Cell::Number { value: 5e6, shown: "5000000?".to_owned(), interval: None };
        assert_eq!(table.for_readers().head[1], "time, us");
    }
}
