//! The places of the ends: here, in the stations of a network that is raised for them, or the far
//! one on another machine.

use anyhow::Context;
use btu_contract::job::Job;
use btu_contract::network::HostName;
use btu_contract::pipe::{PipePlan, Place, Remote};
use btu_control::controller::{Ground, Observer, Phase, Processors, Testbed};
use btu_control::environment::Environment;
use btu_store::RunRow;

use super::arguments::Pipe;
use super::plan::Stations;
use crate::start::study::Session;
use crate::start::{hosts, preflight};
use crate::stored::resume;

/// Where a run is measured.
pub(super) struct RunHosts {
    pub(super) ground: Ground,
    /// The hosts of the end that sends first and of the other one.
    pub(super) ends: [HostName; 2],
    /// The warning that the far end is on another machine than at the run's start.
    pub(super) warning: Option<String>,
}

/// Checks that the network can be raised, or starts this machine's agent and reaches the other
/// machine. `row` is the run, if it is resumed.
pub(super) fn prepare(
    (job, network): (&Job, &str),
    pipe: &Pipe,
    session: &mut Session,
    row: Option<&RunRow>,
) -> anyhow::Result<RunHosts> {
    if let Some(stations) = stations(job)? {
        preflight::namespaces(&session.settings.executable, &[])?;
        return raised(job, network, stations, processors(job));
    }
    let processors = processors(job);
    let remote = remote_of(job);
    if remote.is_some() {
        session.bar.phase(Phase::Reserve);
    }
    let reached = hosts::near_and(
        remote.as_ref(),
        &pipe.remote,
        session.resumed().as_deref(),
        session.directory(),
    );
    session.bar.clear();
    let (mut hosts, ends) = reached?;
    let warning = match (row, &remote) {
        (Some(row), Some(remote)) => {
            let now = hosts.environments()?;
            same_host(row, remote, &now, pipe.aim.resuming.force)?
        }
        _ => None,
    };
    Ok(RunHosts { ground: Ground::Hosts(Box::new(hosts.using(processors))), ends, warning })
}

/// The stations of the ends, if the ends are in stations.
fn stations(job: &Job) -> anyhow::Result<Option<Stations>> {
    let places = job.plans().iter().map(|plan| Stations::of(&plan.place));
    Ok(places.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().next())
}

/// The use of this machine's processors.
fn processors(job: &Job) -> Processors {
    let (ends, awake) = (job.pair(), job.plans().iter().any(|plan| plan.kept_awake));
    Processors { ends, awake, ..Processors::default() }
}

fn raised(
    job: &Job,
    network: &str,
    stations: Stations,
    processors: Processors,
) -> anyhow::Result<RunHosts> {
    let Stations { drawing, near, far } = stations;
    let find = |name: &str| {
        let id = drawing.station_called(name);
        let id = id.with_context(|| format!("the network has no station {name}"))?;
        anyhow::Ok((HostName::try_from(name)?, id))
    };
    let found = [find(&near)?, find(&far)?];
    let ends = found.clone().map(|(name, _)| name);
    let control = |plan: &PipePlan| plan.congestion_control.clone();
    let testbed = Testbed {
        name: "pipe",
        hosts: found.to_vec(),
        drawing,
        source: network.to_owned(),
        processors,
        congestion_control: job.plans().iter().find_map(control),
        ..Testbed::default()
    };
    Ok(RunHosts { ground: Ground::Testbed(Box::new(testbed)), ends, warning: None })
}

/// The other machine of the run, if there is one.
pub(super) fn remote_of(job: &Job) -> Option<Remote> {
    job.plans().iter().find_map(|plan| match &plan.place {
        Place::Machines(remote) => Some(remote.clone()),
        _ => None,
    })
}

/// Checks that the far end is on the machine of this run's start; see [`resume::same_machine`].
fn same_host(
    row: &RunRow,
    remote: &Remote,
    now: &[(String, Environment)],
    force: bool,
) -> anyhow::Result<Option<String>> {
    let Some((name, now)) = now.iter().find(|(name, _)| *name == remote.name) else {
        return Ok(None);
    };
    Ok(resume::same_machine(row, Some(name), now, force)?)
}
