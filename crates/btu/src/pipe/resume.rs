//! Continues an interrupted run, with its plan, its network, and the results that are stored.

use btu_control::environment;
use btu_store::{RunLock, RunRow, Store};
use btu_suite::pipe::{self, PipePlan, Place, Point, SetPlan, SetPoint, points_of};

use super::job::Job;
use super::plan::{Asked, Stations, remote_of};
use crate::cli::Resuming;
use crate::resume;

/// A run to complete.
pub(super) struct Resumed {
    pub(super) lock: RunLock,
    pub(super) row: RunRow,
    /// The stored data of each of its signatures.
    pub(super) known: Vec<Vec<Point>>,
    /// The warning that the run keeps about its resumption.
    pub(super) warnings: Vec<String>,
}

/// The request of this run.
pub(super) fn asked(row: &RunRow) -> anyhow::Result<Asked> {
    resume::made_by(row, "btu pipe")?;
    let job = if row.summary.suite == pipe::SUITE {
        Job::One(Box::new(resume::plan(row)?))
    } else {
        Job::Set(resume::plan::<SetPlan>(row)?)
    };
    for plan in job.plans() {
        resume::is_its_plan(row, (plan.version, PipePlan::VERSION), &job.hash())?;
    }
    let elsewhere = job.plans().iter().find(|plan| plan.place != Place::Here);
    let stations = elsewhere.map_or(Ok(None), |plan| Stations::of(&plan.place))?;
    // Its name without the prefix of `Job::called`.
    let network =
        row.summary.network.rsplit_once(", ").map_or("", |(_, network)| network).to_owned();
    let jobs = vec![job];
    let remote = remote_of(&jobs);
    Ok(Asked { jobs, network, stations, remote })
}

/// Resumes the run, if it is incomplete and this is still its machine.
pub(super) fn take_up(
    store: &Store,
    row: RunRow,
    asked: &Asked,
    resuming: &Resuming,
) -> anyhow::Result<Option<Resumed>> {
    let Some(lock) = resume::lock(store, &row)? else { return Ok(None) };
    let hosts: Vec<String> = asked.remote.iter().map(ToString::to_string).collect();
    resume::may_call(&row, &hosts, resuming.call_hosts)?;
    let warning = resume::same_machine(&row, None, &environment::collect(), resuming.force)?;
    let known = known(store, &row, asked.jobs.first())?;
    Ok(Some(Resumed { lock, row, known, warnings: warning.into_iter().collect() }))
}

fn known(store: &Store, row: &RunRow, job: Option<&Job>) -> anyhow::Result<Vec<Vec<Point>>> {
    let run = row.summary.id;
    if let Some(Job::Set(set)) = job {
        let points: Vec<SetPoint> = store.records(run)?;
        return Ok((0..set.series.len()).map(|series| points_of(&points, series)).collect());
    }
    Ok(vec![store.records(run)?])
}
