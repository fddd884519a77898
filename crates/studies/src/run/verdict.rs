//! The verdict over a run of `btu run`.

#[cfg(test)]
mod simulation;

use btu_stats::{
    Estimate, Interval, Level, arithmetic_mean, geometric_interval, holm, mean_interval,
    sample_deviation, student_p,
};
use serde::Serialize;

use super::effects::{FactorEffects, effects};
use super::plan::{RunCell, RunPlan};
use super::row::{RunRow, program};
use super::value::{Better, Value};
use super::warning::warnings;
use crate::compare::{Finding, Matter, find};
use btu_contract::experiment::{Measured, Warning};
use btu_contract::program::{Moments, Part, ProgramReport};

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunVerdict {
    /// One for each value of the plan, in its order.
    pub values: Vec<ValueVerdict>,
    /// The resources of each row, in the order of the plan's rows.
    pub uses: Vec<RowUse>,
    /// The warnings about the result.
    pub warnings: Vec<Warning>,
}

/// The results of a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueVerdict {
    /// The user's name for it.
    pub name: String,
    /// The unit of the value, as text.
    pub unit: String,
    /// The better direction.
    pub better: Better,
    /// One for each row of the plan, in its order.
    pub rows: Vec<RowVerdict>,
    /// The shares of factors in it; `None` without factors.
    pub effects: Option<FactorEffects>,
}

/// A value in one row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowVerdict {
    /// The combination of levels that the row measures.
    pub cell: RunCell,
    /// The mean with its interval (95 %): geometric where all values are positive, else arithmetic.
    pub value: Option<Estimate>,
    /// The number of values.
    pub count: usize,
    /// If each value is a quantile of round trips: the smallest number of them in a repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_samples: Option<u64>,
    /// The ratio to the baseline (above 1 is worse), from pairs of cells of one block, with its
    /// interval (95 %).
    pub slowdown: Option<Estimate>,
    /// The probability of such a difference by chance, adjusted for the number of rows of all values
    /// (Holm).
    pub adjusted_p: Option<f64>,
    /// The result of the comparison with the baseline; absent when there was none.
    pub finding: Option<Finding>,
}

impl RowVerdict {
    /// Its speed relative to the baseline: above 1 is better, as in `btu compare`.
    pub fn speed(&self) -> Option<Estimate> {
        let slowdown = self.slowdown?;
        let interval =
            slowdown.interval.map(|ends| Interval { low: 1.0 / ends.high, high: 1.0 / ends.low });
        Some(Estimate { value: 1.0 / slowdown.value, interval })
    }

    /// Its value over the baseline's, whichever is better.
    pub fn ratio(&self, better: Better) -> Option<Estimate> {
        match better {
            Better::Lower => self.slowdown,
            Better::Higher => self.speed(),
        }
    }
}

/// The resources of a row's programs, in the mean over the valid cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowUse {
    /// The combination of levels that the row measures.
    pub cell: RunCell,
    /// Its loads were at work so long before what is measured began, in seconds, or up to half of
    /// that longer; nothing where it has no load.
    pub lead_seconds: Option<f64>,
    /// Cells that do not count.
    pub invalid: usize,
    /// Why the first of them does not.
    pub fault: Option<String>,
    /// The resources of each measured program: time, memory and context switches.
    pub programs: Vec<ProgramUse>,
}

/// The resources of a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramUse {
    /// The user's name for it.
    pub name: String,
    /// From its start to its end, in seconds.
    pub elapsed_seconds: f64,
    /// Processor time in user mode, in seconds.
    pub user_seconds: f64,
    /// Processor time in the kernel, in seconds.
    pub system_seconds: f64,
    /// Most memory that one of its processes had, in bytes.
    pub peak_memory_bytes: f64,
    /// What `peak_memory_bytes` is for every program that has less: a new process counts what its
    /// starter had. The largest over the cells.
    pub least_memory_bytes: f64,
    /// Context switches because it had to wait.
    pub voluntary_switches: f64,
    /// Involuntary context switches.
    pub involuntary_switches: f64,
    /// Where its time went; `None` of programs that are too short for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<ProgramTime>,
}

