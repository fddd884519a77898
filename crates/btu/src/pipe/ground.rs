//! The places of the ends: here, in the stations of a network that is raised for them, or the far
//! one on another machine.
//!
//! In all cases an agent makes their workers.

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use btu_control::awake::Wakefulness;
use btu_control::coordinator::{Stop, WorkerHost};
use btu_network::StationId;
use btu_store::{Level, Moment, RunId, RunRow};
use btu_suite::activity::{PipeMeeting, Rendezvous};
use btu_suite::pipe::{End, PipePlan, Place};
use btu_suite::protocol_work::ProtocolWork;
use btu_suite::record::WireAccount;
use btu_testbed::testbed::{
    NetworkRequest, RaisedNetwork, RaisingNetwork, RuntimeDirectory, Signals,
};
use btu_testbed::wire::WireClient;
use btu_units::Span;

use super::cancel::CancelToken;
use super::here::Here;
use super::job::Job;
use super::journal::Journal;
use super::plan::{Asked, Stations};
use super::remote_peer::RemotePeer;
use super::worker_error::NetworkDown;
use crate::cli::Reaching;
use crate::progress::Steps;
use crate::{preflight, rate, study};

/// The longest activity that an agent's default policy allows.
const DAY: Duration = Duration::from_hours(24);

/// The hosts of the ends.
pub(super) struct Ground<'a> {
    // Dropped in this order: first the users of the directories behind them.
    raised: Option<RaisedStations<'a>>,
    here: Option<Here>,
    elsewhere: Option<RemotePeer>,
    /// For the sockets of ends that meet here; a later run removes it if this process is killed.
    meetings: RuntimeDirectory,
    /// The time limit of any worker of this run.
    limit: Cell<Span>,
    /// Of this machine's processors.
    _wakefulness: Wakefulness,
}

/// A network that was raised for the ends, with an agent at each.
struct RaisedStations<'a> {
    near: Arc<WorkerHost>,
    far: Arc<WorkerHost>,
    /// `None` if no emulator carries the frames.
    wire: Option<RefCell<WireClient>>,
    stations: &'a Stations,
    raised: RaisedNetwork,
}

impl<'a> Ground<'a> {
    /// Raises the network, if there is to be one, or reaches the other machine.
    pub(super) fn prepare(
        asked: &'a Asked,
        (reaching, resumed): (&Reaching, Option<RunId>),
        (signals, interruption): (&Signals, &CancelToken),
        steps: &Steps,
    ) -> anyhow::Result<Self> {
        let executable = std::env::current_exe().context("finding this program's own file")?;
        let stop = stop(interruption);
        let is_kept_awake = asked.jobs.iter().flat_map(Job::plans).any(|plan| plan.kept_awake);
        let wakefulness = Wakefulness::begin(is_kept_awake);
        let raised = match &asked.stations {
            Some(stations) => {
                steps.say("starting the network".to_owned());
                Some(raise(asked, stations, &executable, interruption)?)
            }
            None => None,
        };
        let elsewhere = match &asked.remote {
            Some(remote) => {
                steps.say(format!("reaching {}", remote.name));
                Some(RemotePeer::reach(remote, reaching, resumed, Arc::clone(&stop))?)
            }
            None => None,
        };
        let meetings = RuntimeDirectory::claim(&preflight::runtime_directory()?)?;
        let is_in_a_station =
            |plan: &PipePlan| !matches!(plan.place, Place::Here | Place::Machines(_));
        let is_needed_here = !asked.jobs.iter().flat_map(Job::plans).all(is_in_a_station);
        let here = is_needed_here
            .then(|| Here::start(&executable, meetings.path(), signals, stop))
            .transpose()?;
        Ok(Self {
            raised,
            here,
            elsewhere,
            meetings,
            limit: Cell::new(Span::ZERO),
            _wakefulness: wakefulness,
        })
    }

    /// The other machine, if `end` is there.
    pub(super) fn elsewhere(&self, plan: &PipePlan, end: End) -> Option<&RemotePeer> {
        self.elsewhere
            .as_ref()
            .filter(|_| end == End::Far && matches!(plan.place, Place::Machines(_)))
    }

