//! Plays scripts on the raised testbed or on real hosts, through their agents, one script at a
//! time.

mod ground;
mod observation;
mod standing;
mod watching;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use btu_contract::activity::Order;
use btu_contract::experiment::Observation;
use btu_contract::network::{HostName, Impairments, Machines};
use btu_contract::program::{Part, ProgramReport, Programs};
use btu_contract::record::HostClock;
use btu_contract::script::{Role, Script, Step};
use btu_contract::study::DiskFile;
use btu_testbed::testbed::RaisedNetwork;
use btu_testbed::wire::WireClient;
use btu_units::Span;
use futures_util::future::try_join_all;

use super::Observer;
use super::client::{AgentLink, StationAccount};
use super::error::ControllerError;
use super::hosts::{Purpose, Reconnected, RemoteHost};
use super::placement::Placement;
use super::programs::Site;
use crate::environment::MachineWatch;
use crate::protocol::{DescribeReply, WorkerCommand};
use ground::{Hosts, Testbed};
use observation::{HostMetrics, observation};
pub(super) use standing::{Standing, WorkerEvent, WorkerId};
use watching::{Unwatched, watched};

/// The place where activities are played.
pub struct Stage {
    ground: Ground,
    /// Other networks that are up at the same time, by their index.
    others: BTreeMap<usize, Ground>,
    /// The index of the current one.
    place: usize,
    next_cell: u64,
    /// The distance of the processors of the station under test from all others.
    pub(super) placement: Placement,
    /// Whether the last cell sent broadcasts, some of which may be on slow lines still.
    was_polluted: bool,
}

/// Its hosts.
enum Ground {
    Testbed(Box<Testbed>),
    Hosts(Box<Hosts>),
}

impl Stage {
    /// Connects to the agent of every station that has one, by their names in scripts, and to the
    /// wire if there is one.
    pub(super) async fn open(
        raised: &RaisedNetwork,
        names: impl Iterator<Item = HostName>,
        executable: &Path,
    ) -> Result<Self, ControllerError> {
        let hosts: Vec<_> = names.zip(raised.stations()).collect();
        let links = hosts.iter().map(|(name, place)| async {
            let link = AgentLink::connect(place.station.clone(), &place.agent_socket).await?;
            Ok::<_, ControllerError>((name.clone(), link))
        });
        let agents = try_join_all(links).await?;
        let places = hosts.into_iter().map(|(name, place)| (name, place.clone())).collect();
        let wire = raised.wire_socket().as_deref().map(WireClient::connect).transpose()?;
        let site =
            Site { executable: executable.to_owned(), directory: raised.directory().to_owned() };
        Ok(Self::on(Ground::Testbed(Box::new(Testbed::new(agents, places, wire, site)))))
    }

    fn on(ground: Ground) -> Self {
        Self {
            ground,
            others: BTreeMap::new(),
            place: 0,
            next_cell: 0,
            placement: Placement::default(),
            was_polluted: false,
        }
    }

    /// One stage over these, on the first of them.
    pub(super) fn over(stages: Vec<Self>) -> Result<Self, ControllerError> {
        let mut stages = stages.into_iter();
        let first =
            stages.next().ok_or_else(|| ControllerError::Network("there is none".to_owned()))?;
        let others = (1..).zip(stages.map(|stage| stage.ground)).collect();
        Ok(Self { others, ..first })
    }

    /// Plays on this network from now on.
    pub(super) fn turn_to(&mut self, place: usize) -> Result<(), ControllerError> {
        if place != self.place {
            let missing =
                || ControllerError::Network(format!("there is no network {place} in this run"));
            let ground = self.others.remove(&place).ok_or_else(missing)?;
            self.others.insert(self.place, std::mem::replace(&mut self.ground, ground));
            self.place = place;
        }
        Ok(())
    }

    /// A stage on hosts that were reached and reserved.
    pub(super) fn on_hosts(
        machines: Machines,
        remote_hosts: Vec<(HostName, RemoteHost)>,
        purpose: Purpose,
        timeout: Duration,
    ) -> Self {
        let hosts = Hosts::new(machines, remote_hosts, purpose, timeout);
        Self::on(Ground::Hosts(Box::new(hosts)))
    }

