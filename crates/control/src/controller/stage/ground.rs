//! The hosts of a stage: a raised testbed, or real hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use btu_contract::network::{HostName, HostRole, Impairment, Impairments, Machine, Machines};
use btu_contract::record::{HostClock, MachineCpu, WireAccount};
use btu_testbed::testbed::StationPlace;
use btu_testbed::wire::WireClient;
use futures_util::future::try_join_all;

use super::super::client::{AgentLink, StationAccount};
use super::super::error::ControllerError;
use super::super::hosts::{Purpose, Reconnected, RemoteHost};
use super::super::programs::{Crew, Site};

/// The timeout for the rest of a cell on the network to drain; no usual queue holds more.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);

/// A study of many hosts goes on with so many.
const FEWEST: usize = 3;

/// The interval of checks for that.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The raised testbed and its agents.
pub(super) struct Testbed {
    pub(super) agents: Vec<(HostName, AgentLink)>,
    /// By their names in scripts.
    places: BTreeMap<HostName, StationPlace>,
    /// `None` for a bare network.
    pub(super) wire: Option<WireClient>,
    /// The supervisor of users' programs.
    pub(super) crew: Crew,
    impairments: Option<Impairments>,
}

/// The study measures on real hosts.
pub(super) struct Hosts {
    pub(super) machines: Machines,
    /// This machine, if it takes part with an agent that no other controller can reach.
    pub(super) here: Option<(HostName, AgentLink)>,
    /// In the order of the machines.
    pub(super) reached: Vec<(HostName, RemoteHost)>,
    /// Those that were lost, and that the study goes on without.
    pub(super) lost: Vec<HostName>,
    pub(super) purpose: Purpose,
    pub(super) timeout: Duration,
    /// The impairments of incoming packets; `None` if they are not known.
    impairments: Option<Impairments>,
}

impl Testbed {
    pub(super) fn new(
        agents: Vec<(HostName, AgentLink)>,
        places: BTreeMap<HostName, StationPlace>,
        wire: Option<WireClient>,
        site: Site,
    ) -> Self {
        let stations =
            places.iter().map(|(host, place)| (host.clone(), place.station.clone())).collect();
        Self { agents, places, wire, crew: Crew::new(site, stations), impairments: None }
    }

    /// Waits until no element of the emulator holds a frame.
    pub(super) async fn settle(&mut self) -> Result<(), ControllerError> {
        let Some(wire) = &mut self.wire else { return Ok(()) };
        let end = Instant::now() + SETTLED_WITHIN;
        while Instant::now() < end && wire.account()?.held() > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Sends nothing to the wire if nothing changes.
    pub(super) fn impair(&mut self, wanted: &Impairments) -> Result<(), ControllerError> {
        if self.impairments.as_ref() == Some(wanted) {
            return Ok(());
        }
        // A host that is not named has no impairment from now on.
        let able = self.places.iter().filter(|(_, place)| place.impaired.is_some());
        let setting = |host| wanted.get(host).copied().unwrap_or(Impairment::NONE);
        if let Some(wire) = &mut self.wire {
            wire.set(&able.map(|(host, place)| (place.station.clone(), setting(host))).collect())?;
        }
        self.impairments = Some(wanted.clone());
        Ok(())
    }

    /// The emulator's account since it was reset; empty if there is none.
    pub(super) fn account(&mut self) -> Result<WireAccount, ControllerError> {
        Ok(self.wire.as_mut().map(WireClient::account).transpose()?.unwrap_or_default())
    }

    /// Packets to a host's impaired address meet its delay and loss.
    pub(super) fn address(&self, host: &HostName, impairments: &Impairments) -> Option<IpAddr> {
        let place = self.places.get(host)?;
        place.impaired.filter(|_| impairments.contains_key(host)).or(Some(place.plain))
    }
}

/// Only the state of a machine's clocks.
fn clocks_of(machine: &MachineCpu) -> MachineCpu {
    MachineCpu {
        slept_ns: machine.slept_ns,
        stepped_ns: machine.stepped_ns,
        ..MachineCpu::default()
    }
}

impl Hosts {
    pub(super) fn new(
        machines: Machines,
        remote_hosts: Vec<(HostName, RemoteHost)>,
        purpose: Purpose,
        timeout: Duration,
    ) -> Self {
        Self {
            machines,
            here: None,
            reached: remote_hosts,
            lost: Vec::new(),
            purpose,
            timeout,
            impairments: Some(Impairments::new()),
        }
    }

    fn machine(&self, host: &HostName) -> Option<&Machine> {
        self.machines.of(host)
    }

    fn remote_host(&mut self, host: &HostName) -> Result<&mut RemoteHost, ControllerError> {
        let found = self.reached.iter_mut().find(|(name, _)| name == host);
        found.map(|(_, remote_host)| remote_host).ok_or_else(|| super::missing(host))
    }

    pub(super) fn address(&self, host: &HostName) -> Option<IpAddr> {
        self.machine(host).map(|machine| machine.measured)
    }

