//! The raised testbed with its agents: plays one script at a time.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use btu_suite::network::{Impairment, Station};
use btu_suite::record::{Failure, MachineCpu, PlacedReport, Report, StationCpu, WireAccount};
use btu_suite::script::{Role, Script, Step};
use btu_testbed::house::StationPlace;
use btu_testbed::wire::WireClient;
use btu_units::Bytes;
use futures_util::future::try_join_all;

use super::client::{AgentLink, StationAccount};
use super::error::CoordinatorError;
use crate::environment;

/// Where activities are played.
pub(super) struct Stage {
    agents: BTreeMap<Station, AgentLink>,
    places: BTreeMap<Station, StationPlace>,
    wire: WireClient,
    impairment: Option<Impairment>,
    next_cell: u64,
}

/// What was seen of one script.
pub(super) struct Scene {
    /// One account per step, in the script's order.
    pub(super) reports: Vec<PlacedReport>,
    pub(super) stations: Vec<StationCpu>,
    pub(super) machine: MachineCpu,
    pub(super) wire: WireAccount,
    pub(super) start_skew_ns: u64,
    pub(super) overhead_ns: u64,
}

impl Stage {
    /// Connects to every station's agent and to the wire.
    pub(super) async fn open(places: &[StationPlace], wire_socket: &Path) -> Result<Self, CoordinatorError> {
        let links = try_join_all(places.iter().map(|place| AgentLink::connect(place.station, &place.agent_socket)));
        let agents = links.await?.into_iter().map(|link| (link.station, link)).collect();
        let places = places.iter().map(|place| (place.station, place.clone())).collect();
        let wire = WireClient::connect(wire_socket)?;
        Ok(Self { agents, places, wire, impairment: None, next_cell: 0 })
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
        self.impair(script.impairment)?;
        if let Err(error) = self.prepare(cell, script).await {
            self.abandon().await?;
            return Err(error);
        }
        self.wire.reset()?;
        let machine_before = machine_cpu()?;
        self.start(cell, script).await?;
        let accounts = self.collect(cell, script).await?;
        let machine = environment::delta(&machine_before, &machine_cpu()?);
        let wire = self.wire.account()?;
        Ok(scene(script, accounts, machine, wire, began))
    }

    fn impair(&mut self, wanted: Impairment) -> Result<(), CoordinatorError> {
        if self.impairment != Some(wanted) {
            let black_boxes: Vec<_> = self.places.keys().filter(|station| station.is_black_box()).collect();
            let settings: Vec<_> = black_boxes.into_iter().map(|&station| (station, wanted)).collect();
            self.wire.set(&settings)?;
            self.impairment = Some(wanted);
        }
        Ok(())
    }