    /// Has a host hold a source file for the disk activity.
    pub(super) async fn prepare_disk_file(
        &self,
        DiskFile { host, directory, size, seed }: &DiskFile,
    ) -> Result<PathBuf, ControllerError> {
        self.agent(host)?.prepare_disk_file(directory, *size, *seed).await
    }

    /// Plays `script`: prepare, start together, collect. A failed activity is part of the
    /// observation; an error means that the stage itself is broken, or that an activity could not
    /// even be prepared.
    pub(super) async fn play(&mut self, script: &Script) -> Result<Observation, ControllerError> {
        self.play_watched(script, &Programs::default(), &mut Unwatched).await
    }

    /// Like `play`, with the user's programs: services first, then loads, then the measured
    /// programs and activities at once. Reports progress to `observer` at its interval.
    pub(super) async fn play_watched(
        &mut self,
        script: &Script,
        programs: &Programs,
        observer: &mut dyn Observer,
    ) -> Result<Observation, ControllerError> {
        let began = Instant::now();
        self.next_cell += 1;
        let cell = self.next_cell;
        self.impair(script).await?;
        self.settle(programs).await?;
        self.was_polluted = script.sends_broadcasts();
        if !self.serve(programs).await? {
            // Without a service the cell cannot be measured; its observation has the reason.
            return Ok(Observation {
                programs: self.dismiss(programs).await?,
                ..Observation::default()
            });
        }
        let played = self.play_activities((cell, began), script, programs, observer).await;
        let reports = match &played {
            Err(error)
                if error.may_follow_from_a_fall()
                    && !matches!(error, ControllerError::Prepare { .. }) =>
            {
                Vec::new()
            }
            _ => self.dismiss(programs).await?,
        };
        Ok(Observation { programs: reports, ..played? })
    }

    async fn play_activities(
        &mut self,
        (cell, began): (u64, Instant),
        script: &Script,
        programs: &Programs,
        observer: &mut dyn Observer,
    ) -> Result<Observation, ControllerError> {
        if let Err(error) = self.prepare(cell, script, observer.every()).await {
            // Lost hosts cannot be informed.
            self.abandon()
                .await
                .or_else(|second| if error.is_lost() { Ok(()) } else { Err(second) })?;
            return Err(error);
        }
        self.reset_wire()?;
        let watch = MachineWatch::begin().map_err(unread)?;
        self.load(cell, script, programs).await?;
        self.start(cell, script).await?;
        self.measure(programs).await?;
        let links = self.taking_part(script)?;
        let (accounts, course) =
            watched(self.collect(cell, script), (cell, script), &links, observer).await;
        let accounts = accounts?;
        if let Ground::Hosts(hosts) = &mut self.ground
            && accounts
                .iter()
                .flat_map(|account| &account.results)
                .any(|(_, result)| result.is_err())
        {
            // An agent that has lost its controller ends its workers: that is no fault of the cell.
            hosts.still_ours().await?;
        }
        let (machine, wire) = match &mut self.ground {
            Ground::Testbed(testbed) => {
                let machine = watch.end().map_err(unread)?;
                let read = self.placement.after_cell();
                (machine.with(read), testbed.account()?)
            }
            Ground::Hosts(hosts) => hosts.surroundings(&accounts)?,
        };
        let metrics = HostMetrics { machine, wire, clocks: self.clocks(), began };
        Ok(Observation { course, ..observation(script, accounts, metrics) })
    }

    /// Waits until the network has no frames of an earlier cell any more.
    async fn settle(&mut self, programs: &Programs) -> Result<(), ControllerError> {
        match &mut self.ground {
            Ground::Testbed(testbed)
                if !programs.steps.is_empty()
                    || programs.lead > Span::ZERO
                    || self.was_polluted =>
            {
                testbed.settle().await
            }
            Ground::Testbed(_) | Ground::Hosts(_) => Ok(()),
        }
    }

    /// Starts the services; whether all are ready.
    async fn serve(&mut self, programs: &Programs) -> Result<bool, ControllerError> {
        if programs.steps.is_empty() {
            return Ok(true);
        }
        let testbed = self.testbed()?;
        testbed.crew.connect_all(programs).await?;
        testbed.crew.begin(programs, Part::Service).await
    }

