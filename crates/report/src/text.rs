//! The result of a run for a terminal: the rating first, then warnings, then the tables.

mod cpu;
mod expected;
mod further;
mod headline;
mod penalties;
mod rates;
mod warnings;
mod where_next;

pub(crate) use rates::called;

use std::collections::BTreeSet;

use btu_studies::rate::Verdict;
use btu_suite::cell::Component;
use btu_units::Bytes;

use crate::head::{RunHead, TextOptions};
use crate::html::Section;
use crate::page_text::part;
use crate::paint::Paint;
use crate::run_page::{added_time_section, variance_section, verified_section};

/// The whole result; lines end with `\n`.
pub fn rate_text(verdict: &Verdict, run: &RunHead, options: &TextOptions) -> String {
    let page = RateText { verdict, run, options: *options, paint: Paint(options.colour) };
    let sections = [
        headline::lines(&page),
        warnings::summary(&page),
        rates::lines(&page),
        expected::lines(&page),
        penalties::slowdowns(&page),
        of_section(added_time_section(verdict), options),
        of_section(verified_section(verdict), options),
        penalties::seconds(&page),
        further::interactive(&page),
        further::udp(&page),
        cpu::lines(&page),
        of_section(variance_section(verdict), options),
        warnings::lines(&page),
        where_next::lines(&page),
    ];
    let sections: Vec<String> = sections
        .into_iter()
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n"))
        .collect();
    sections.join("\n\n") + "\n"
}

/// A section of the report, as it is in the text.
fn of_section(section: Option<Section>, options: &TextOptions) -> Vec<String> {
    section.map(|section| part(&section, options)).unwrap_or_default()
}

/// The data of every section.
struct RateText<'a> {
    verdict: &'a Verdict,
    run: &'a RunHead,
    options: TextOptions,
    paint: Paint,
}

impl RateText<'_> {
    /// A section: its title, an explanation that may be skipped, and the lines of its table.
    fn section(&self, title: &str, note: &str, table: Vec<String>) -> Vec<String> {
        let width = self.options.columns();
        let heading = format!("{}  {}", self.paint.title(title), self.paint.quiet(note));
        let heading = if title.chars().count() + 2 + note.chars().count() <= width {
            vec![heading.trim_end().to_owned()]
        } else {
            let note =
                crate::sheet::wrap(note, width, 0).into_iter().map(|line| self.paint.quiet(&line));
            std::iter::once(self.paint.title(title)).chain(note).collect()
        };
        [heading, table].concat()
    }

    /// The name of the line with the mean over all rated components of the run.
    fn together(&self) -> &'static str {
        let components: BTreeSet<Component> =
            self.verdict.rates.iter().map(|rate| rate.component).collect();
        match components.len() {
            0 | 1 => "mean",
            2 => "both",
            3 => "all three",
            4 => "all four",
            5 => "all five",
            _ => "all six",
        }
    }

    /// The message sizes of the run.
    fn messages(&self) -> Vec<Bytes> {
        self.verdict.per_size.iter().map(|size| size.message).collect()
    }
}

/// The head of a column for a message size.
fn size_head(message: Bytes) -> String {
    format!("{} B", message.count())
}

/// Bits per second in a megabit per second.
const MEGABIT: f64 = 1e6;
