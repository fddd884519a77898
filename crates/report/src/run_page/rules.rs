//! The run rules: what a result may be called, which marks it carries, and how it is quoted. See docs/run-rules.md.

use btu_suite::cell::{Component, Load, MESSAGE_SIZES};
use btu_suite::plan::Plan;
use btu_suite::verdict::Verdict;

use super::{MEGABIT, RunReport};
use crate::number::{ends, three_digits};

/// What must be said beside a result, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunMark {
    /// No loaded cell was measured.
    NoRating,
    /// The plan cannot be read, so nobody knows what is missing.
    UnknownPlan,
    /// Rows of the plan have no valid cell, or the run did not end.
    Incomplete,
    /// The plan leaves out components, message sizes or loads.
    Partial,
    /// A setting of the machine changed under way.
    Changed,
    /// An interval is wider than the profile wants, or there is none.
    LowConfidence,
    /// The quick profile.
    Quick,
    /// A fixed volume or window.
    Fixed,
}

impl RunMark {
    /// The mark in one to three words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoRating => "no rating",
            Self::UnknownPlan => "plan unknown",
            Self::Incomplete => "incomplete",
            Self::Partial => "partial",
            Self::Changed => "settings changed",
            Self::LowConfidence => "low confidence",
            Self::Quick => "quick",
            Self::Fixed => "fixed work",
        }
    }

    /// What it means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoRating => "No network activity was measured beside a host activity, so there is nothing to rate.",
            Self::UnknownPlan => "The stored plan cannot be read by this version; what is missing cannot be told.",
            Self::Incomplete => "Planned rows have no valid cell; the number is not comparable with a complete one.",
            Self::Partial => "Components, message sizes or loads of the suite were left out on purpose.",
            Self::Changed => "A setting of the machine was not the same after the run as before it.",
            Self::LowConfidence => "The rating or some of its rows are known less well than the profile asks for.",
            Self::Quick => "Activities of a tenth of a second, few repetitions: a first look.",
            Self::Fixed => {
                "Volume or window were fixed, so it compares only with results of the same volume and window."
            }
        }
    }

    /// Whether the result may not be called a BTU rating.
    const fn denies_the_name(self) -> bool {
        matches!(self, Self::NoRating | Self::UnknownPlan | Self::Incomplete | Self::Partial)
    }
}

/// What the rules look at.
#[derive(Debug, Clone, Copy)]
pub struct RuleFacts<'a> {
    /// What the cells amount to.
    pub verdict: &'a Verdict,
    /// What was asked.
    pub plan: &'a Plan,
    /// Whether the stored plan could be read.
    pub plan_is_known: bool,
    /// Whether the run ended by itself.
    pub complete: bool,
    /// Whether a setting of the machine changed under way.
    pub changed: bool,
}

/// The marks that a result must carry, the gravest first.
pub fn run_marks(facts: &RuleFacts) -> Vec<RunMark> {
    let RuleFacts { verdict, plan, plan_is_known, complete, changed } = *facts;
    let rating = verdict.rating.as_ref();
    let missing = rating.is_some_and(|rating| !rating.missing.is_empty());
    let low = rating.is_some_and(|rating| rating.low_confidence) || verdict.low_confidence_rows() > 0;
    let applies = [
        (RunMark::NoRating, rating.is_none()),
        (RunMark::UnknownPlan, !plan_is_known),
        (RunMark::Incomplete, missing || !complete),
        (RunMark::Partial, plan_is_known && !is_whole(plan)),
        (RunMark::Changed, changed),
        (RunMark::LowConfidence, low),
        (RunMark::Quick, verdict.profile == "quick"),
        (RunMark::Fixed, plan.volume.is_some() || plan.window.is_some()),
    ];
    applies.into_iter().filter(|(_, applies)| *applies).map(|(mark, _)| mark).collect()
}

/// Whether everything that makes the rating is in the plan.
fn is_whole(plan: &Plan) -> bool {
    Component::RATED.iter().all(|component| plan.components.contains(component))
        && MESSAGE_SIZES.iter().all(|size| plan.messages.contains(size))
        && Load::ALL.iter().all(|load| plan.loads.contains(load))
}

pub(super) fn marks(report: &RunReport) -> Vec<RunMark> {
    run_marks(&RuleFacts {
        verdict: report.verdict,
        plan: report.plan,
        plan_is_known: report.origin.plan_is_known,
        complete: report.origin.complete,
        changed: !report.changes.is_empty(),
    })
}

/// What the result may be called.
pub(super) fn name(marks: &[RunMark]) -> &'static str {
    if marks.contains(&RunMark::NoRating) {
        "No BTU rating"
    } else if marks.iter().any(|mark| mark.denies_the_name()) {
        "Part of a BTU rating:"
    } else {
        "BTU rating"
    }
}

/// The last word: how to quote the result, and what holds for it.
pub(super) fn footer(report: &RunReport, marks: &[RunMark]) -> Vec<String> {
    let may = if marks.iter().any(|mark| mark.denies_the_name()) {
        "By the run rules this result may not be published as a BTU rating."
    } else if marks.is_empty() {
        "By the run rules this result may be published as a BTU rating."
    } else {
        "By the run rules this result may be published as a BTU rating only together with its marks."
    };
    let quote = format!("To quote it, write: {}", quotation(report, marks));
    let limits = "All stations were on this one machine, so they share its processors and its memory; a rating says what this \
                  machine and this network gave these activities, and is no promise about other work.";
    [may, &quote, limits].map(str::to_owned).to_vec()
}

/// The result with all that must be disclosed.
fn quotation(report: &RunReport, marks: &[RunMark]) -> String {
    let words: Vec<&str> = marks.iter().map(|mark| mark.word()).collect();
    let words = if words.is_empty() { String::new() } else { format!(" [{}]", words.join(", ")) };
    let value = report.verdict.rating.as_ref().map_or_else(String::new, |rating| {
        let interval = ends(&rating.btu_bits_per_second, MEGABIT).unwrap_or_else(|| "no interval".to_owned());
        format!(" {} Mb/s (95 %: {interval})", three_digits(rating.btu_bits_per_second.value / MEGABIT))
    });
    format!(
        "{}{value}{words}; {} profile, network {}, {}; btu {}, plan {}, seed {}, {}",
        name(marks).trim_end_matches(':'),
        report.verdict.profile,
        report.run.network,
        report.run.machine,
        report.origin.version,
        report.origin.plan_hash,
        report.run.seed,
        report.run.started,
    )
}