    /// Checks that the other machine, if there is one, is still that of the run's start; returns a
    /// warning for the run if it is not and that is allowed.
    pub(super) fn same_host(&self, row: &RunRow, force: bool) -> anyhow::Result<Option<String>> {
        self.elsewhere.as_ref().map_or(Ok(None), |elsewhere| elsewhere.same_host(row, force))
    }

    /// The warning that others measured on this machine meanwhile.
    pub(super) fn company(&self) -> Option<String> {
        study::meanwhile(&self.meetings)
    }

    /// Whether another machine takes part.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Makes ready for this run.
    pub(super) fn begin(
        &self,
        run: RunId,
        plans: &[PipePlan],
        journal: &Journal<'_>,
    ) -> anyhow::Result<()> {
        let longest = plans.iter().map(longest).fold(Duration::ZERO, Duration::saturating_add);
        let expected = plans.iter().map(expected).fold(Duration::ZERO, Duration::saturating_add);
        self.limit.set(Span::from(longest.min(DAY)));
        let stations = self.raised.iter().flat_map(|raised| [&raised.near, &raised.far]);
        for host in stations.chain(self.here.iter().map(|here| &here.host)) {
            host.begin(&run.to_string(), expected)?;
        }
        self.elsewhere.as_ref().map_or(Ok(()), |elsewhere| elsewhere.begin(run, expected, journal))
    }

    /// The time limit of a worker of this run, after which its agent ends it.
    pub(super) fn limit(&self) -> Span {
        self.limit.get()
    }

    /// Stores the other machine's environment at the end of a run; the result is stored already.
    pub(super) fn end(&self, journal: &Journal<'_>) -> anyhow::Result<()> {
        let looked = self
            .elsewhere
            .as_ref()
            .map_or(Ok(()), |elsewhere| elsewhere.look(Moment::After, journal));
        looked.or_else(|error| {
            journal.note(
                Level::Warning,
                &format!("what the other machine was like afterwards is not known: {error}"),
            )
        })
    }

    /// The host of this end.
    pub(super) fn host(&self, plan: &PipePlan, end: End) -> anyhow::Result<Arc<WorkerHost>> {
        let station = self.raised.as_ref().filter(|_| plan.place != Place::Here);
        let host = match (self.elsewhere(plan, end), station) {
            (Some(elsewhere), _) => Some(elsewhere.host()),
            (None, Some(raised)) => Some(if end == End::Near { &raised.near } else { &raised.far }),
            (None, None) => self.here.as_ref().map(|here| &here.host),
        };
        match host {
            Some(host) => Ok(Arc::clone(host)),
            None => bail!("there is no host for an end at {:?}", plan.place),
        }
    }

    /// The address at which the far end of the pipe with this number waits.
    pub(super) fn listening(&self, plan: &PipePlan, number: usize) -> PipeMeeting {
        if plan.kind.is_local() {
            return PipeMeeting::ListenAt(self.meeting(number));
        }
        PipeMeeting::Network(Rendezvous::Listen(self.address_of_far(plan)))
    }

    /// The far end's address.
    pub(super) fn address_of_far(&self, plan: &PipePlan) -> IpAddr {
        match (&self.raised, self.elsewhere(plan, End::Far)) {
            (_, Some(elsewhere)) => elsewhere.address(),
            (Some(raised), _) if plan.place != Place::Here => raised.stations.address_of_far(),
            _ => IpAddr::V4(Ipv4Addr::LOCALHOST),
        }
    }

    /// The error that ended the network, if it has ended.
    pub(super) fn fallen(&self) -> Option<NetworkDown> {
        self.raised.as_ref().and_then(|raised| raised.raised.fallen()).map(NetworkDown)
    }

    /// Like `fallen`, after an operation that has just failed: the report may arrive a moment
    /// later.
    pub(super) fn fallen_soon(&self) -> Option<NetworkDown> {
        self.raised.as_ref().and_then(|raised| raised.raised.fallen_soon()).map(NetworkDown)
    }

    /// Resets the emulator between the ends, if there is one.
    pub(super) fn reset_account(&self, plan: &PipePlan) -> anyhow::Result<()> {
        self.wire(plan).map_or(Ok(()), |wire| Ok(wire.borrow_mut().reset()?))
    }

    /// The account of the emulator between the ends since its reset; `None` without one.
    pub(super) fn account(&self, plan: &PipePlan) -> anyhow::Result<Option<WireAccount>> {
        self.wire(plan).map(|wire| Ok(wire.borrow_mut().account()?)).transpose()
    }

