//! Signatures, sets of them, and HINT: the runs of `btu pipe`.

use std::process::ExitCode;

use btu_report::html::Page;
use btu_report::{RawRow, TextOptions, hint_page, pipe_page, set_page};
use btu_store::{RunRow, Store};
use btu_studies::papers::Study;
use btu_suite::hint::{self, HintPoint, HintRecord, HintRun};
use btu_suite::pipe::{PipePlan, Point, Purpose, SetPlan, SetPoint, Trial};

use super::{Suite, first_values, json, lines, refuse_studies, value};
use crate::cli::{Common, Compare};
use crate::stored::Surroundings;
use crate::stored::is_of_pipe;
use crate::studies::pipe::{self, Outcome, outcome, plan, text};

pub(crate) struct Signatures;

impl Suite for Signatures {
    fn has(&self, name: &str) -> bool {
        is_of_pipe(name)
    }

    fn command(&self) -> &'static str {
        "btu pipe"
    }

    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String> {
        if row.summary.suite != hint::SUITE {
            return Ok("btu pipe");
        }
        let run = row.summary.id;
        Err(format!(
            "run {run} is one of HINT, whose steps belong together: begin a new one with `btu pipe --hint`"
        ))
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        json(row, outcome(store, row)?)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        text(store, row, &outcome(store, row)?, true, options)
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        let (run, suite) = (row.summary.id, row.summary.suite.as_str());
        if Purpose::of_suite(suite).is_some() {
            let set: SetPlan = plan(row)?;
            return lines(
                &store.records::<SetPoint>(run)?,
                is_json,
                "transport, load, size in B, one-way times of its trials",
                |SetPoint { series, point }| {
                    let plan = set.series.get(*series);
                    let name = plan
                        .map_or_else(String::new, |plan| format!("{} {}", plan.kind, plan.load));
                    format!(
                        "{name:<22} {}",
                        plan.map_or_else(String::new, |plan| trials(plan, point))
                    )
                },
            );
        }
        if suite == hint::SUITE {
            let run_plan: HintRun = plan(row)?;
            return lines(
                &store.records::<HintRecord>(run)?,
                is_json,
                "processes, intervals (or message, size in B), times of its trials",
                |record| match record {
                    HintRecord::Message(point) => {
                        format!("message {}", trials(&run_plan.pipe, point))
                    }
                    HintRecord::Two(point) => {
                        format!(
                            "two     {:>10} {}",
                            point.intervals,
                            microseconds(&point.lap_seconds())
                        )
                    }
                    HintRecord::One(point) => {
                        format!(
                            "one     {:>10} {}",
                            point.intervals,
                            microseconds(&point.lap_seconds())
                        )
                    }
                },
            );
        }
        let plan: PipePlan = plan(row)?;
        lines(
            &store.records::<Point>(run)?,
            is_json,
            "   size, B  one-way times of its trials",
            |point| trials(&plan, point),
        )
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        let (run, suite) = (row.summary.id, row.summary.suite.as_str());
        if Purpose::of_suite(suite).is_some() {
            let set: SetPlan = plan(row)?;
            let points = store.records::<SetPoint>(run)?;
            let of = |one: &SetPoint| {
                set.series.get(one.series).map(|plan| raw_trials(row, plan, &one.point))
            };
            return Ok(points.iter().filter_map(of).flatten().collect());
        }
        if suite == hint::SUITE {
            let run_plan: HintRun = plan(row)?;
            let of = |record: &HintRecord| match record {
                HintRecord::Message(point) => raw_trials(row, &run_plan.pipe, point),
                HintRecord::Two(point) => raw_laps(row, 2, point),
                HintRecord::One(point) => raw_laps(row, 1, point),
            };
            return Ok(store.records::<HintRecord>(run)?.iter().flat_map(of).collect());
        }
        let plan: PipePlan = plan(row)?;
        Ok(store
            .records::<Point>(run)?
            .iter()
            .flat_map(|point| raw_trials(row, &plan, point))
            .collect())
    }

    fn compare(
        &self,
        store: &Store,
        arguments: &Compare,
        common: &Common,
    ) -> anyhow::Result<ExitCode> {
        pipe::compare(store, arguments, common.json).map(|()| ExitCode::SUCCESS)
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        refuse_studies(row, with)?;
        let surroundings = Surroundings::of(store, row);
        let stored = surroundings.stored();
        Ok(match outcome(store, row)? {
            Outcome::One(verdict) => pipe_page(&stored, &verdict),
            Outcome::Set(verdict) => set_page(&stored, &verdict),
            Outcome::Hint(result) => {
                hint_page(&stored, &result, plan::<HintRun>(row)?.pipe.kind.label())
            }
        })
    }
}

/// A row for each trial of a size.
fn raw_trials(row: &RunRow, plan: &PipePlan, point: &Point) -> Vec<RawRow> {
    let of = |(place, trial): (usize, &Trial)| {
        let mut raw = first_values(row, point.is_valid());
        raw.extend([
            value("transport", plan.kind),
            value("pattern", plan.pattern),
            value("load", plan.load),
            value("pairs", plan.pairs),
            value("message_bytes", point.size.count()),
            value("pass", point.pass + 1),
            value("trial", place + 1),
            value("repetitions", trial.repetitions),
            value("duration_seconds", trial.elapsed.seconds()),
            value("one_way_seconds", trial.one_way_seconds(plan.pattern)),
            value("lost_messages", trial.lost),
        ]);
        raw
    };
    point.trials.iter().enumerate().map(of).collect()
}

/// A row for each trial of so many processes over a number of intervals.
fn raw_laps(row: &RunRow, processes: u32, point: &HintPoint) -> Vec<RawRow> {
    let of = |(place, seconds): (usize, f64)| {
        let mut raw = first_values(row, true);
        raw.extend([
            value("processes", processes),
            value("intervals", point.intervals),
            value("trial", place + 1),
            value("lap_seconds", seconds),
        ]);
        raw
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
