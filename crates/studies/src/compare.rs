//! Compares runs: the ratio of their speeds, its certainty, and the cases without a verdict.
//!
//! [`compare`] is a pure function of readings. The ratios are of speeds, other over base: above 1
//! is faster. Every mean is geometric, so the reverse comparison gives the reciprocal.
//!
//! # What varies
//!
//! A cell's repetitions lie in blocks, blocks in runs, and the machine drifts from run to run as
//! well. The interval has to come from the highest level that varies (Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time", ISMM 2013): the session. Runs that follow each other are alike,
//! so sessions of both sides that follow each other are compared in pairs, as treatments are in a
//! field; three pairs have an interval and a verdict. One sitting against another has a ratio.
//!
//! # Verdicts
//!
//! A [`Finding`] is *faster* or *slower* when the interval excludes 1 (for cells: when Holm's
//! adjusted p value is below 1 minus the level) and the ratio is beyond the smallest effect that
//! matters; *no difference seen* when the whole interval lies within that effect; else *cannot
//! tell*. The p value of one of several cells takes its deviation for no less than half of the
//! median over all cells.

mod difference;
mod finding;
mod guard;
mod logs;
mod row;
mod side;
mod spread;
mod studied;
#[cfg(test)]
mod tests;

use btu_stats::{Estimate, Level, holm};
use serde::Serialize;

pub(crate) use finding::find;
pub use finding::{Finding, Gate, Matter};
pub use guard::{Aspect, PlanDifference, asks_the_same, plan_differences};
pub use row::{ComparedRow, StudyRow};
pub use side::{Group, RunReadings};
pub use studied::{study_differences, study_readings};

use logs::Logs;
use spread::{Difference, Pair};

use crate::rate::{Row, Unit};

/// The input of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a, R = Row> {
    /// The side with which the others are compared.
    pub base: &'a Group<R>,
    /// The groups that are compared with the base.
    pub others: &'a [Group<R>],
    /// The level of every interval, and 1 minus the share of false verdicts.
    pub level: Level,
    /// The smallest effect that matters.
    pub matter: Matter,
}

/// The answer; its serialised form is the result that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison<R = Row> {
    /// Version of this form; a reader of an older one may miss fields, never misread them.
    pub version: u32,
    /// The level of every interval: 0.95.
    pub level: Level,
    /// The smallest effect that matters: 0.01 is one per cent.
    pub matter: Matter,
    /// The side with which the others are compared.
    pub base: Side,
    /// Each of the other sides, compared with the base.
    pub others: Vec<ComparedSide<R>>,
    /// The warnings of all runs of all sides.
    pub warnings: Vec<RunWarning>,
}

/// A warning of one of the compared runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunWarning {
    /// The name of the run.
    pub run: String,
    /// The cause of the warning, in two or three words.
    pub title: String,
    /// The observation that caused it.
    pub observed: String,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// The runs it is made of.
    pub runs: Vec<String>,
    /// The network they were made on.
    pub network: String,
}

/// One side, compared with the base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedSide<R = Row> {
    /// The side that is compared with the base.
    pub side: Side,
    /// Pairs of sessions, one of each side, of which one follows the other: the interval is that of
    /// their differences. Fewer than three have no interval.
    pub pairs: usize,
    /// Runs that are in no pair, and in no value where there is an interval.
    pub unpaired: usize,
    /// Over many cells; absent when both sides have no cell in common, or cells of several units.
    pub overall: Option<Overall>,
    /// Cell by cell, in the order of the table of rates.
    pub cells: Vec<ComparedCell<R>>,
    /// Rows that only one side has, or that not every run of a side has.
    pub left_out: Vec<R>,
    /// The differences of the plans, if they were allowed.
    pub plan_differences: Vec<PlanDifference>,
    /// The differences of the machines, a sentence each: they may explain a difference of speeds.
    pub environment_differences: Vec<String>,
}

/// The set of cells of the overall ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The rows of the BTU rating: all rated components, sizes and host loads. The ratio is that of
    /// both ratings.
    Rating,
    /// Some of these rows: what is common is part of a BTU rating.
    Part,
    /// The rated components alone, when no loaded row is common.
    Idle,
    /// Every common row, when no rated one is and all are of one unit.
    Further,
}

/// The ratio over many cells, each with the same weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overall {
    /// The set of cells that the ratio covers.
    pub over: Over,
    /// The number of these cells.
    pub rows: usize,
    /// Geometric mean of the base over these cells, in b/s; absent for [`Over::Further`], because
    /// its cells may be times.
    pub base_bits_per_second: Option<f64>,
    /// Like `base_bits_per_second`, for the other side.
    pub other_bits_per_second: Option<f64>,
    /// Other over base: above 1 is faster.
    pub ratio: Estimate,
    /// Student's two-sided p value.
    pub p: Option<f64>,
    /// Like `p`, made larger by Holm's rule for the number of sides that are compared with the
    /// base.
    pub adjusted_p: Option<f64>,
    /// The finding.
    pub finding: Finding,
}

