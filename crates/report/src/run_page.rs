//! The report of a run, made from the verdict, the stored cells and the stored environment alone.

mod added_time;
mod appendix;
mod expected;
mod first;
mod latency;
mod machine;
mod penalties;
mod progress;
mod reproduce;
mod rules;
mod sizes;
mod standing;
mod variance;
mod verified;
mod warnings;

use std::collections::BTreeMap;

use btu_stats::Estimate;
use btu_studies::papers::Study;
use btu_studies::rate::{Title, Verdict};
use btu_suite::cell::{Component, Load};
use btu_suite::plan::Plan;
use btu_suite::record::CellRecord;

pub(crate) use added_time::section as added_time_section;
pub use rules::{RuleFacts, RunMark, run_marks};
pub use variance::VARIANCE;
pub(crate) use variance::section as variance_section;
pub(crate) use verified::section as verified_section;

use crate::head::RunHead;
use crate::html::{Cell, Mark, Page, Role};
use crate::number::count;
use crate::stored_page::{Origin, StoredRun};
use crate::unit::{rate, rate_with_ends};

/// Everything that a report of a run is made from.
#[derive(Debug, Clone, Copy)]
pub struct RunReport<'a> {
    /// The run in words.
    pub run: &'a RunHead,
    /// Its origin.
    pub origin: &'a Origin,
    /// The verdict over its cells.
    pub verdict: &'a Verdict,
    /// The plan of the run: what was asked for.
    pub plan: &'a Plan,
    /// The cells that were measured.
    pub cells: &'a [CellRecord],
    /// The machine's settings before the run, by name.
    pub settings: &'a BTreeMap<String, String>,
    /// The changes between the start and the end, a sentence each.
    pub changes: &'a [String],
    /// The spread of this machine from run to run, if earlier runs of the plan are stored.
    pub earlier: Option<&'a EarlierRuns>,
    /// Other studies, with results that are drawn next to those of this run.
    pub studies: &'a [Study],
}

/// Runs of one plan on one machine, including the reported one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlierRuns {
    /// The number of these runs, the reported one included.
    pub runs: usize,
    /// The geometric mean of their ratings, with the interval that their differences make.
    pub btu_bits_per_second: Estimate,
}

impl<'a> RunReport<'a> {
    /// The common part of all stored runs.
    fn stored(&self) -> StoredRun<'a> {
        StoredRun {
            run: self.run,
            origin: self.origin,
            settings: self.settings,
            changes: self.changes,
        }
    }
}

/// The report of a run.
pub fn run_page(report: &RunReport) -> Page {
    let marks = rules::marks(report);
    let parts = [
        standing::section(report),
        sizes::section(report),
        penalties::section(report),
        added_time::section(report.verdict),
        verified::section(report.verdict),
        appendix::goodput(report),
        expected::section(report),
        latency::section(report),
        progress::section(report),
        machine::cpu(report),
        variance::section(report.verdict),
        appendix::section(report),
        report.stored().environment(),
        reproduce::section(report),
    ];
    Page {
        title: report.stored().title(),
        headline: headline(report),
        remarks: remarks(report),
        footer: rules::footer(report, &marks),
        marks: marks
            .iter()
            .map(|mark| Mark { word: mark.word().to_owned(), meaning: mark.meaning().to_owned() })
            .collect(),
        warnings: warnings::of(report),
        sections: parts.into_iter().flatten().collect(),
        summary: first::summary(report),
    }
}

/// Its name by the run rules, and its value.
fn headline(report: &RunReport) -> String {
    let title = report.verdict.title;
    let name = title.words();
    match &report.verdict.rating {
        Some(rating) => {
            let (rate, interval) = rate_with_ends(&rating.btu_bits_per_second);
            let confidence = rating.low_confidence_reason();
            format!(
                "{name}{} {rate}{}{}",
                if title == Title::Part { ":" } else { "" },
                interval.map_or_else(String::new, |ends| format!(" (95 %: {ends})")),
                confidence.map_or_else(String::new, |why| format!(", low confidence: {why}"))
            )
        }
        None => format!("{name}: {}", without_rating(report.verdict)),
    }
}

/// Why there is no rating.
pub(crate) fn without_rating(verdict: &Verdict) -> &'static str {
    if verdict.idle.is_some() {
        "no loaded cell was measured"
    } else {
        "nothing was measured that it rates"
    }
}

fn remarks(report: &RunReport) -> Vec<String> {
    let run = report.run;
    let interval =
        report.verdict.rating.as_ref().map(|rating| match rating.btu_bits_per_second.interval {
            Some(_) => format!(
                "geometric mean of {}; its interval covers this run alone",
                count(rating.cells_used, "row")
            ),
            None => "no interval: it takes three blocks".to_owned(),
        });
    let earlier = report.earlier.map(|earlier| {
        let (mean, ends) = rate_with_ends(&earlier.btu_bits_per_second);
        let ends = ends.unwrap_or_default();
        format!(
            "{} of this plan on this machine: {mean} (95 %: {ends})",
            count(earlier.runs, "run")
        )
    });
    let idle = report
        .verdict
        .idle
        .as_ref()
        .map(|idle| format!("without a load {}", rate(idle.btu_bits_per_second.value)));
    let result: Vec<String> = interval.into_iter().chain(earlier).chain(idle).collect();
    let run_line =
        format!("{} on network {}, {} profile", run.started, run.network, report.verdict.profile);
    let lines =
        [result.join("; "), run_line, run.machine.clone()].into_iter().chain(run.about_hosts());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Bits per second in a megabit per second.
const MEGABIT: f64 = 1e6;

/// The colour of a load.
fn role(load: Load) -> Role {
    match load {
        Load::Idle => Role::Idle,
        Load::Cpu => Role::Cpu,
        Load::Disk => Role::Disk,
        Load::Transfer => Role::Transfer,
    }
}

/// The rated components of the run, in the paper's order.
fn components(report: &RunReport) -> Vec<Component> {
    Component::RATED
        .into_iter()
        .filter(|component| report.plan.components.contains(component))
        .collect()
}

/// The loads of the run, idle first.
fn loads(report: &RunReport) -> Vec<Load> {
    Load::ALL.into_iter().filter(|load| report.plan.loads.contains(load)).collect()
}

/// A row of a table: words, then cells.
fn row(words: &[&str], cells: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
    words.iter().map(|&word| Cell::text(word)).chain(cells).collect()
}

/// The message sizes as heads of columns.
fn size_heads(report: &RunReport) -> Vec<String> {
    report.plan.messages.iter().map(|size| format!("{} B", size.count())).collect()
}
