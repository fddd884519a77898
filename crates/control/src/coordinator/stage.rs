//! Where scripts are played: the raised testbed or real hosts, through their agents, one script at a time.

mod ground;
mod scene;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use btu_suite::network::{Impairment, Machines, Station};
use btu_suite::record::HostClock;
use btu_suite::script::{Role, Script, Step};
use btu_testbed::house::StationPlace;
use btu_testbed::wire::WireClient;
use btu_units::{Bytes, Span};
use futures_util::future::try_join_all;

use super::client::{AgentLink, StationAccount};
use super::error::CoordinatorError;
use super::hosts::{Guest, Purpose, Return};
use crate::environment;
use crate::protocol::DescribeReply;
use ground::{Hosts, House, machine_cpu};
use scene::Surroundings;

pub(super) use scene::Scene;

/// Where activities are played.
pub(super) struct Stage {
    ground: Ground,
    next_cell: u64,
}

/// What it stands on.
enum Ground {
    House(House),
    Hosts(Hosts),
}

impl Stage {
    /// Connects to every station's agent and to the wire.
    pub(super) async fn open(places: &[StationPlace], wire_socket: &Path) -> Result<Self, CoordinatorError> {
        let links = places.iter().map(|place| async {
            Ok::<_, CoordinatorError>((place.station, AgentLink::connect(place.station, &place.agent_socket).await?))
        });
        let agents = try_join_all(links).await?.into_iter().collect();
        let places = places.iter().map(|place| (place.station, place.clone())).collect();
        let house = House::new(agents, places, WireClient::connect(wire_socket)?);
        Ok(Self { ground: Ground::House(house), next_cell: 0 })
    }

    /// A stage on hosts that were reached and reserved.
    pub(super) fn on_hosts(
        machines: Machines,
        guests: Vec<(Station, Guest)>,
        purpose: Purpose,
        patience: Duration,
    ) -> Self {
        let hosts = Hosts::new(machines, guests, purpose, patience);
        Self { ground: Ground::Hosts(hosts), next_cell: 0 }
    }

    /// Has the test station keep a source file for the disk activity.
    pub(super) async fn furnish(
        &mut self,
        directory: &Path,
        file: Bytes,
        seed: u64,
    ) -> Result<PathBuf, CoordinatorError> {
        self.agent(Station::Test)?.furnish(directory, file, seed).await
    }

    /// Plays `script`: prepare, start together, collect. An activity that fails is part of what was seen; an error
    /// means that the stage itself is broken, or that an activity could not even be prepared.
    pub(super) async fn play(&mut self, script: &Script) -> Result<Scene, CoordinatorError> {
        let began = Instant::now();
        self.next_cell += 1;
        let cell = self.next_cell;
        self.impair(script).await?;
        if let Err(error) = self.prepare(cell, script).await {
            // Of hosts that were lost, nobody can be told.
            self.abandon().await.or_else(|second| if error.is_lost() { Ok(()) } else { Err(second) })?;
            return Err(error);
        }
        if let Ground::House(house) = &mut self.ground {
            house.wire.reset()?;
        }
        let machine_before = machine_cpu()?;
        self.start(cell, script).await?;
        let accounts = self.collect(cell, script).await?;
        if let Ground::Hosts(hosts) = &mut self.ground
            && accounts.iter().flat_map(|account| &account.results).any(|(_, result)| result.is_err())
        {
            // An agent that has lost us ends its workers: that is no fault of the cell.
            hosts.still_ours().await?;
        }
        let (machine, wire) = match &mut self.ground {
            Ground::House(house) => (environment::delta(&machine_before, &machine_cpu()?), house.wire.account()?),
            Ground::Hosts(hosts) => hosts.surroundings(&accounts)?,
        };
        Ok(Scene::of(script, accounts, Surroundings { machine, wire, clocks: self.clocks(), began }))
    }

    async fn impair(&mut self, script: &Script) -> Result<(), CoordinatorError> {
        let seed = script.steps.first().map_or(0, |step| step.order.seed);
        match &mut self.ground {
            Ground::House(house) => house.impair(script.impairment),
            Ground::Hosts(hosts) => hosts.impair(script.impairment, seed).await,
        }
    }

