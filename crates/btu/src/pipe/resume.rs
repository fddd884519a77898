//! Going on with a run that broke off: its plan and its network again, and what is known already.

use btu_store::{RunId, RunRow, Store};
use btu_suite::hint;
use btu_suite::pipe::{self, PipePlan, Place, Point, Purpose, SetPlan, SetPoint, points_of};

use super::job::Job;
use super::plan::{Asked, Stations, remote_of};
use super::show::plan;
use crate::exit::Refusal;

/// A run that is to be finished.
pub(super) struct Resumed {
    pub(super) run: RunId,
    /// What is stored of each of its signatures.
    pub(super) known: Vec<Vec<Point>>,
}

/// What the run that the user calls `name` asked for, and what is known of it.
pub(super) fn resumed(store: &Store, name: &str) -> anyhow::Result<(Asked, Resumed)> {
    let row = store.run(name)?;
    let run = row.summary.id;
    let (job, known) = job(store, &row)?;
    for plan in job.plans() {
        refuse_other_version(run, plan)?;
    }
    let elsewhere = job.plans().iter().find(|plan| plan.place != Place::Here);
    let stations = elsewhere.map_or(Ok(None), |plan| Stations::of(&plan.place))?;
    // What it was called by, less what `Job::called` puts before it.
    let network = row.summary.network.rsplit_once(", ").map_or("", |(_, network)| network).to_owned();
    let jobs = vec![job];
    let remote = remote_of(&jobs);
    let asked = Asked { jobs, network, stations, remote };
    Ok((asked, Resumed { run, known }))
}

fn job(store: &Store, row: &RunRow) -> anyhow::Result<(Job, Vec<Vec<Point>>)> {
    let run = row.summary.id;
    let suite = row.summary.suite.as_str();
    if suite == pipe::SUITE {
        let plan: PipePlan = plan(row)?;
        return Ok((Job::One(Box::new(plan)), vec![store.records(run)?]));
    }
    if Purpose::of_suite(suite).is_some() {
        let plan: SetPlan = plan(row)?;
        let points: Vec<SetPoint> = store.records(run)?;
        let known = (0..plan.series.len()).map(|series| points_of(&points, series)).collect();
        return Ok((Job::Set(plan), known));
    }
    let problem = if suite == hint::SUITE {
        format!("run {run} is one of HINT, whose steps belong together: begin a new one with `btu pipe --hint`")
    } else {
        format!("run {run} is none of `btu pipe`: resume it with `btu rate --resume {run}`")
    };
    Err(Refusal::Usage(problem).into())
}

fn refuse_other_version(run: RunId, plan: &PipePlan) -> Result<(), Refusal> {
    if plan.version == PipePlan::VERSION {
        return Ok(());
    }
    Err(Refusal::Usage(format!(
        "run {run} was planned by another btu (plan version {}, this one has {}): finish it with that one",
        plan.version,
        PipePlan::VERSION
    )))
}
