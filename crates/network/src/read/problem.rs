//! Mistakes in a file, with their places.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use btu_units::controls;
use thiserror::Error;

use super::tree::At;

/// How many problems of one file are kept; a file with more is not a network file.
const MOST: usize = 100;

/// The place of a possible problem: its position, and the keys that lead to it.
#[derive(Debug, Clone)]
pub struct Spot {
    pub(super) at: At,
    pub(super) path: String,
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: RefCell<Vec<(Spot, String)>>,
}

impl Problems {
    /// Adds a problem.
    pub(super) fn note(&self, spot: &Spot, message: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        if found.len() < MOST {
            found.push((spot.clone(), message.into()));
        }
    }

    /// Whether the limit of problems is reached, so that further ones are dropped.
    pub(super) fn full(&self) -> bool {
        self.found.borrow().len() >= MOST
    }

    /// Whether nothing is wrong yet.
    pub(super) fn none(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The mistakes in settings, each with its setting's number.
    pub(super) fn of_settings(&self) -> Vec<(usize, String)> {
        let found = self.found.borrow();
        let problem = |(spot, message): &(Spot, String)| match spot.at {
            At::File(_) => None,
            At::Setting(number) => Some((number, message.clone())),
        };
        found.iter().filter_map(problem).collect()
    }

    /// The result for a file: success, or all mistakes in it, in the order of the file.
    pub(super) fn verdict(
        self,
        source: &str,
        text: &str,
        settings: &[(String, String)],
    ) -> Result<(), ReadError> {
        let mut found = self.found.into_inner();
        if found.is_empty() {
            return Ok(());
        }
        found.sort_by_key(|(spot, _)| match &spot.at {
            At::File(span) => (0, span.start),
            At::Setting(number) => (1, *number),
        });
        let lines = Lines::of(text);
        let problems = found.into_iter().map(|(spot, message)| Problem {
            place: lines.place(&spot.at, settings),
            path: spot.path,
            message,
        });
        Err(ReadError { source_name: source.to_owned(), problems: problems.collect() })
    }
}

/// A file that cannot be read as a network, with all its mistakes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ReadError {
    source_name: String,
    problems: Vec<Problem>,
}

impl ReadError {
    /// One mistake in `text`, which may be a file of another kind than a network file and is shown
    /// in an equal form. `span` is in octets.
    pub fn at(source: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let place = Lines::of(text).in_file(span.start, span.end);
        let problem = Problem { place, path: String::new(), message: message.into() };
        Self { source_name: source.to_owned(), problems: vec![problem] }
    }

    /// The name of the file.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// The mistakes, in the order of the file; at least one, at most 100.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ReadError {
    /// One paragraph for each problem: `lab.toml:12:8: segments.lab.rate: ...`, the line, and a
    /// mark under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            problem.print(&self.source_name, f)?;
        }
        Ok(())
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place in the file or the setting where the problem is.
    pub place: Place,
    /// The keys that lead there, such as `segments.lab.rate`; empty if the file is not TOML.
    pub path: String,
    /// The mistake, and the correct form.
    pub message: String,
}

/// The place of a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A place in the file.
    File {
        /// The number of the line, from 1.
        line: usize,
        /// Character in the line, from 1.
        column: usize,
        /// The line, or a part of it where it is long.
        excerpt: String,
        /// First character of the place in the excerpt, from 0, and how many there are, at least 1.
        mark: (usize, usize),
    },
    /// In a setting that the user made in addition to the file.
    Setting {
        /// As it was made, `KEY=VALUE`.
        text: String,
    },
}

impl Problem {
    fn print(&self, source: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { line, column, .. } => write!(f, "{source}:{line}:{column}: ")?,
            Place::Setting { text } => write!(f, "{source}, with {text}: ")?,
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.message)?;
        if let Place::File { line, excerpt, mark: (start, length), .. } = &self.place {
            write!(f, "\n{line:>5} | {excerpt}\n      | {:start$}{:^<length$}", "", "")?;
        }
        Ok(())
    }
}

/// How much of a line is shown before and after the place.
const BEFORE: usize = 60;
const AFTER: usize = 80;

/// A text with the beginnings of its lines.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(place, _)| place + 1));
        Self { text, starts: starts.collect() }
    }

    fn place(&self, at: &At, settings: &[(String, String)]) -> Place {
        match at {
            At::File(span) => self.in_file(span.start, span.end),
            At::Setting(number) => {
                let text = settings.get(*number).map(|(key, value)| format!("{key}={value}"));
                Place::Setting { text: text.unwrap_or_default() }
            }
        }
    }

    fn in_file(&self, start: usize, end: usize) -> Place {
        let start = self.boundary(start);
        let end = self.boundary(end.max(start));
        let line = self.starts.partition_point(|&first| first <= start).max(1);
        let first = self.starts[line - 1];
        let whole = self.text[first..].split(['\n', '\r']).next().unwrap_or_default();
        let column = self.text[first..start].chars().count();
        let skipped = column.saturating_sub(BEFORE);
        let shown = |c: char| if controls(c) { ' ' } else { c };
        let excerpt: String = whole.chars().skip(skipped).take(BEFORE + AFTER).map(shown).collect();
        let length =
            self.text[start..end].chars().take_while(|c| !matches!(c, '\n' | '\r')).count();
        let room = excerpt.chars().count().saturating_sub(column - skipped);
        Place::File {
            line,
            column: column + 1,
            excerpt: excerpt.trim_end().to_owned(),
            mark: (column - skipped, length.min(room).max(1)),
        }
    }

    /// The nearest beginning of a character at or before `place`.
    fn boundary(&self, place: usize) -> usize {
        self.text.floor_char_boundary(place.min(self.text.len()))
    }
}
