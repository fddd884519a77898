//! Continues an interrupted run, with its plan, its network, and the results that are stored.

use btu_contract::experiment::{Experiment, Named};
use btu_contract::job::Job;
use btu_control::environment;
use btu_store::{RunLock, RunRow, Store};

use super::ground::remote_of;
use super::plan::PlannedWork;
use crate::cli::Resuming;
use crate::results;
use crate::stored::resume;

/// A run to complete.
pub(super) struct Resumed {
    pub(super) lock: RunLock,
    pub(super) row: RunRow,
    /// The warning that the run keeps about its resumption.
    pub(super) warning: Option<String>,
}

/// The request of this run.
pub(super) fn asked(row: &RunRow) -> anyhow::Result<PlannedWork> {
    results::resumed_by(row, Job::COMMAND)?;
    let job: Job = resume::plan(row)?;
    resume::is_its_plan(row, (job.version(), Job::VERSION), &job.hash())?;
    let network = Job::network_in(&row.summary.network).to_owned();
    Ok(PlannedWork { jobs: vec![job], network })
}

/// Resumes the run, if it is incomplete and this is still its machine.
pub(super) fn take_up(
    store: &Store,
    row: RunRow,
    asked: &PlannedWork,
    resuming: &Resuming,
) -> anyhow::Result<Option<Resumed>> {
    let Some(lock) = resume::lock(store, &row)? else { return Ok(None) };
    let remotes = asked.jobs.iter().filter_map(remote_of);
    let hosts: Vec<String> = remotes.map(|remote| remote.to_string()).collect();
    resume::may_call(&row, &hosts, resuming.allowed.call_hosts)?;
    let warning = resume::same_machine(&row, None, &environment::collect(), resuming.force)?;
    Ok(Some(Resumed { lock, row, warning }))
}