/// Where the time of a program and all its processes went: shares of it, which sum to 1. How long they were ready to run is
/// what the kernel counted; what they waited for otherwise, by counts of moments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProgramTime {
    /// The moments at which it was looked at, in all cells.
    pub moments: u32,
    /// One of its threads was on a processor.
    pub on_processor: f64,
    /// One could run, and others had the processors: the part that waits of the time in which threads are ready.
    pub waiting: f64,
    /// It waited for a disk.
    pub disk: f64,
    /// It waited at a socket.
    pub sockets: f64,
    /// It slept for a time of its own.
    pub sleeping: f64,
    /// It waited for something else: a pipe, a lock, another process.
    pub other: f64,
}

/// Below this number of moments a share of all of the time is not known to 0.14 (two standard deviations of a half:
/// 1 / sqrt(50)).
const LEAST_MOMENTS: f64 = 50.0;

/// Below this number of moments the last one, at which the waits of threads are read, is more than a tenth of the time before
/// the end.
const LEAST_READINGS: u32 = 10;

impl ProgramTime {
    /// Of all reports of a program together.
    pub(super) fn of(reports: &[&ProgramReport]) -> Option<Self> {
        let seen =
            || reports.iter().filter_map(|report| Some((&report.ended, report.ended.moments?)));
        let all = || seen().map(|(_, moments)| moments);
        let count = |of: fn(&Moments) -> u32| all().map(|moments| of(&moments)).sum::<u32>();
        let [ready, disk, sockets, sleeping, other] = [
            count(|moments| moments.ready),
            count(|moments| moments.disk),
            count(|moments| moments.sockets),
            count(|moments| moments.sleeping),
            count(|moments| moments.other),
        ];
        let blocked = disk + sockets + sleeping + other;
        let moments = ready + blocked;
        let elapsed: f64 = seen().map(|(ended, _)| ended.elapsed().seconds()).sum();
        let ran: f64 = seen().map(|(ended, _)| ended.cpu.used().seconds()).sum();
        let waited: f64 = all().map(|moments| moments.waited.seconds()).sum();
        // Who looks takes a processor, and finds more threads that wait for one; what the kernel counted of all threads
        // is exact, and too much only where several were ready at once.
        let seen_ready = f64::from(ready) / f64::from(moments);
        let ready = if blocked == 0 { 1.0 } else { seen_ready.min((ran + waited) / elapsed) };
        let waits = if ran + waited > 0.0 { waited / (ran + waited) } else { 0.0 };
        let rest = 1.0 - ready;
        let share = |count: u32| rest * f64::from(count) / f64::from(blocked.max(1));
        // Moments divide the rest only: a share of half of the time is known as well by a quarter of them.
        let is_enough =
            moments >= LEAST_READINGS && f64::from(moments) >= LEAST_MOMENTS * rest * rest;
        (is_enough && elapsed > 0.0).then(|| Self {
            moments,
            on_processor: ready * (1.0 - waits),
            waiting: ready * waits,
            disk: share(disk),
            sockets: share(sockets),
            sleeping: share(sleeping),
            other: share(other),
        })
    }
}

/// The verdict over a plan's records.
pub(super) fn judge(plan: &RunPlan, cells: &[Measured<RunCell>]) -> RunVerdict {
    let mut values: Vec<ValueVerdict> =
        plan.values.iter().map(|value| judge_value(plan, value, cells)).collect();
    conclude(values.iter_mut().flat_map(|value| &mut value.rows).collect());
    RunVerdict {
        values,
        uses: plan.rows.iter().map(|row| used(plan, row, cells)).collect(),
        warnings: warnings(plan, cells),
    }
}

/// The valid values of a row, with their blocks.
pub(super) fn blocks_of(
    value: &Value,
    row: &RunRow,
    cells: &[Measured<RunCell>],
) -> Vec<(u32, f64)> {
    let own = cells.iter().filter(|cell| cell.cell.levels == row.levels && cell.is_valid());
    own.filter_map(|cell| Some((cell.block, value.found(row, &cell.seen).ok()?))).collect()
}

fn judge_value(plan: &RunPlan, value: &Value, cells: &[Measured<RunCell>]) -> ValueVerdict {
    let base = plan.rows.first().map(|row| blocks_of(value, row, cells)).unwrap_or_default();
    let rows = plan
        .rows
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let own = blocks_of(value, row, cells);
            let numbers: Vec<f64> = own.iter().map(|(_, value)| *value).collect();
            let ratios = if place == 0 { Vec::new() } else { worsening(&own, &base, value.better) };
            RowVerdict {
                cell: plan.cell(row),
                value: mean(&numbers),
                count: numbers.len(),
                least_samples: least_samples(value, row, cells),
                slowdown: geometric_interval(&ratios, Level::P95),
                adjusted_p: chance(&ratios),
                finding: None,
            }
        })
        .collect();
    ValueVerdict {
        name: value.name.clone(),
        unit: value.unit.clone(),
        better: value.better,
        rows,
        effects: effects(plan, value, cells),
    }
}

