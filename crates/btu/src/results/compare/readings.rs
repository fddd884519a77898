//! What is compared of the runs of each study.

use std::marker::PhantomData;

use btu_contract::experiment::{Experiment, Measured, Named, Scripts};
use btu_store::{RunId, RunRow, Store};
use btu_studies::compare::{
    PlanDifference, RunReadings, StudyRow, asks_the_same, plan_differences, study_differences,
    study_readings,
};
use btu_studies::rate::{CellRecord, Plan, Reading, Row};

use super::Compared;

/// Ratings: the speeds of their rows.
pub(crate) struct Ratings;

impl Compared for Ratings {
    type Row = Row;
    type Plan = Plan;

    fn commands(&self) -> &'static str {
        Plan::COMMAND
    }

    fn is_of(&self, study: &str) -> bool {
        study == Plan::STUDY
    }

    fn hash(&self, plan: &Plan) -> String {
        plan.hash()
    }

    fn differences(&self, base: &Plan, other: &Plan) -> Vec<PlanDifference> {
        plan_differences(base, other)
    }

    fn run(&self, store: &Store, row: &RunRow, _: &Plan) -> anyhow::Result<RunReadings> {
        let cells: Vec<CellRecord> = store.records(row.summary.id)?;
        Ok(named(row.summary.id, cells.iter().filter_map(Reading::of)))
    }

    /// The paced stream only if its order equals that in `base`.
    fn asks_the_same(&self, base: &Plan, other: &Plan, row: &Row) -> bool {
        asks_the_same(base, other, *row)
    }
}

/// Studies with scripts: the quantities of their cells.
pub(crate) struct OfScripts<S>(PhantomData<fn() -> S>);

impl<S> OfScripts<S> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S: Scripts> Compared for OfScripts<S> {
    type Row = StudyRow;
    type Plan = S;

    fn commands(&self) -> &'static str {
        S::COMMAND
    }

    fn is_of(&self, study: &str) -> bool {
        study == S::STUDY
    }

    fn hash(&self, plan: &S) -> String {
        plan.hash()
    }

    fn differences(&self, base: &S, other: &S) -> Vec<PlanDifference> {
        study_differences(base, other)
    }

    fn run(&self, store: &Store, row: &RunRow, plan: &S) -> anyhow::Result<RunReadings<StudyRow>> {
        let cells: Vec<Measured<S::Cell>> = store.records(row.summary.id)?;
        Ok(named(row.summary.id, cells.iter().flat_map(|cell| study_readings(plan, cell))))
    }

    fn asks_the_same(&self, _: &S, _: &S, _: &StudyRow) -> bool {
        true
    }
}

fn named<R>(run: RunId, readings: impl Iterator<Item = Reading<R>>) -> RunReadings<R> {
    RunReadings { name: run.to_string(), place: 0, readings: readings.collect() }
}