    /// Sets the peers' impairments at their measured addresses; sends nothing to them if nothing
    /// changes.
    pub(super) async fn impair(
        &mut self,
        wanted: &Impairments,
        seed: u64,
    ) -> Result<(), ControllerError> {
        if self.impairments.as_ref() == Some(wanted) {
            return Ok(());
        }
        // If this fails halfway, the state of the peers is unknown.
        self.impairments = None;
        for role in HostRole::ALL.into_iter().filter(|role| role.is_black_box()) {
            let host = HostName::from(role);
            // A study has hosts of other names, and no impairments.
            let Some(address) = self.address(&host) else { continue };
            let impairment = wanted.get(&host).copied().unwrap_or(Impairment::NONE);
            self.remote_host(&host)?
                .link
                .impair(address, impairment, seed.wrapping_add(role as u64))
                .await?;
        }
        self.impairments = Some(wanted.clone());
        Ok(())
    }

    /// Why hosts cannot impair, a sentence for each common reason.
    pub(super) async fn try_impairments(
        &mut self,
        wanted: &Impairments,
        seed: u64,
    ) -> Result<Vec<String>, ControllerError> {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for (host, impairment) in wanted {
            let address = self.address(host).ok_or_else(|| super::missing(host))?;
            let remote_host = self.remote_host(host)?;
            match remote_host.link.impair(address, *impairment, seed).await {
                Ok(_) => drop(remote_host.link.impair(address, Impairment::NONE, seed).await?),
                Err(ControllerError::Impair { message, .. }) => {
                    match reasons.iter_mut().find(|(why, _)| *why == message) {
                        Some((_, names)) => names.push(remote_host.name.clone()),
                        None => reasons.push((message, vec![remote_host.name.clone()])),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(reasons.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect())
    }

    pub(super) fn clocks(&self) -> BTreeMap<HostName, HostClock> {
        self.reached
            .iter()
            .filter_map(|(host, remote_host)| Some((host.clone(), remote_host.clock()?)))
            .collect()
    }

    fn name(&self, host: &HostName) -> String {
        self.machine(host).map_or_else(|| host.to_string(), |machine| machine.name.clone())
    }

    pub(super) fn unreachable(
        &self,
        [from, to]: [&HostName; 2],
        message: String,
    ) -> ControllerError {
        let address = self.address(to).map_or_else(String::new, |address| address.to_string());
        ControllerError::Unreachable { from: self.name(from), to: self.name(to), address, message }
    }

    /// The remaining time, for other controllers.
    pub(super) fn expect(&self, left: Duration) {
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        self.purpose.left_ms.store(left_ms, Ordering::Relaxed);
    }

    /// Reserves all hosts for this run, in the place of their former reservation.
    pub(super) async fn reserve(&mut self, run: &str) -> Result<(), ControllerError> {
        run.clone_into(&mut self.purpose.run);
        let purpose = &self.purpose;
        let reserving = self.reached.iter_mut().map(|(_, remote_host)| async move {
            remote_host.release().await;
            remote_host.reserve(purpose).await
        });
        try_join_all(reserving).await.map(drop)
    }

    /// An error where a reservation has ended.
    pub(super) async fn still_ours(&mut self) -> Result<(), ControllerError> {
        try_join_all(
            self.reached
                .iter_mut()
                .map(|(_, remote_host)| remote_host.link.renew(self.purpose.left())),
        )
        .await
        .map(drop)
    }

    /// Goes on without a host, if enough are left for a study of many; whether that is so.
    pub(super) fn give_up(&mut self, name: &str) -> bool {
        let place = self.reached.iter().position(|(_, host)| host.name == name);
        let Some(place) = place.filter(|_| self.reached.len() > FEWEST) else { return false };
        self.lost.push(self.reached.remove(place).0);
        true
    }

    /// Reaches the hosts that were lost; the result has no entries for the others.
    pub(super) async fn find(&mut self) -> Result<Vec<Reconnected>, ControllerError> {
        let (since, timeout, purpose) = (Instant::now(), self.timeout, &self.purpose);
        let finding = self
            .reached
            .iter_mut()
            .map(|(_, remote_host)| remote_host.find(purpose, since, timeout));
        let found = try_join_all(finding).await?;
        // If a reservation has ended, its impairment has ended, too: so all peers get theirs again.
        self.impairments = None;
        Ok(found.into_iter().flatten().collect())
    }

    /// After a loss the controller does not know the peers' impairments; but peers that cannot
    /// impair have none.
    pub(super) async fn settle(&mut self) -> Result<(), ControllerError> {
        match self.impair(&Impairments::new(), 0).await {
            Err(ControllerError::Impair { .. }) => {
                self.impairments = Some(Impairments::new());
                Ok(())
            }
            other => other,
        }
    }

    /// The processors over a cell, of the host under test where there is one, else of all hosts
    /// together, with the sleep and the steps of all; and no wire.
    pub(super) fn surroundings(
        &self,
        accounts: &[StationAccount],
    ) -> Result<(MachineCpu, WireAccount), ControllerError> {
        let rated = self.machines.of(&HostRole::Test.into()).is_some();
        let mut machines = MachineCpu::default();
        for account in accounts {
            if rated && account.cpu.station != HostRole::Test {
                machines += account.machine.as_ref().map(clocks_of).unwrap_or_default();
                continue;
            }
            machines += account.machine.ok_or_else(|| ControllerError::Agent {
                who: format!("host {}", self.name(&account.cpu.station)),
                operation: "accounting for its processors",
                message: "its agent could not read /proc/stat and the clocks; its log says why"
                    .to_owned(),
            })?;
        }
        Ok((machines, WireAccount::default()))
    }

    pub(super) async fn release(&mut self) {
        futures_util::future::join_all(
            self.reached.iter_mut().map(|(_, remote_host)| remote_host.release()),
        )
        .await;
    }
}
