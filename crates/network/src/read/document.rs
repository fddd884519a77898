//! A file of another kind that is read like a network file: the reader reports all mistakes at
//! once, each with its place and the correct form.

use super::fields::Fields;
use super::problem::{Problems, ReadError, Spot};
use super::tree::{At, Table};
use super::{limits, setting, stored, syntax};

/// A TOML file with settings put in, and the mistakes found so far.
#[derive(Debug)]
pub struct Document<'a> {
    source_name: &'a str,
    text: &'a str,
    settings: Vec<(String, String)>,
    table: Option<Table>,
    problems: Problems,
}

impl<'a> Document<'a> {
    /// Reads `text`, which errors call `source_name`, as `kind` of file ("an experiment file"), and
    /// puts the settings in, keys and values as [`super::Reader::set`] takes them.
    pub fn parse(
        text: &'a str,
        source_name: &'a str,
        kind: &str,
        settings: &[(String, String)],
    ) -> Self {
        let problems = Problems::default();
        let table = opened(text, kind, settings, &problems);
        Self { source_name, text, settings: settings.to_vec(), table, problems }
    }

    /// Its content; `None` if it is not TOML.
    pub fn fields(&self) -> Option<Fields<'_>> {
        Some(Fields::of(self.table.as_ref()?, start(), &self.problems))
    }

    /// Reports a problem at a place.
    pub fn problem_at(&self, spot: &Spot, message: impl Into<String>) {
        self.problems.note(spot, message);
    }

    /// Whether nothing is wrong so far.
    pub fn is_right(&self) -> bool {
        self.problems.none()
    }

    /// The mistakes in settings, each with its setting's index in their list.
    pub fn problems_of_settings(&self) -> Vec<(usize, String)> {
        self.problems.of_settings()
    }

    /// The answer to the file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn verdict(self) -> Result<(), ReadError> {
        self.problems.verdict(self.source_name, self.text, &self.settings)
    }
}

/// The beginning of a file.
pub(super) fn start() -> Spot {
    Spot { at: At::File(0..0), path: String::new() }
}

/// The tree of a file of this kind with settings put in; `None` if it is too large, or not TOML.
pub(super) fn opened(
    text: &str,
    kind: &str,
    settings: &[(String, String)],
    problems: &Problems,
) -> Option<Table> {
    let (file, recordings) = stored::octets(text);
    for (octets, what, most) in [
        (file, "the file has", limits::FILE),
        (recordings, "its recordings have", limits::RECORDINGS),
    ] {
        if octets > most {
            problems.note(&start(), format!("{what} {octets} octets; {kind} has at most {most}"));
            return None;
        }
    }
    let mut table = syntax(text, problems)?;
    for (number, (key, value)) in settings.iter().enumerate() {
        setting::apply(&mut table, number, key, value, problems);
    }
    Some(table)
}