pub(super) fn least_samples(
    value: &Value,
    row: &RunRow,
    cells: &[Measured<RunCell>],
) -> Option<u64> {
    let own = cells.iter().filter(|cell| cell.cell.levels == row.levels && cell.is_valid());
    own.filter_map(|cell| value.samples(row, &cell.seen)).min()
}

fn mean(values: &[f64]) -> Option<Estimate> {
    geometric_interval(values, Level::P95).or_else(|| mean_interval(values, Level::P95))
}

/// The ratio of each value to the base's of its block (above 1 is worse): drifts from block to
/// block cancel.
fn worsening(own: &[(u32, f64)], base: &[(u32, f64)], better: Better) -> Vec<f64> {
    let pairs = own.iter().filter_map(|(block, value)| {
        let (_, base) = base.iter().find(|(other, _)| other == block)?;
        Some(match better {
            Better::Lower => value / base,
            Better::Higher => base / value,
        })
    });
    pairs.filter(|ratio| ratio.is_finite() && *ratio > 0.0).collect()
}

/// The probability that the mean logarithm of ratios is as far from 0 by chance (Student's t test).
fn chance(ratios: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let (mean, deviation) = (arithmetic_mean(&logarithms)?, sample_deviation(&logarithms)?);
    let count = logarithms.len() as f64;
    if deviation == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    student_p(mean / (deviation / count.sqrt()), count - 1.0)
}

/// Adjusts the probabilities of all rows of all values for their number, and finds by the rule of `btu
/// compare`: who asks for many values looks for a difference in any of them.
fn conclude(mut rows: Vec<&mut RowVerdict>) {
    let adjusted = holm(&rows.iter().filter_map(|row| row.adjusted_p).collect::<Vec<_>>());
    let asked = rows.iter_mut().filter(|row| row.adjusted_p.is_some());
    for (row, p) in asked.zip(adjusted) {
        row.adjusted_p = Some(p);
    }
    for row in rows {
        row.finding =
            row.speed().map(|speed| find(&speed, row.adjusted_p, Level::P95, Matter::DEFAULT));
    }
}

fn used(plan: &RunPlan, row: &RunRow, cells: &[Measured<RunCell>]) -> RowUse {
    let own: Vec<_> = cells.iter().filter(|cell| cell.cell.levels == row.levels).collect();
    let names = row
        .programs
        .iter()
        .filter(|step| step.part == Part::Measured)
        .map(|step| step.name.as_str());
    let programs = names.filter_map(|name| {
        let valid = own.iter().filter(|cell| cell.is_valid());
        let reports: Vec<_> = valid.filter_map(|cell| program(name, &cell.seen)).collect();
        (!reports.is_empty()).then(|| taken(name, &reports))
    });
    RowUse {
        cell: plan.cell(row),
        lead_seconds: row.is_loaded().then(|| row.lead.seconds()),
        invalid: own.iter().filter(|cell| !cell.is_valid()).count(),
        fault: own.iter().find_map(|cell| cell.faults.first().cloned()),
        programs: programs.collect(),
    }
}

fn taken(name: &str, reports: &[&ProgramReport]) -> ProgramUse {
    let mean = |of: fn(&ProgramReport) -> f64| {
        reports.iter().map(|report| of(report)).sum::<f64>() / reports.len() as f64
    };
    let least = reports.iter().map(|report| report.ended.least_memory).max().unwrap_or_default();
    ProgramUse {
        name: name.to_owned(),
        elapsed_seconds: mean(|report| report.ended.elapsed().seconds()),
        user_seconds: mean(|report| report.ended.cpu.user.seconds()),
        system_seconds: mean(|report| report.ended.cpu.system.seconds()),
        peak_memory_bytes: mean(|report| report.ended.peak_memory.count() as f64),
        least_memory_bytes: least.count() as f64,
        voluntary_switches: mean(|report| report.ended.voluntary_switches as f64),
        involuntary_switches: mean(|report| report.ended.involuntary_switches as f64),
        time: ProgramTime::of(reports),
    }
}