/// One cell of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCell<R = Row> {
    /// The row that both sides measured.
    pub row: R,
    /// The unit of its speeds.
    pub unit: Unit,
    /// Geometric mean of the base.
    pub base_per_second: f64,
    /// Geometric mean of the other side.
    pub other_per_second: f64,
    /// Repetitions of base and other.
    pub repetitions: [usize; 2],
    /// Other over base: above 1 is faster. The interval is of this cell by itself.
    pub ratio: Estimate,
    /// Student's two-sided p value.
    pub p: Option<f64>,
    /// Like `p`, made larger by Holm's rule for the number of cells of all sides.
    pub adjusted_p: Option<f64>,
    /// The finding, corrected for the number of cells.
    pub finding: Finding,
}

impl<R> ComparedSide<R> {
    /// Whether there are enough pairs for an interval.
    pub const fn has_interval(&self) -> bool {
        self.pairs >= spread::FEWEST_PAIRS
    }
}

impl<R> Comparison<R> {
    /// The version of the form that this program writes.
    pub const VERSION: u32 = 1;
}

/// Compares every other group with the base, over all cells and cell by cell.
pub fn compare<R: ComparedRow>(question: &Question<'_, R>) -> Comparison<R> {
    let base = Logs::of_group(question.base);
    let mut others: Vec<ComparedSide<R>> =
        question.others.iter().map(|other| compare_side(question, &base, other)).collect();
    correct(&mut others, question);
    Comparison {
        version: Comparison::<R>::VERSION,
        level: question.level,
        matter: question.matter,
        base: question.base.side(),
        others,
        warnings: Vec::new(),
    }
}

/// Compares one side with the base; the findings wait for the correction.
fn compare_side<R: ComparedRow>(
    question: &Question<'_, R>,
    base: &[Logs<R>],
    other: &Group<R>,
) -> ComparedSide<R> {
    let logs = Logs::of_group(other);
    let (common, left_out) = logs::common_rows(base, &logs);
    let pairs = spread::pairs(base, &logs);
    let difference = |rows: &[R], least: f64| {
        spread::difference([base, &logs], &pairs, rows, question.level, least)
    };
    let least = spread::least_deviation(&pairs, &common);
    let overall = R::overall(&common).and_then(|(over, rows)| {
        let found = difference(&rows, 0.0)?;
        Some(overall(over, rows.len(), found))
    });
    let cells = common.iter().filter_map(|row| {
        let repetitions =
            [base, &logs].map(|side| side.iter().map(|run| run.repetitions(row)).sum());
        Some(cell(row.clone(), repetitions, difference(std::slice::from_ref(row), least)?))
    });
    ComparedSide {
        side: other.side(),
        pairs: pairs.len(),
        unpaired: base.len() + logs.len() - pairs.iter().map(Pair::runs).sum::<usize>(),
        overall,
        cells: cells.collect(),
        left_out,
        plan_differences: Vec::new(),
        environment_differences: Vec::new(),
    }
}

fn overall(over: Over, rows: usize, found: Difference) -> Overall {
    let rate = |mean: f64| (over != Over::Further).then(|| mean.exp());
    Overall {
        over,
        rows,
        base_bits_per_second: rate(found.base),
        other_bits_per_second: rate(found.other),
        ratio: found.ratio,
        p: found.p,
        adjusted_p: None,
        finding: Finding::CannotTell,
    }
}

fn cell<R: ComparedRow>(row: R, repetitions: [usize; 2], found: Difference) -> ComparedCell<R> {
    ComparedCell {
        unit: row.unit(),
        row,
        base_per_second: found.base.exp(),
        other_per_second: found.other.exp(),
        repetitions,
        ratio: found.ratio,
        p: found.p,
        adjusted_p: None,
        finding: Finding::CannotTell,
    }
}

/// Holm's correction: once over the overall ratios, once over all cells of all sides.
fn correct<R>(others: &mut [ComparedSide<R>], question: &Question<'_, R>) {
    let find =
        |ratio: &Estimate, p: Option<f64>| finding::find(ratio, p, question.level, question.matter);
    let overalls: Vec<&mut Overall> =
        others.iter_mut().filter_map(|other| other.overall.as_mut()).collect();
    let adjusted = adjust(overalls.iter().map(|overall| overall.p));
    for (overall, p) in overalls.into_iter().zip(adjusted) {
        (overall.adjusted_p, overall.finding) = (p, find(&overall.ratio, p));
    }
    let adjusted = adjust(others.iter().flat_map(|other| other.cells.iter().map(|cell| cell.p)));
    for (cell, p) in others.iter_mut().flat_map(|other| &mut other.cells).zip(adjusted) {
        (cell.adjusted_p, cell.finding) = (p, find(&cell.ratio, p));
    }
}

/// Holm's adjustment of the p values that exist.
fn adjust(p_values: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    let all: Vec<Option<f64>> = p_values.collect();
    let known: Vec<f64> = all.iter().copied().flatten().collect();
    let mut adjusted = holm(&known).into_iter();
    all.into_iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}
