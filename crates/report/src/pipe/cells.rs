//! The records of a run of `btu pipe`, as lines and as raw values.

use btu_contract::hint::{HintPoint, HintRecord};
use btu_contract::job::{Job, JobRecord};
use btu_contract::pipe::{PipePlan, Point, Trial};

use crate::csv::RawRow;
use crate::study::{CellTable, raw_value};

/// The records of a run.
pub(super) fn cells(job: &Job, records: &[JobRecord]) -> CellTable {
    let head = match job {
        Job::One(_) => "   size, B  one-way times of its trials",
        Job::Set(_) => "transport, load, size in B, one-way times of its trials",
        Job::Hint(_) => "processes, intervals (or message, size in B), times of its trials",
    };
    let known =
        || records.iter().filter_map(|record| Some((job.plans().get(record.series)?, record)));
    CellTable {
        head: head.to_owned(),
        lines: known().map(|(plan, record)| line(job, plan, record)).collect(),
        raw: known().flat_map(|(plan, record)| raw(plan, record)).collect(),
    }
}

fn line(job: &Job, plan: &PipePlan, record: &JobRecord) -> String {
    let step = |processes: &str, point: &HintPoint| {
        format!("{processes:<7} {:>10} {}", point.intervals, microseconds(&point.lap_seconds()))
    };
    match (&record.seen, job) {
        (HintRecord::Message(point), Job::One(_)) => trials(plan, point),
        (HintRecord::Message(point), Job::Set(_)) => {
            let name = format!("{} {}", plan.kind, plan.load);
            format!("{name:<22} {}", trials(plan, point))
        }
        (HintRecord::Message(point), Job::Hint(_)) => format!("message {}", trials(plan, point)),
        (HintRecord::Two(point), _) => step("two", point),
        (HintRecord::One(point), _) => step("one", point),
    }
}

fn raw(plan: &PipePlan, record: &JobRecord) -> Vec<RawRow> {
    match &record.seen {
        HintRecord::Message(point) => raw_trials(plan, point),
        HintRecord::Two(point) => raw_laps(2, point),
        HintRecord::One(point) => raw_laps(1, point),
    }
}

/// A row for each trial of a size.
fn raw_trials(plan: &PipePlan, point: &Point) -> Vec<RawRow> {
    let of = |(place, trial): (usize, &Trial)| {
        vec![
            raw_value("valid", point.is_valid()),
            raw_value("transport", plan.kind),
            raw_value("pattern", plan.pattern),
            raw_value("load", plan.load),
            raw_value("pairs", plan.pairs),
            raw_value("message_bytes", point.size.count()),
            raw_value("pass", point.pass + 1),
            raw_value("trial", place + 1),
            raw_value("repetitions", trial.repetitions),
            raw_value("duration_seconds", trial.elapsed.seconds()),
            raw_value("one_way_seconds", trial.one_way_seconds(plan.pattern)),
            raw_value("lost_messages", trial.lost),
        ]
    };
    point.trials.iter().enumerate().map(of).collect()
}

/// A row for each trial of so many processes over a number of intervals.
fn raw_laps(processes: u32, point: &HintPoint) -> Vec<RawRow> {
    let of = |(place, seconds): (usize, f64)| {
        vec![
            raw_value("valid", true),
            raw_value("processes", processes),
            raw_value("intervals", point.intervals),
            raw_value("trial", place + 1),
            raw_value("lap_seconds", seconds),
        ]
    };
    point.lap_seconds().into_iter().enumerate().map(of).collect()
}

fn trials(plan: &PipePlan, point: &Point) -> String {
    format!("{:>10} {}", point.size.count(), microseconds(&point.one_way_seconds(plan.pattern)))
}

fn microseconds(seconds: &[f64]) -> String {
    seconds.iter().map(|seconds| format!("{:10.3}", seconds * 1e6)).collect::<Vec<_>>().join(" ")
        + " us"
}
