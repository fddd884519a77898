//! The run rules: what a result may be called, which marks it carries, and how it is quoted. See
//! docs/run-rules.md.

use btu_studies::rate::{Obstacle, Plan, Title, Verdict};

use super::RunReport;
use crate::unit::rate_with_ends;

/// The notes that belong to a result, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunMark {
    /// It may not be called a BTU rating.
    Denied(Obstacle),
    /// A setting of the machine changed under way.
    Changed,
    /// The interval of the rating is wider than the profile wants, there is none, or rows are missing.
    LowConfidence,
    /// The run has the quick profile.
    Quick,
    /// A fixed volume or window.
    Fixed,
}

impl RunMark {
    /// The mark in one to three words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Denied(obstacle) => obstacle.word(),
            Self::Changed => "settings changed",
            Self::LowConfidence => "low confidence",
            Self::Quick => "quick",
            Self::Fixed => "fixed work",
        }
    }

    /// Its meaning, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Denied(obstacle) => obstacle.meaning(),
            Self::Changed => {
                "A setting of the machine was not the same after the run as before it."
            }
            Self::LowConfidence => {
                "The rating is known less well than the profile asks for, or rows of it are missing."
            }
            Self::Quick => "Activities of a tenth of a second, few repetitions: a first look.",
            Self::Fixed => {
                "Volume or window were fixed, so it compares only with results of the same volume and window."
            }
        }
    }
}

/// The input of the rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleFacts<'a> {
    /// The verdict over the cells.
    pub verdict: &'a Verdict,
    /// The plan of the run: what was asked for.
    pub plan: &'a Plan,
    /// Whether a setting of the machine changed under way.
    pub changed: bool,
}

/// The marks that a result must carry, the most severe first.
pub fn run_marks(facts: &RuleFacts) -> Vec<RunMark> {
    let RuleFacts { verdict, plan, changed } = *facts;
    // As the first line, rankings and boards say it. Rows have marks of their own, and a warning.
    let low = verdict.rating.as_ref().is_some_and(|rating| rating.low_confidence);
    let applies = [
        (RunMark::Changed, changed),
        (RunMark::LowConfidence, low),
        (RunMark::Quick, verdict.profile == "quick"),
        (RunMark::Fixed, plan.volume.is_some() || plan.window.is_some()),
    ];
    let denied = verdict.obstacles.iter().copied().map(RunMark::Denied);
    denied
        .chain(applies.into_iter().filter(|(_, applies)| *applies).map(|(mark, _)| mark))
        .collect()
}

pub(super) fn marks(report: &RunReport) -> Vec<RunMark> {
    run_marks(&RuleFacts {
        verdict: report.verdict,
        plan: report.plan,
        changed: !report.stored.changes.is_empty(),
    })
}

/// The last word: how to quote the result, and what holds for it.
pub(super) fn footer(report: &RunReport, marks: &[RunMark]) -> Vec<String> {
    let may = if report.verdict.title != Title::BtuRating {
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
        let (rate, interval) = rate_with_ends(&rating.btu_bits_per_second);
        format!(" {rate} (95 %: {})", interval.as_deref().unwrap_or("no interval"))
    });
    format!(
        "{}{value}{words}; {} profile, network {}, {}; btu {}, plan {}, seed {}, {}",
        report.verdict.title.words(),
        report.verdict.profile,
        report.stored.run.network,
        [&report.stored.run.machine]
            .into_iter()
            .chain(&report.stored.run.conditions)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        report.stored.origin.version,
        report.stored.origin.plan_hash,
        report.stored.run.seed,
        report.stored.run.started,
    )
}