    /// Starts loads and servers, and waits until they are running.
    async fn load(
        &mut self,
        cell: u64,
        script: &Script,
        programs: &Programs,
    ) -> Result<(), ControllerError> {
        if programs.lead == Span::ZERO {
            return Ok(());
        }
        for (index, step) in
            script.steps.iter().enumerate().filter(|(_, step)| step.role == Role::Support)
        {
            self.agent(&step.host)?.direct(cell, index as u32, WorkerCommand::Go).await?;
        }
        if programs.steps.iter().any(|step| step.part == Part::Load) {
            self.testbed()?.crew.begin(programs, Part::Load).await?;
        }
        tokio::time::sleep(programs.lead.into()).await;
        Ok(())
    }

    /// Runs the programs that are measured.
    async fn measure(&mut self, programs: &Programs) -> Result<(), ControllerError> {
        if programs.steps.is_empty() {
            Ok(())
        } else {
            self.testbed()?.crew.measure(programs).await
        }
    }

    /// Ends the programs that still run, and accounts for all.
    async fn dismiss(
        &mut self,
        programs: &Programs,
    ) -> Result<Vec<ProgramReport>, ControllerError> {
        if programs.steps.is_empty() {
            return Ok(Vec::new());
        }
        let testbed = self.testbed()?;
        for part in [Part::Measured, Part::Load, Part::Service] {
            testbed.crew.stop(programs, part).await?;
        }
        Ok(testbed.crew.reports(programs))
    }

    /// The raised network: programs are never run elsewhere.
    fn testbed(&mut self) -> Result<&mut Testbed, ControllerError> {
        match &mut self.ground {
            Ground::Testbed(testbed) => Ok(testbed),
            Ground::Hosts(_) => {
                let message =
                    "programs run in stations of a network that btu starts, never on real hosts"
                        .to_owned();
                Err(ControllerError::Network(message))
            }
        }
    }

    async fn impair(&mut self, script: &Script) -> Result<(), ControllerError> {
        let seed = script.steps.first().map_or(0, |step| step.order.seed);
        match &mut self.ground {
            Ground::Testbed(testbed) => testbed.impair(&script.impairments),
            Ground::Hosts(hosts) => hosts.impair(&script.impairments, seed).await,
        }
    }

    /// Listeners first, then the steps that connect to them, and so on, in the script's order, so
    /// that all get the address to connect to.
    async fn prepare(
        &mut self,
        cell: u64,
        script: &Script,
        sample_every: Option<Span>,
    ) -> Result<(), ControllerError> {
        let mut endpoints: Vec<Option<SocketAddr>> = vec![None; script.steps.len()];
        let waves: Vec<usize> = (0..script.steps.len()).map(|index| script.wave(index)).collect();
        for wave in 0..=waves.iter().copied().max().unwrap_or(0) {
            let wave = script.steps.iter().enumerate().filter(|(index, _)| waves[*index] == wave);
            let prepared = wave.map(|(index, step)| {
                let order =
                    Order { sample_every, ..self.order(step, &script.impairments, &endpoints) };
                let agent = self.agent(&step.host);
                async move {
                    Ok::<_, ControllerError>((index, agent?.prepare(cell, index, &order).await?))
                }
            });
            for (index, endpoint) in try_join_all(prepared.collect::<Vec<_>>()).await? {
                endpoints[index] = endpoint;
            }
        }
        Ok(())
    }

    /// The step's order with its addresses filled in.
    fn order(
        &self,
        step: &Step,
        impairments: &Impairments,
        endpoints: &[Option<SocketAddr>],
    ) -> Order {
        let mut order = step.order.clone();
        if let Some(address) = self.address(&step.host, impairments) {
            order.activity.listen_on(address);
        }
        if let Some(peer) = step.peer.and_then(|peer| endpoints.get(peer).copied().flatten()) {
            order.activity.connect_to(peer);
        }
        order
    }

    pub(super) fn address(&self, host: &HostName, impairments: &Impairments) -> Option<IpAddr> {
        match &self.ground {
            Ground::Testbed(testbed) => testbed.address(host, impairments),
            Ground::Hosts(hosts) => hosts.address(host),
        }
    }

    async fn start(&mut self, cell: u64, script: &Script) -> Result<(), ControllerError> {
        let agents = self.taking_part(script)?;
        try_join_all(
            agents.into_iter().map(|(_, mut agent)| async move { agent.start(cell).await }),
        )
        .await?;
        Ok(())
    }

