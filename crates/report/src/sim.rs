//! The result of a simulation for a terminal: warnings first, then the tables.

mod page;
mod tables;
mod warnings;

use btu_medium::sim::{Outcome, Settings};

pub use page::sim_page;
pub(crate) use warnings::paragraphs;

use crate::head::TextOptions;
use crate::number::{count, duration};
use crate::paint::Paint;
use crate::sheet::{self, wrap};

/// The whole result, with a table of all stations if `stations`; lines end with `\n`.
pub fn sim_text(outcome: &Outcome, stations: bool, options: &TextOptions) -> String {
    let page = SimulationText { outcome, options: *options, paint: Paint(options.colour) };
    let mut sections = vec![
        head(&page),
        paragraphs(&outcome.warnings, options),
        tables::flows(&page),
        tables::delays(&page),
        tables::exchanges(&page),
        tables::media(&page),
        tables::losses(&page),
    ];
    if stations {
        sections.push(tables::stations(&page));
    }
    sections.push(accounts(&page));
    sheet::page(sections)
}

/// The data of every section.
struct SimulationText<'a> {
    outcome: &'a Outcome,
    options: TextOptions,
    paint: Paint,
}

impl SimulationText<'_> {
    /// A section: its title, an explanation that may be skipped, and the lines of its table.
    fn section(&self, title: &str, note: &str, table: Vec<String>) -> Vec<String> {
        sheet::section(title, note, table, &self.options)
    }
}

/// `Simulation of NAME`, its description, its length and its replications.
fn head(page: &SimulationText) -> Vec<String> {
    let Outcome { network, about, settings, .. } = page.outcome;
    let how = how(settings);
    let mut lines =
        vec![format!("{} {}", page.paint.title("Simulation of"), page.paint.strong(network))];
    if !about.is_empty() {
        lines.extend(wrap(about, page.options.columns(), 0));
    }
    lines.extend(wrap(&how, page.options.columns(), 0).iter().map(|line| page.paint.quiet(line)));
    lines
}

/// How long and how often.
fn how(settings: &Settings) -> String {
    format!(
        "{} of {}, the first {} of each not counted; seed {}",
        count(settings.replications as usize, "replication"),
        duration(settings.duration),
        duration(settings.warm_up),
        settings.seed
    )
}

/// The line that shows that every frame is accounted for.
fn accounts(page: &SimulationText) -> Vec<String> {
    let accounts = page.outcome.accounts;
    let text = format!(
        "Accounts: {} under way after the warm-up + {} handed over = {} delivered + {} lost + {} still under way.",
        accounts.inside_at_start,
        accounts.generated,
        accounts.delivered,
        accounts.dropped,
        accounts.inside
    );
    wrap(&text, page.options.columns(), 2).iter().map(|line| page.paint.quiet(line)).collect()
}
