//! Texts of lines `NAME VALUE`, in a fixed order, of which every text has exactly one form.

use thiserror::Error;

/// What is wrong with a manifest, or with another signed text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} is not one: {why}")]
pub struct TextError {
    what: &'static str,
    why: String,
}

/// Longer texts are not read.
const LONGEST_TEXT: usize = 4096;

/// The lines of a signed text that are not read yet.
pub(crate) struct Lines<'a> {
    what: &'static str,
    number: usize,
    rest: &'a str,
}

impl<'a> Lines<'a> {
    /// Begins to read `text`, whose first line has to be `first`.
    pub(crate) fn of(what: &'static str, first: &str, text: &'a str) -> Result<Self, TextError> {
        let mut lines = Self { what, number: 0, rest: text };
        if text.len() > LONGEST_TEXT {
            return Err(lines.wrong(format!("it has more than {LONGEST_TEXT} bytes")));
        }
        if lines.next() == Some(first) {
            return Ok(lines);
        }
        Err(lines.wrong(format!("its first line is not `{first}`")))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (line, rest) = self.rest.split_once('\n')?;
        (self.rest, self.number) = (rest, self.number + 1);
        Some(line)
    }

    /// The value of the next line if its name is this one.
    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, String>,
    ) -> Result<Option<T>, TextError> {
        let next = self.rest.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
        if next.is_none() {
            return Ok(None);
        }
        let line = self.next().and_then(|line| line.get(name.len() + 1..));
        let value = line.ok_or_else(|| self.wrong(format!("line `{name}` does not end")))?;
        let value = read(value);
        value.map(Some).map_err(|why| self.wrong(format!("line {}: {why}", self.number)))
    }

    /// The value of the next line, whose name has to be this one.
    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, String>,
    ) -> Result<T, TextError> {
        let read = self.optional(name, read)?;
        read.ok_or_else(|| self.wrong(format!("line {} is not `{name} ...`", self.number + 1)))
    }

    /// Nothing may follow.
    pub(crate) fn end(&self) -> Result<(), TextError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.wrong(format!("line {} does not belong to it", self.number + 1)))
    }

    fn wrong(&self, why: String) -> TextError {
        TextError { what: self.what, why }
    }
}

/// The longest value, in characters.
const LONGEST_VALUE: usize = 200;

/// Whether a letter is blank, though programs take it for one that is not: with such ones two names look alike, and one
/// looks like none.
const fn is_blank(letter: char) -> bool {
    let fillers = matches!(letter, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}');
    fillers || matches!(letter, '\u{180b}'..='\u{180d}' | '\u{2800}' | '\u{ffa0}')
}

/// A value as it may stand in a line: not empty, of one line, without spaces at its ends, and of
/// nothing that controls a terminal or is not seen.
///
/// # Errors
/// It may not, for this reason.
pub fn plain(value: &str) -> Result<String, String> {
    if value.is_empty() || value.trim() != value {
        return Err(format!("{value:?} is empty, or has spaces at its ends"));
    }
    if value.contains(|letter| btu_units::controls(letter) || is_blank(letter)) {
        return Err(format!("{value:?} has characters that are not shown"));
    }
    if value.chars().count() > LONGEST_VALUE {
        return Err(format!("it has more than {LONGEST_VALUE} characters"));
    }
    Ok(value.to_owned())
}

/// A number without signs and leading zeros, so that it has one form.
pub(crate) fn number(value: &str) -> Result<u64, String> {
    let number = value.parse::<u64>().ok().filter(|number| number.to_string() == value);
    number.ok_or_else(|| format!("{value:?} is no number"))
}