    /// Host after host in the order of their [`CollectionOrder`]: requesting the account of a serving one
    /// stops it.
    async fn collect(
        &mut self,
        cell: u64,
        script: &Script,
    ) -> Result<Vec<StationAccount>, ControllerError> {
        let deadline =
            script.steps.iter().map(|step| step.order.deadline).max().unwrap_or(Span::ZERO);
        let agents = self.taking_part(script)?;
        let mut accounts = Vec::with_capacity(agents.len());
        for turn in [CollectionOrder::Ends, CollectionOrder::IsStopped, CollectionOrder::Serves] {
            let wave = agents
                .iter()
                .filter(|(host, _)| CollectionOrder::of(script, host) == turn)
                .cloned();
            let collected = wave.map(|(host, mut agent)| {
                let finishing = finishing(script, &host);
                async move { agent.collect(host, cell, finishing, deadline).await }
            });
            accounts.extend(try_join_all(collected.collect::<Vec<_>>()).await?);
        }
        Ok(accounts)
    }

    /// The agents of the hosts that have a step, in the stage's order; an error where there is no
    /// such host.
    fn taking_part(&self, script: &Script) -> Result<Vec<(HostName, AgentLink)>, ControllerError> {
        if let Some(step) =
            script.steps.iter().find(|step| self.agents().all(|(host, _)| *host != step.host))
        {
            return Err(missing(&step.host));
        }
        let involved =
            self.agents().filter(|(host, _)| script.steps.iter().any(|step| step.host == **host));
        Ok(involved.map(|(host, agent)| (host.clone(), agent.clone())).collect())
    }

    /// Kills all running workers.
    pub(super) async fn abandon(&mut self) -> Result<(), ControllerError> {
        let agents: Vec<AgentLink> = self.agents().map(|(_, agent)| agent.clone()).collect();
        try_join_all(agents.into_iter().map(|mut agent| async move { agent.abandon().await }))
            .await?;
        Ok(())
    }

    fn agent(&self, host: &HostName) -> Result<AgentLink, ControllerError> {
        let found = self.agents().find(|(name, _)| *name == host).map(|(_, agent)| agent.clone());
        found.ok_or_else(|| missing(host))
    }

    /// All agents, in the order in which the hosts were named.
    fn agents(&self) -> Box<dyn Iterator<Item = (&HostName, &AgentLink)> + '_> {
        match &self.ground {
            Ground::Testbed(testbed) => {
                Box::new(testbed.agents.iter().map(|(host, agent)| (host, agent)))
            }
            Ground::Hosts(hosts) => {
                let here = hosts.here.iter().map(|(host, link)| (host, link));
                let reached = hosts.reached.iter();
                Box::new(here.chain(reached.map(|(host, remote_host)| (host, &remote_host.link))))
            }
        }
    }
}

/// Functions for hosts only.
impl Stage {
    /// Whether it is on real hosts, on which activities can wait for each other in vain.
    pub(super) fn is_on_hosts(&self) -> bool {
        matches!(self.ground, Ground::Hosts(_))
    }

    /// Whether a lost host is called again.
    pub(super) fn calls_again(&self) -> bool {
        matches!(&self.ground, Ground::Hosts(hosts) if hosts.timeout > Duration::ZERO)
    }

    /// Whether no other machine takes part, so that none is reserved.
    pub(super) fn is_here_alone(&self) -> bool {
        matches!(&self.ground, Ground::Hosts(hosts) if hosts.reached.is_empty())
    }

    /// Adds this machine, with the agent of its own behind `socket`.
    pub(super) async fn add_here(
        &mut self,
        host: HostName,
        socket: &Path,
    ) -> Result<(), ControllerError> {
        let link = AgentLink::connect(host.clone(), socket).await?;
        if let Some(hosts) = self.hosts() {
            hosts.here = Some((host, link));
        }
        Ok(())
    }

    /// Goes on without a host that was not found again; whether that is possible.
    pub(super) fn give_up(&mut self, host: &str) -> bool {
        self.hosts().is_some_and(|hosts| hosts.give_up(host))
    }

    /// The hosts that were given up.
    pub(super) fn lost(&self) -> &[HostName] {
        match &self.ground {
            Ground::Testbed(_) => &[],
            Ground::Hosts(hosts) => &hosts.lost,
        }
    }

