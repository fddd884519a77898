//! The reader turns a text into a [`Drawing`], or into a list of all mistakes in the text.
//!
//! It works in three steps:
//! 1. the text becomes a tree with the place of each value (`tree`), and settings are put in;
//! 2. every group is read key by key (`fields`, and one file for each kind of group);
//! 3. groups are written out and names resolved (`expand`), and the whole is checked (`cable`,
//!    `topology`, `flows`).
//!
//! All steps collect problems (`problem`) and leave out what they cannot read, so that one mistake
//! is reported once.

mod addresses;
mod cable;
mod document;
mod expand;
mod fields;
mod flows;
mod hosts;
mod joins;
mod limits;
mod line;
mod links;
mod names;
mod nearest;
mod parameters;
mod problem;
mod queue;
mod segments;
mod setting;
mod stations;
mod stored;
mod topology;
mod trace;
mod traffic;
mod tree;
mod work;
mod written;

use toml::de::DeTable;

pub use document::Document;
pub use fields::{Fields, Item};
pub use nearest::{listed, suggestion};
pub use parameters::Parameter;
pub use problem::{Place, Problem, ReadError, Spot};
pub use stored::{SETTING, recording_comment, settings_of};
pub use trace::{Files, fuzz_trace, recorded};

use crate::drawing::Drawing;
use crate::segment::Medium;
use expand::expand;
use problem::Problems;
use stored::Traces;
use tree::At;
use written::Written;

impl Drawing {
    /// Reads a network file; `source_name` is its name in errors, and the name of a network that
    /// has none. Traces are read from the library; a [`Reader`] can read them from files.
    ///
    /// # Errors
    /// When it is not a network file: all mistakes in it.
    pub fn read(text: &str, source_name: &str) -> Result<Self, ReadError> {
        Reader::new(source_name).read(text)
    }

    /// Reads a network file with some of its values replaced; see [`Reader::set`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with(
        text: &str,
        source_name: &str,
        settings: &[(&str, &str)],
    ) -> Result<Self, ReadError> {
        let reader = settings
            .iter()
            .fold(Reader::new(source_name), |reader, (key, value)| reader.set(key, value));
        reader.read(text)
    }
}

/// The options for reading a network file.
pub struct Reader<'a> {
    source_name: &'a str,
    settings: Vec<(String, String)>,
    files: Files<'a>,
}

impl<'a> Reader<'a> {
    /// A reader for a file that errors call `source_name`.
    pub fn new(source_name: &'a str) -> Self {
        Self { source_name, settings: Vec::new(), files: &crate::library::library_trace }
    }

    /// Replaces the value under `key`, such as `traffic.background.packets_per_s`, before any
    /// check. Quantities need no quotation marks. The last key may be new; the keys before it must
    /// be in the file.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.trim().to_owned(), value.trim().to_owned()));
        self
    }

    /// Asks `files` for the traces that the file names, instead of the library; not for those that
    /// its text has in comments ([`recording_comment`]).
    #[must_use]
    pub fn files(mut self, files: Files<'a>) -> Self {
        self.files = files;
        self
    }

    /// Reads `text`.
    ///
    /// # Errors
    /// When it is not a network file: all mistakes in it.
    pub fn read(&self, text: &str) -> Result<Drawing, ReadError> {
        let problems = Problems::default();
        let drawing = self.drawing(text, &problems);
        problems.verdict(self.source_name, text, &self.settings)?;
        Ok(drawing)
    }

    fn drawing(&self, text: &str, problems: &Problems) -> Drawing {
        let Some(table) = document::opened(text, "a network file", &self.settings, problems) else {
            return Drawing::default();
        };
        let fields = Fields::of(&table, document::start(), problems);
        let name = fields.get("name");
        let about = fields.get("about").and_then(|item| item.prose());
        let bare = fields.get("bare");
        let traces = Traces::of(text, self.files);
        let files = |name: &str| traces.get(name);
        let written = Written::read(&fields, &files, problems);
        if let Some(item) = &name
            && let Some(name) = item.text()
        {
            names::check(name, &item.spot, problems);
        }
        if written.is_empty() {
            fields.problem("there are no stations: write for example `[stations.server]` and `[stations.client]`");
        }
        fields.finish();
        let mut drawing = expand(&written, problems);
        drawing.name = name.and_then(|item| item.text()).map_or_else(|| self.stem(), str::to_owned);
        drawing.about = about.unwrap_or_default();
        if let Some(item) = bare {
            drawing.bare = item.truth().unwrap_or(false);
            check_bare(&drawing, &item);
        }
        drawing
    }

    /// A name from the source's name: the text between its last `/` and the next `.`, if it can be
    /// a name.
    fn stem(&self) -> String {
        let file = self.source_name.rsplit('/').next().unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        let problems = Problems::default();
        names::check(stem, &Spot { at: At::File(0..0), path: String::new() }, &problems);
        if problems.none() { stem.to_owned() } else { "network".to_owned() }
    }
}

/// A bare network must have none of the tables of an emulated one.
fn check_bare(drawing: &Drawing, item: &Item<'_>) {
    let is_switch = matches!(drawing.segments.as_slice(), [segment] if matches!(segment.medium, Medium::SwitchedEthernet(_)));
    if drawing.bare && !(is_switch && drawing.bridges.is_empty() && drawing.links.is_empty()) {
        item.problem("nothing is emulated in a bare network: draw one segment, `medium = \"switched-ethernet\"`, and stations on it");
    }
}

/// The file's tree, if it is TOML.
fn syntax(text: &str, problems: &Problems) -> Option<tree::Table> {
    let error = match DeTable::parse(text) {
        Ok(parsed) => return Some(tree::of_file(parsed.get_ref())),
        Err(error) => error,
    };
    // With recovery, 300 KiB of nothing but errors took the parser seconds: only for files of a
    // human's size.
    let errors =
        if text.len() <= 16 * 1024 { DeTable::parse_recoverable(text).1 } else { vec![error] };
    for error in errors {
        let spot = Spot { at: At::File(error.span().unwrap_or(0..0)), path: String::new() };
        problems.note(&spot, format!("this is not TOML: {}", error.message().replace('\n', ", ")));
    }
    None
}

/// Reads `octets` as a network file and prints the result; it returns for any input.
pub fn fuzz_read(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    if let Err(error) = Drawing::read(&text, "fuzz.toml") {
        // Printing the problems reads the text again.
        drop(error.to_string());
    }
}
