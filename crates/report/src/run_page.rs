//! The report of a run, made from the verdict, the stored cells and the stored environment alone.

mod added_time;
mod appendix;
mod cells;
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

use btu_contract::load::Load;
use btu_stats::Means;
use btu_studies::rate::{CellRecord, Component, Plan, Title, Verdict};

pub use rules::{RuleFacts, RunMark, run_marks};
pub use variance::VARIANCE;

use crate::html::{Cell, Mark, Page, PageWarning, Role, Section};
use crate::number::count;
use crate::runs::rating_words;
use crate::stored_page::{StoredRun, page_warning};
use crate::study::{CellTable, Reported};
use crate::unit::{rate, rate_with_ends};

/// Everything that a report of a rating is made from.
#[derive(Debug, Clone, Copy)]
pub struct RunReport<'a> {
    /// The run as it is stored.
    pub stored: StoredRun<'a>,
    /// The plan of the run: what was asked for.
    pub plan: &'a Plan,
    /// The verdict over its cells.
    pub verdict: &'a Verdict,
    /// The cells that were measured.
    pub cells: &'a [CellRecord],
}

impl Reported for Plan {
    const DRAWS_STUDIES: bool = true;

    fn page(&self, verdict: &Verdict, records: &[CellRecord], stored: &StoredRun<'_>) -> Page {
        run_page(&RunReport { stored: *stored, plan: self, verdict, cells: records })
    }

    /// The rating, or that of a part of it.
    fn answer(&self, verdict: &Verdict) -> Option<String> {
        let rate = verdict.rating.as_ref().map(|rating| rating.btu_bits_per_second.value);
        Some(rating_words(rate, verdict.title))
    }

    fn cell_table(&self, records: &[CellRecord]) -> CellTable {
        cells::cells(records)
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
        report.stored.environment().map(Section::into_appendix),
        reproduce::section(report),
    ];
    Page {
        title: report.stored.title(),
        headline: headline(report),
        remarks: remarks(report),
        footer: rules::footer(report, &marks),
        marks: marks
            .iter()
            .map(|mark| Mark { word: mark.word().to_owned(), meaning: mark.meaning().to_owned() })
            .collect(),
        warnings: warnings(report),
        sections: parts.into_iter().flatten().collect(),
        summary: first::summary(report),
    }
}

/// What was noted under way, what changed, what the cells show.
fn warnings(report: &RunReport) -> Vec<PageWarning> {
    let judged = report.verdict.warnings.iter().map(|warning| {
        // The verdict does not know the name of the run.
        page_warning(
            warning.cause.title(),
            &warning.observed,
            &warning.advice.replace("RUN", &report.stored.run.id),
        )
    });
    report.stored.noted().chain(judged).collect()
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
    let run = report.stored.run;
    let interval =
        report.verdict.rating.as_ref().map(|rating| match rating.btu_bits_per_second.interval {
            Some(_) => format!(
                "geometric mean of {}; its interval covers this run alone",
                count(rating.cells_used, "row")
            ),
            None => "no interval: it takes three blocks".to_owned(),
        });
    let earlier = report.stored.earlier.map(|earlier| {
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
    let lines = [result.join("; "), by_the_papers_rule(report), run_line, run.machine.clone()];
    lines.into_iter().chain(run.about_hosts()).filter(|line| !line.is_empty()).collect()
}

/// The rating as the paper makes it, where every component had its volume.
fn by_the_papers_rule(report: &RunReport) -> String {
    let Some(btu) = &report.verdict.btu95 else { return String::new() };
    let means = |means: &Means| {
        let [geometric, arithmetic, harmonic] =
            [means.geometric, means.arithmetic, means.harmonic].map(rate);
        format!("{geometric} (AM {arithmetic}, HM {harmonic})")
    };
    format!(
        "BTU'95 rule, {} per component: {} with the geometric, {} with the arithmetic mean over loads",
        btu.volume,
        means(&btu.geometric_over_loads_bits_per_second),
        means(&btu.arithmetic_over_loads_bits_per_second),
    )
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

/// The name of the load under which a network activity runs.
fn called(load: Load) -> String {
    if load == Load::Idle { "alone".to_owned() } else { format!("+ {load}") }
}

/// A row of a table: words, then cells.
fn row(words: &[&str], cells: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
    words.iter().map(|&word| Cell::text(word)).chain(cells).collect()
}

/// The message sizes as heads of columns.
fn size_heads(report: &RunReport) -> Vec<String> {
    report.plan.messages.iter().map(|size| format!("{} B", size.count())).collect()
}