    fn hosts(&mut self) -> Option<&mut Hosts> {
        match &mut self.ground {
            Ground::Testbed(_) => None,
            Ground::Hosts(hosts) => Some(hosts),
        }
    }

    /// The hosts' clock offsets; `None` on the testbed, where stations share one clock.
    pub(super) fn clocks(&self) -> BTreeMap<HostName, HostClock> {
        match &self.ground {
            Ground::Testbed(_) => BTreeMap::new(),
            Ground::Hosts(hosts) => hosts.clocks(),
        }
    }

    /// Why hosts cannot impair packets, if so.
    pub(super) async fn try_impairments(
        &mut self,
        wanted: &Impairments,
        seed: u64,
    ) -> Result<Vec<String>, ControllerError> {
        match self.hosts() {
            Some(hosts) => hosts.try_impairments(wanted, seed).await,
            None => Ok(Vec::new()),
        }
    }

    /// The first host does not reach the second.
    pub(super) fn unreachable(&self, way: [&HostName; 2], message: String) -> ControllerError {
        match &self.ground {
            Ground::Testbed(_) => ControllerError::Network(message),
            Ground::Hosts(hosts) => hosts.unreachable(way, message),
        }
    }

    /// Sends the expected rest of the run to the hosts.
    pub(super) fn expect(&self, left: Duration) {
        if let Ground::Hosts(hosts) = &self.ground {
            hosts.expect(left);
        }
    }

    /// Reserves the hosts for this run.
    pub(super) async fn reserve(&mut self, run: &str) -> Result<(), ControllerError> {
        match self.hosts() {
            Some(hosts) => hosts.reserve(run).await,
            None => Ok(()),
        }
    }

    /// Reaches the lost hosts, adds those that are back to `found`, and ends the remains of the
    /// cell. `found` has the hosts that are back even if a host is lost again before the end.
    pub(super) async fn find(
        &mut self,
        found: &mut Vec<Reconnected>,
    ) -> Result<(), ControllerError> {
        let Some(hosts) = self.hosts() else { return Ok(()) };
        found.extend(hosts.find().await?);
        hosts.settle().await?;
        self.abandon().await
    }

    /// The environments of the hosts, in the order of the machines: those at the gathering, or
    /// current ones.
    pub(super) async fn describe(
        &mut self,
        now: bool,
    ) -> Result<Vec<(HostName, String, DescribeReply)>, ControllerError> {
        let Some(hosts) = self.hosts() else { return Ok(Vec::new()) };
        let describing = hosts.reached.iter_mut().map(|(host, remote_host)| async move {
            let described = match remote_host.described.clone().filter(|_| !now) {
                Some(described) => described,
                None => remote_host.describe().await?,
            };
            Ok::<_, ControllerError>((host.clone(), remote_host.name.clone(), described))
        });
        try_join_all(describing).await
    }

    /// Releases the hosts.
    pub(super) async fn release(&mut self) {
        if let Some(hosts) = self.hosts() {
            hosts.release().await;
        }
    }
}

pub(super) fn unread(source: std::io::Error) -> ControllerError {
    ControllerError::System { operation: "reading /proc/stat and the clocks", source }
}

pub(super) fn missing(host: &HostName) -> ControllerError {
    ControllerError::Network(format!("it has no station {host}"))
}

/// The order in which hosts are asked for their accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CollectionOrder {
    /// First: all its steps end by themselves.
    Ends,
    /// Then: it has loads, which get a `stop` when its other steps have ended, and which other
    /// hosts may serve.
    IsStopped,
    /// Last: it serves the load of another host.
    Serves,
}

impl CollectionOrder {
    fn of(script: &Script, host: &HostName) -> Self {
        let own = script
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.host == *host && step.role == Role::Support);
        let is_called = |index: usize| script.steps.iter().any(|step| step.peer == Some(index));
        match own.map(|(index, _)| is_called(index)).max() {
            None => Self::Ends,
            Some(false) => Self::IsStopped,
            Some(true) => Self::Serves,
        }
    }
}

/// The steps of a host that end by themselves.
fn finishing(script: &Script, host: &HostName) -> Vec<u32> {
    let steps = script.steps.iter().enumerate();
    let own = steps.filter(|(_, step)| step.host == *host && step.role != Role::Support);
    own.map(|(index, _)| index as u32).collect()
}