    /// Listeners first, in the script's order, so that those who connect know where to.
    async fn prepare(&mut self, cell: u64, script: &Script) -> Result<(), CoordinatorError> {
        let mut endpoints: Vec<Option<SocketAddr>> = vec![None; script.steps.len()];
        for connecting in [false, true] {
            let wave = script.steps.iter().enumerate().filter(|(_, step)| step.peer.is_some() == connecting);
            let prepared = wave.map(|(index, step)| {
                let order = self.order(step, script.impairment, &endpoints);
                let agent = self.agents.get(&step.station).cloned();
                async move {
                    let mut agent = agent.ok_or_else(|| missing(step.station))?;
                    Ok::<_, CoordinatorError>((index, agent.prepare(cell, index, &order).await?))
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

    /// Packets to a black box's impaired address meet its delay and loss.
    fn address(&self, station: Station, impairment: Impairment) -> Option<IpAddr> {
        let place = self.places.get(&station)?;
        Some(if impairment.is_none() { place.plain } else { place.impaired })
    }

    async fn start(&mut self, cell: u64, script: &Script) -> Result<(), CoordinatorError> {
        let agents = self.taking_part(script);
        try_join_all(agents.into_iter().map(|mut agent| async move { agent.start(cell).await })).await?;
        Ok(())
    }

    /// Black boxes that only serve are asked after the others, since serving ends when those have finished.
    async fn collect(&mut self, cell: u64, script: &Script) -> Result<Vec<StationAccount>, CoordinatorError> {
        let (first, last): (Vec<_>, Vec<_>) = self.taking_part(script).into_iter().partition(|agent| {
            !script.steps.iter().any(|step| step.station == agent.station && step.role == Role::Support)
        });
        let mut accounts = Vec::with_capacity(first.len() + last.len());
        for wave in [first, last] {
            let collected = wave.into_iter().map(|mut agent| {
                let finishing = finishing(script, agent.station);
                async move { agent.collect(cell, finishing).await }
            });
            accounts.extend(try_join_all(collected.collect::<Vec<_>>()).await?);
        }
        Ok(accounts)
    }

    fn taking_part(&self, script: &Script) -> Vec<AgentLink> {
        let involved = |station: &Station| script.steps.iter().any(|step| step.station == *station);
        self.agents.iter().filter(|(station, _)| involved(station)).map(|(_, agent)| agent.clone()).collect()
    }

    async fn abandon(&mut self) -> Result<(), CoordinatorError> {
        let agents = self.agents.values().cloned();
        try_join_all(agents.map(|mut agent| async move { agent.abandon().await })).await?;
        Ok(())
    }

    fn agent(&mut self, station: Station) -> Result<&mut AgentLink, CoordinatorError> {
        self.agents.get_mut(&station).ok_or_else(|| missing(station))
    }
}

fn missing(station: Station) -> CoordinatorError {
    CoordinatorError::Network(format!("it has no station {station}"))
}

fn machine_cpu() -> Result<MachineCpu, CoordinatorError> {
    environment::machine_cpu().map_err(|source| CoordinatorError::System { operation: "reading /proc/stat", source })
}

/// The steps of a station that end by themselves.
fn finishing(script: &Script, station: Station) -> Vec<u32> {
    let steps = script.steps.iter().enumerate();
    let own = steps.filter(|(_, step)| step.station == station && step.role != Role::Support);
    own.map(|(index, _)| index as u32).collect()
}

fn scene(
    script: &Script,
    accounts: Vec<StationAccount>,
    machine: MachineCpu,
    wire: WireAccount,
    began: Instant,
) -> Scene {
    let stations = accounts.iter().map(|account| account.cpu).collect();
    let mut results: BTreeMap<usize, Result<Report, Failure>> =
        accounts.into_iter().flat_map(|account| account.results).collect();
    let reports: Vec<PlacedReport> = script
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| PlacedReport {
            station: step.station,
            activity: step.order.activity.kind().to_owned(),
            result: results
                .remove(&index)
                .unwrap_or_else(|| Err(Failure::Died { status: "its agent has no account of it".to_owned() })),
        })
        .collect();
    let (start_skew_ns, performed_ns) = times(script, &reports);
    let overhead_ns = (began.elapsed().as_nanos() as u64).saturating_sub(performed_ns);
    Scene { reports, stations, machine, wire, start_skew_ns, overhead_ns }
}

/// Between the first and the last start, and between the first start and the last finish, in ns, over the activities
/// that count (all stations of a local testbed share one monotonic clock).
fn times(script: &Script, reports: &[PlacedReport]) -> (u64, u64) {
    let counted = script.steps.iter().zip(reports).filter(|(step, _)| step.role != Role::Support);
    let accounts: Vec<&Report> = counted.filter_map(|(_, placed)| placed.result.as_ref().ok()).collect();
    let first = accounts.iter().map(|report| report.started).min().unwrap_or_default();
    let last_start = accounts.iter().map(|report| report.started).max().unwrap_or_default();
    let last = accounts.iter().map(|report| report.finished).max().unwrap_or_default();
    (last_start.since(first).nanoseconds(), last.since(first).nanoseconds())
}