    /// Listeners first, in the script's order, so that those who connect know where to.
    async fn prepare(&mut self, cell: u64, script: &Script) -> Result<(), CoordinatorError> {
        let mut endpoints: Vec<Option<SocketAddr>> = vec![None; script.steps.len()];
        for connecting in [false, true] {
            let wave = script.steps.iter().enumerate().filter(|(_, step)| step.peer.is_some() == connecting);
            let prepared = wave.map(|(index, step)| {
                let order = self.order(step, script.impairment, &endpoints);
                let agent = self.agent(step.station);
                async move { Ok::<_, CoordinatorError>((index, agent?.prepare(cell, index, &order).await?)) }
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
        impairment: Impairment,
        endpoints: &[Option<SocketAddr>],
    ) -> btu_suite::activity::Order {
        let mut order = step.order.clone();
        if let Some(address) = self.address(step.station, impairment) {
            order.activity.listen_on(address);
        }
        if let Some(peer) = step.peer.and_then(|peer| endpoints.get(peer).copied().flatten()) {
            order.activity.connect_to(peer);
        }
        order
    }

    fn address(&self, station: Station, impairment: Impairment) -> Option<IpAddr> {
        match &self.ground {
            Ground::House(house) => house.address(station, impairment),
            Ground::Hosts(hosts) => hosts.address(station),
        }
    }

    async fn start(&mut self, cell: u64, script: &Script) -> Result<(), CoordinatorError> {
        let agents = self.taking_part(script)?;
        try_join_all(agents.into_iter().map(|(_, mut agent)| async move { agent.start(cell).await })).await?;
        Ok(())
    }

    /// Black boxes that only serve are asked after the others, since serving ends when those have finished.
    async fn collect(&mut self, cell: u64, script: &Script) -> Result<Vec<StationAccount>, CoordinatorError> {
        let deadline = script.steps.iter().map(|step| step.order.deadline).max().unwrap_or(Span::ZERO);
        let (first, last): (Vec<_>, Vec<_>) = self.taking_part(script)?.into_iter().partition(|(station, _)| {
            !script.steps.iter().any(|step| step.station == *station && step.role == Role::Support)
        });
        let mut accounts = Vec::with_capacity(first.len() + last.len());
        for wave in [first, last] {
            let collected = wave.into_iter().map(|(station, mut agent)| {
                let finishing = finishing(script, station);
                async move { agent.collect(station, cell, finishing, deadline).await }
            });
            accounts.extend(try_join_all(collected.collect::<Vec<_>>()).await?);
        }
        Ok(accounts)
    }

    fn taking_part(&self, script: &Script) -> Result<Vec<(Station, AgentLink)>, CoordinatorError> {
        let involved = |station: &Station| script.steps.iter().any(|step| step.station == *station);
        let stations = Station::ALL.into_iter().filter(involved);
        stations.map(|station| Ok((station, self.agent(station)?))).collect()
    }

    /// Kills whatever still runs.
    pub(super) async fn abandon(&mut self) -> Result<(), CoordinatorError> {
        let agents = Station::ALL.into_iter().filter_map(|station| self.agent(station).ok());
        try_join_all(agents.map(|mut agent| async move { agent.abandon().await })).await?;
        Ok(())
    }

    fn agent(&self, station: Station) -> Result<AgentLink, CoordinatorError> {
        let found = match &self.ground {
            Ground::House(house) => house.agents.get(&station),
            Ground::Hosts(hosts) => hosts.guests.get(&station).map(|guest| &guest.link),
        };
        found.cloned().ok_or_else(|| missing(station))
    }
}

/// What only hosts can be asked.
impl Stage {
    /// Whether what is lost may be found again.
    pub(super) fn is_on_hosts(&self) -> bool {
        matches!(self.ground, Ground::Hosts(_))
    }

    fn hosts(&mut self) -> Option<&mut Hosts> {
        match &mut self.ground {
            Ground::House(_) => None,
            Ground::Hosts(hosts) => Some(hosts),
        }
    }

    /// Where the hosts' clocks stand; nothing on the testbed, whose stations share one.
    pub(super) fn clocks(&self) -> BTreeMap<Station, HostClock> {
        match &self.ground {
            Ground::House(_) => BTreeMap::new(),
            Ground::Hosts(hosts) => hosts.clocks(),
        }
    }

    /// Why the black boxes cannot impair packets, if so.
    pub(super) async fn try_impairment(
        &mut self,
        wanted: Impairment,
        seed: u64,
    ) -> Result<Vec<String>, CoordinatorError> {
        match self.hosts() {
            Some(hosts) => hosts.try_impairment(wanted, seed).await,
            None => Ok(Vec::new()),
        }
    }

    /// The test host does not reach this one.
    pub(super) fn unreachable(&self, to: Station, message: String) -> CoordinatorError {
        match &self.ground {
            Ground::House(_) => CoordinatorError::Network(message),
            Ground::Hosts(hosts) => hosts.unreachable(to, message),
        }
    }

    /// Tells hosts how long the run is expected to take from now on.
    pub(super) fn expect(&self, left: Duration) {
        if let Ground::Hosts(hosts) = &self.ground {
            hosts.expect(left);
        }
    }

    /// Reserves the hosts for this run.
    pub(super) async fn reserve(&mut self, run: &str) -> Result<(), CoordinatorError> {
        match self.hosts() {
            Some(hosts) => hosts.reserve(run).await,
            None => Ok(()),
        }
    }

    /// Finds the hosts that were lost, adds to `found` who had been away, and ends what was left of the cell. Who was found is
    /// there even when somebody is lost again before the end.
    pub(super) async fn find(&mut self, found: &mut Vec<Return>) -> Result<(), CoordinatorError> {
        let Some(hosts) = self.hosts() else { return Ok(()) };
        found.extend(hosts.find().await?);
        hosts.settle().await?;
        self.abandon().await
    }

    /// What the hosts are like, in the order of their roles: as they were when they were gathered, or now.
    pub(super) async fn describe(
        &mut self,
        now: bool,
    ) -> Result<Vec<(Station, String, DescribeReply)>, CoordinatorError> {
        let Some(hosts) = self.hosts() else { return Ok(Vec::new()) };
        let describing = hosts.guests.iter_mut().map(|(station, guest)| async move {
            let described = match guest.described.clone().filter(|_| !now) {
                Some(described) => described,
                None => guest.describe().await?,
            };
            Ok::<_, CoordinatorError>((*station, guest.name.clone(), described))
        });
        try_join_all(describing).await
    }

    /// Gives the hosts back.
    pub(super) async fn release(&mut self) {
        if let Some(hosts) = self.hosts() {
            hosts.release().await;
        }
    }
}

fn missing(station: Station) -> CoordinatorError {
    CoordinatorError::Network(format!("it has no station {station}"))
}

/// The steps of a station that end by themselves.
fn finishing(script: &Script, station: Station) -> Vec<u32> {
    let steps = script.steps.iter().enumerate();
    let own = steps.filter(|(_, step)| step.station == station && step.role != Role::Support);
    own.map(|(index, _)| index as u32).collect()
}
