//! The verdict over the points of a signature.
//!
//! [`judge`] is a pure function of the plan and the points, so a verdict can be made again at any
//! time from what is stored. Its serialised form is what `--json` prints: every field name carries
//! its unit, `null` means "unknown from these points". Rates are plain bits per second. Intervals
//! are at 95 %.

mod emulator;
mod fit;
mod latency;
mod shape;
mod size;
#[cfg(test)]
pub(crate) mod tests;
mod warning;

use btu_stats::Level;
use serde::Serialize;

pub(super) use fit::line;
pub use fit::{Fit, Knee};
pub use latency::Latencies;
pub use shape::{Dip, Peak, Turn};
pub use size::{Exchanges, OneWay, SizeVerdict};
pub use warning::{PipeCause, PipeWarning, SizeRange};

use super::merge;
use btu_contract::pipe::{Accounts, Kind, Pattern, PipePlan, Point};

/// The level of every interval in a verdict.
pub(super) const LEVEL: Level = Level::P95;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipeVerdict {
    /// Version of this form; a reader of an older one may miss fields, never misread them.
    pub version: u32,
    /// The level of every interval: 0.95.
    pub level: Level,
    /// How bytes were moved.
    pub kind: Kind,
    /// The pattern of messages: which end sent, and when.
    pub pattern: Pattern,
    /// Pairs that did this together.
    pub pairs: u32,
    /// Every size that was measured, rising.
    pub sizes: Vec<SizeVerdict>,
    /// The latency of the smallest messages; absent if messages were not answered.
    pub latency: Option<Latencies>,
    /// The highest throughput of all sizes; absent when nothing was measured.
    pub maximum: Option<Peak>,
    /// A fixed time and a rate that explain the large sizes, and the knee between them.
    pub fit: Option<Fit>,
    /// Places where a larger message took less time than a smaller one. The signature is then not a
    /// function of time, like those of 1996; the effect is repeatable.
    pub turns: Vec<Turn>,
    /// Places where throughput fell and rose again.
    pub dips: Vec<Dip>,
    /// What became of all messages.
    pub accounts: Accounts,
    /// The warnings about the result.
    pub warnings: Vec<PipeWarning>,
}

/// The verdict over the points so far.
pub fn judge(plan: &PipePlan, points: &[Point]) -> PipeVerdict {
    // Frames that the emulator itself lost, and times in which the machine slept, are no property
    // of the network.
    let undisturbed = points.iter().filter(|point| point.is_undisturbed()).cloned().collect();
    let counted = merge::counted(undisturbed);
    let sizes: Vec<SizeVerdict> =
        merge::by_size(&counted).iter().filter_map(|point| size::of(plan, point)).collect();
    let accounts = points.iter().fold(Accounts::default(), |all, point| all.and(point.accounts));
    let (turns, dips) = (shape::turns(&sizes), shape::dips(&sizes));
    let fit = fit::of(plan, &sizes);
    let warnings = warning::all(plan, [points, &counted], &sizes, &dips, fit.as_ref());
    PipeVerdict {
        version: 1,
        level: LEVEL,
        kind: plan.kind,
        pattern: plan.pattern,
        pairs: plan.pairs,
        latency: latency::of(plan, &counted),
        maximum: shape::peak(plan, &sizes),
        fit,
        turns,
        dips,
        accounts,
        warnings,
        sizes,
    }
}
