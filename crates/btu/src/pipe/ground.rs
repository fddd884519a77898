//! Where the ends work: here, in the stations of a network that is raised for them, or the far one on another machine.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use btu_store::{Level, Moment, RunId, RunRow};
use btu_suite::activity::{Meeting, PipeMeeting};
use btu_suite::pipe::{End, PipePlan, Place};
use btu_testbed::house::{NetworkHouse, NetworkRequest, Rising, RuntimeDirectory};

use super::elsewhere::Elsewhere;
use super::interruption::Interruption;
use super::job::Job;
use super::journal::Journal;
use super::plan::{Asked, Stations};
use super::trouble::Fallen;
use crate::cli::Reaching;
use crate::progress::Steps;
use crate::{preflight, rate};

/// What the ends stand on.
pub(super) struct Ground<'a> {
    executable: PathBuf,
    /// For the sockets of ends that meet here; swept by a later run where this process is killed.
    meetings: RuntimeDirectory,
    raised: Option<(NetworkHouse, &'a Stations)>,
    elsewhere: Option<Elsewhere>,
}

impl<'a> Ground<'a> {
    /// Raises the network, if there is to be one, or reaches the other machine.
    pub(super) fn prepare(
        asked: &'a Asked,
        (reaching, resumed): (&Reaching, Option<RunId>),
        interruption: &Interruption,
        steps: &Steps,
    ) -> anyhow::Result<Self> {
        let executable = std::env::current_exe().context("finding this program's own file")?;
        let raised = match &asked.stations {
            Some(stations) => {
                steps.say("raising the network".to_owned());
                Some((raise(asked, stations, &executable, interruption)?, stations))
            }
            None => None,
        };
        let elsewhere = match &asked.remote {
            Some(remote) => {
                steps.say(format!("reaching {}", remote.name));
                Some(Elsewhere::reach(remote, reaching, resumed, interruption)?)
            }
            None => None,
        };
        let meetings = RuntimeDirectory::claim(&preflight::runtime_directory()?)?;
        Ok(Self { executable, meetings, raised, elsewhere })
    }

    /// The other machine, where `end` is there.
    pub(super) fn elsewhere(&self, plan: &PipePlan, end: End) -> Option<&Elsewhere> {
        self.elsewhere.as_ref().filter(|_| end == End::Far && matches!(plan.place, Place::Machines(_)))
    }

    /// Whether the other machine, where there is one, is still the one that this run was begun with; the warning that the
    /// run keeps where it is not and that is allowed.
    pub(super) fn same_host(&self, row: &RunRow, force: bool) -> anyhow::Result<Option<String>> {
        self.elsewhere.as_ref().map_or(Ok(None), |elsewhere| elsewhere.same_host(row, force))
    }

    /// Whether another machine takes part.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Makes ready for this run.
    pub(super) fn begin(&self, run: RunId, plans: &[PipePlan], journal: &Journal<'_>) -> anyhow::Result<()> {
        self.elsewhere.as_ref().map_or(Ok(()), |elsewhere| elsewhere.begin(run, plans, journal))
    }

    /// Notes what the other machine was like at the end of a run; the result is there already.
    pub(super) fn end(&self, journal: &Journal<'_>) -> anyhow::Result<()> {
        let looked = self.elsewhere.as_ref().map_or(Ok(()), |elsewhere| elsewhere.look(Moment::After, journal));
        looked.or_else(|error| {
            journal.note(Level::Warning, &format!("what the other machine was like afterwards is not known: {error}"))
        })
    }

    /// The command that is a worker for this end.
    pub(super) fn worker(&self, plan: &PipePlan, end: End) -> Command {
        let mut command = Command::new(&self.executable);
        command.arg("internal");
        if let (Some((house, stations)), false) = (&self.raised, plan.place == Place::Here) {
            let station = match end {
                End::Near => &stations.near,
                End::Far => &stations.far,
            };
            command.arg("enter").arg(house.directory()).arg(station).arg("--").arg(&self.executable).arg("internal");
        }
        command.arg("worker");
        command
    }

    /// Where the far end of the pipe with this number waits.
    pub(super) fn listening(&self, plan: &PipePlan, number: usize) -> PipeMeeting {
        if plan.kind.is_local() {
            return PipeMeeting::ListenAt(self.meeting(number));
        }
        PipeMeeting::Network(Meeting::Listen(self.address_of_far(plan)))
    }

    /// The far end's address.
    pub(super) fn address_of_far(&self, plan: &PipePlan) -> IpAddr {
        match (&self.raised, self.elsewhere(plan, End::Far)) {
            (_, Some(elsewhere)) => elsewhere.address(),
            (Some((_, stations)), _) if plan.place != Place::Here => stations.address_of_far(),
            _ => IpAddr::V4(Ipv4Addr::LOCALHOST),
        }
    }

    /// That the network has fallen, if it has.
    pub(super) fn fallen(&self) -> Option<Fallen> {
        self.raised.as_ref().and_then(|(house, _)| house.fallen()).map(Fallen)
    }

    /// Where the near end goes; nothing where the far end had to say where it is and did not.
    pub(super) fn connecting(
        &self,
        plan: &PipePlan,
        number: usize,
        endpoint: Option<std::net::SocketAddr>,
    ) -> Option<PipeMeeting> {
        if plan.kind.is_local() {
            return Some(PipeMeeting::ConnectAt(self.meeting(number)));
        }
        endpoint.map(|endpoint| PipeMeeting::Network(Meeting::Connect(endpoint)))
    }

    fn meeting(&self, number: usize) -> PathBuf {
        self.meetings.path().join(format!("pipe-{number}"))
    }

    /// Takes everything down.
    pub(super) fn lower(mut self) -> anyhow::Result<()> {
        match self.raised.take() {
            Some((house, _)) => {
                let fallen = house.fallen();
                house.lower()?;
                fallen.map_or(Ok(()), |event| Err(Fallen(event).into()))
            }
            None => Ok(()),
        }
    }
}

impl Stations {
    fn address_of_far(&self) -> IpAddr {
        let far = self.drawing.stations.iter().find(|station| station.name == self.far);
        far.map_or(Ipv4Addr::LOCALHOST, |station| station.address).into()
    }
}

fn raise(
    asked: &Asked,
    stations: &Stations,
    executable: &Path,
    interruption: &Interruption,
) -> anyhow::Result<NetworkHouse> {
    let request = NetworkRequest {
        name: format!("pipe-{}", std::process::id()),
        drawing: stations.drawing.clone(),
        runtime_directory: preflight::runtime_directory()?,
        seed: asked.jobs.first().map_or(0, Job::seed),
        executable: executable.to_owned(),
        capture: None,
        source: asked.network.clone(),
        since: rate::wall_clock(),
        agents: Vec::new(),
        inputs: Vec::new(),
    };
    let rising = Rising::begin(request)?;
    interruption.ties(rising.lifeline());
    Ok(rising.finish()?)
}