    fn wire(&self, plan: &PipePlan) -> Option<&RefCell<WireClient>> {
        self.raised.as_ref().filter(|_| plan.place != Place::Here)?.wire.as_ref()
    }

    /// The destination of the near end; `None` if the far end had to report its address and did
    /// not.
    pub(super) fn connecting(
        &self,
        plan: &PipePlan,
        number: usize,
        endpoint: Option<std::net::SocketAddr>,
    ) -> Option<PipeMeeting> {
        if plan.kind.is_local() {
            return Some(PipeMeeting::ConnectAt(self.meeting(number)));
        }
        endpoint.map(|endpoint| PipeMeeting::Network(Rendezvous::Connect(endpoint)))
    }

    fn meeting(&self, number: usize) -> PathBuf {
        self.meetings.path().join(format!("pipe-{number}"))
    }

    /// Ends the workers and takes the network down.
    pub(super) fn lower(mut self) -> anyhow::Result<()> {
        match self.raised.take() {
            Some(raised) => {
                let fallen = raised.raised.fallen();
                raised.raised.lower()?;
                fallen.map_or(Ok(()), |event| Err(NetworkDown(event).into()))
            }
            None => Ok(()),
        }
    }
}

impl Stations {
    fn address_of_far(&self) -> IpAddr {
        self.station(&self.far).map_or(Ipv4Addr::LOCALHOST, |(_, station)| station.address).into()
    }

    fn station(&self, name: &str) -> Option<(StationId, &btu_network::Station)> {
        let found =
            self.drawing.stations.iter().enumerate().find(|(_, station)| station.name == name);
        found.map(|(index, station)| (StationId(index as u32), station))
    }
}

fn stop(interruption: &CancelToken) -> Stop {
    let interruption = interruption.clone();
    Arc::new(move || interruption.error())
}

fn raise<'a>(
    asked: &Asked,
    stations: &'a Stations,
    executable: &Path,
    interruption: &CancelToken,
) -> anyhow::Result<RaisedStations<'a>> {
    let ends = [&stations.near, &stations.far];
    let request = NetworkRequest {
        name: format!("pipe-{}", std::process::id()),
        drawing: stations.drawing.clone(),
        runtime_directory: preflight::runtime_directory()?,
        seed: asked.jobs.first().map_or(0, Job::seed),
        executable: executable.to_owned(),
        capture: None,
        source: asked.network.clone(),
        since: rate::wall_clock(),
        agents: ends.iter().filter_map(|name| Some(stations.station(name)?.0)).collect(),
        inputs: Vec::new(),
        processors: Vec::new(),
        protocol_work: ProtocolWork::Sender,
        ipv6: false,
        congestion_control: asked
            .jobs
            .iter()
            .flat_map(Job::plans)
            .find_map(|plan| plan.congestion_control.clone()),
    };
    let rising = RaisingNetwork::begin(request)?;
    interruption.ties(rising.keep_alive());
    let raised = rising.finish()?;
    let [near, far] = raised.stations() else {
        bail!("the network has no stations {} and {}", ends[0], ends[1])
    };
    let host = |place: &btu_testbed::testbed::StationPlace| {
        WorkerHost::local(place.station.clone(), &place.agent_socket, stop(interruption))
            .map(Arc::new)
    };
    let (near, far) = (host(near)?, host(far)?);
    let wire = raised.wire_socket().map(|socket| WireClient::connect(&socket)).transpose()?;
    Ok(RaisedStations { near, far, wire: wire.map(RefCell::new), stations, raised })
}

/// The time of a signature with fast messages.
fn expected(plan: &PipePlan) -> Duration {
    let trials = plan.precision.trials.saturating_mul(plan.sizes.list().len() as u32);
    Duration::from(plan.precision.target).saturating_mul(trials)
}

/// Its time limit: twenty times that, and the largest few dozen messages at the slowest allowed
/// rate.
fn longest(plan: &PipePlan) -> Duration {
    let slow = Duration::from(plan.precision.limit)
        .saturating_mul(plan.precision.trials.saturating_mul(40));
    Duration::from_mins(5) + expected(plan).saturating_mul(20).saturating_add(slow)
}
