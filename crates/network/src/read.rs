//! The reader: from a text to a [`Drawing`], or to everything that is wrong with the text.
//!
//! Three steps, one after another:
//! 1. the text becomes a tree that knows where everything stands (`tree`), with settings put in;
//! 2. every group is read key by key (`fields`, and one file for each kind of group);
//! 3. groups are written out and names resolved (`expand`), and the whole is checked (`cable`,
//!    `topology`, `flows`).
//!
//! Problems are collected all the way (`problem`); what cannot be read is left out, so that one
//! mistake is told once.

mod addresses;
mod cable;
mod document;
mod expand;
mod fields;
mod flows;
mod fuzz;
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
mod topology;
mod trace;
mod traffic;
mod tree;
mod written;

use toml::de::DeTable;

pub use document::Document;
pub use fields::{Fields, Item};
pub use fuzz::fuzz_read;
pub use nearest::{listed, suggestion};
pub use parameters::Parameter;
pub use problem::{Place, Problem, ReadError, Spot};
pub use trace::Files;
pub use trace::fuzz_trace;

use crate::drawing::Drawing;
use crate::segment::Medium;
use expand::expand;
use problem::Problems;
use tree::At;
use written::Written;

impl Drawing {
    /// Reads a network file; `source_name` is what errors call it, and what a network without a
    /// name is called. Traces that the file names are those of the library; a [`Reader`] can look
    /// elsewhere.
    ///
    /// # Errors
    /// When it is not a network file: everything that is wrong with it.
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

/// How a setting is kept in the text of a network: as a remark before it.
pub const SETTING: &str = "# --set ";

/// The settings that are kept at the beginning of a text, keys and values.
pub fn settings_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .map_while(|line| line.strip_prefix(SETTING))
        .filter_map(|line| line.split_once('='))
}

/// How a network file is to be read.
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

    /// Puts `value` in the place of what stands under `key`, such as
    /// `traffic.background.packets_per_s`, before anything is checked. Quantities need no quotation
    /// marks. The last key may be new; what leads to it must be in the file.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.trim().to_owned(), value.trim().to_owned()));
        self
    }

    /// Asks `files` for the traces that the file names, instead of the library.
    #[must_use]
    pub fn files(mut self, files: Files<'a>) -> Self {
        self.files = files;
        self
    }

    /// Reads `text`.
    ///
    /// # Errors
    /// When it is not a network file: everything that is wrong with it.
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
        let written = Written::read(&fields, self.files, problems);
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

    /// A name from the source's: what stands between its last `/` and the `.` after that, if it can
    /// be a name.
    fn stem(&self) -> String {
        let file = self.source_name.rsplit('/').next().unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        let problems = Problems::default();
        names::check(stem, &Spot { at: At::File(0..0), path: String::new() }, &problems);
        if problems.none() { stem.to_owned() } else { "network".to_owned() }
    }
}

/// What is not emulated has nothing that an emulated network could have.
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
