//! What a stage stands on: the raised testbed, or hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use btu_suite::network::{Impairment, Machine, Machines, Station};
use btu_suite::record::{HostClock, MachineCpu, WireAccount};
use btu_testbed::house::StationPlace;
use btu_testbed::wire::WireClient;
use futures_util::future::try_join_all;

use super::super::client::{AgentLink, StationAccount};
use super::super::error::CoordinatorError;
use super::super::hosts::{Guest, Purpose, Return};
use crate::environment;

/// The raised testbed.
pub(super) struct House {
    pub(super) agents: BTreeMap<Station, AgentLink>,
    pub(super) places: BTreeMap<Station, StationPlace>,
    pub(super) wire: WireClient,
    impairment: Option<Impairment>,
}

/// Real hosts.
pub(super) struct Hosts {
    pub(super) machines: Machines,
    pub(super) guests: BTreeMap<Station, Guest>,
    pub(super) purpose: Purpose,
    pub(super) patience: Duration,
    /// What the black boxes do; nothing when nobody knows.
    impairment: Option<Impairment>,
}

impl House {
    pub(super) fn new(
        agents: BTreeMap<Station, AgentLink>,
        places: BTreeMap<Station, StationPlace>,
        wire: WireClient,
    ) -> Self {
        Self { agents, places, wire, impairment: None }
    }

    pub(super) fn impair(&mut self, wanted: Impairment) -> Result<(), CoordinatorError> {
        if self.impairment != Some(wanted) {
            let black_boxes: Vec<_> = self.places.keys().filter(|station| station.is_black_box()).collect();
            let settings: Vec<_> = black_boxes.into_iter().map(|&station| (station, wanted)).collect();
            self.wire.set(&settings)?;
            self.impairment = Some(wanted);
        }
        Ok(())
    }

    /// Packets to a black box's impaired address meet its delay and loss.
    pub(super) fn address(&self, station: Station, impairment: Impairment) -> Option<IpAddr> {
        let place = self.places.get(&station)?;
        Some(if impairment.is_none() { place.plain } else { place.impaired })
    }
}

/// The whole machine's CPU time so far.
pub(super) fn machine_cpu() -> Result<MachineCpu, CoordinatorError> {
    environment::machine_cpu().map_err(|source| CoordinatorError::System { operation: "reading /proc/stat", source })
}

impl Hosts {
    pub(super) fn new(machines: Machines, guests: Vec<(Station, Guest)>, purpose: Purpose, patience: Duration) -> Self {
        let guests = guests.into_iter().collect();
        Self { machines, guests, purpose, patience, impairment: Some(Impairment::NONE) }
    }

    fn machine(&self, station: Station) -> Result<&Machine, CoordinatorError> {
        self.machines.of(station).ok_or_else(|| super::missing(station))
    }

    pub(super) fn address(&self, station: Station) -> Option<IpAddr> {
        self.machines.of(station).map(|machine| machine.measured)
    }

    /// Has both black boxes treat what comes in at their measured addresses; says nothing to them while nothing changes.
    pub(super) async fn impair(&mut self, wanted: Impairment, seed: u64) -> Result<(), CoordinatorError> {
        if self.impairment == Some(wanted) {
            return Ok(());
        }
        // If it fails halfway, nobody knows.
        self.impairment = None;
        for station in Station::ALL.into_iter().filter(|station| station.is_black_box()) {
            let address = self.machine(station)?.measured;
            let guest = self.guests.get_mut(&station).ok_or_else(|| super::missing(station))?;
            guest.link.impair(address, wanted, seed.wrapping_add(station as u64)).await?;
        }
        self.impairment = Some(wanted);
        Ok(())
    }

    /// Why the black boxes cannot impair, a sentence for those that cannot for the same reason.
    pub(super) async fn try_impairment(
        &mut self,
        wanted: Impairment,
        seed: u64,
    ) -> Result<Vec<String>, CoordinatorError> {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for station in Station::ALL.into_iter().filter(|station| station.is_black_box()) {
            let address = self.machine(station)?.measured;
            let guest = self.guests.get_mut(&station).ok_or_else(|| super::missing(station))?;
            match guest.link.impair(address, wanted, seed).await {
                Ok(_) => drop(guest.link.impair(address, Impairment::NONE, seed).await?),
                Err(CoordinatorError::Impair { message, .. }) => {
                    match reasons.iter_mut().find(|(why, _)| *why == message) {
                        Some((_, names)) => names.push(guest.name.clone()),
                        None => reasons.push((message, vec![guest.name.clone()])),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(reasons.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect())
    }

    pub(super) fn clocks(&self) -> BTreeMap<Station, HostClock> {
        self.guests.iter().filter_map(|(station, guest)| Some((*station, guest.clock()?))).collect()
    }

    fn name(&self, station: Station) -> String {
        self.machines.of(station).map_or_else(|| station.to_string(), |host| host.name.clone())
    }

    pub(super) fn unreachable(&self, to: Station, message: String) -> CoordinatorError {
        let address = self.address(to).map_or_else(String::new, |address| address.to_string());
        CoordinatorError::Unreachable { from: self.name(Station::Test), to: self.name(to), address, message }
    }

    /// The time left, for those who ask a host meanwhile.
    pub(super) fn expect(&self, left: Duration) {
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        self.purpose.left_ms.store(left_ms, Ordering::Relaxed);
    }

    /// Reserves all hosts for this run, after what they were reserved for before.
    pub(super) async fn reserve(&mut self, run: &str) -> Result<(), CoordinatorError> {
        run.clone_into(&mut self.purpose.run);
        let purpose = &self.purpose;
        let reserving = self.guests.values_mut().map(|guest| async move {
            guest.release().await;
            guest.reserve(purpose).await
        });
        try_join_all(reserving).await.map(drop)
    }

    /// An error where a reservation has ended.
    pub(super) async fn still_ours(&mut self) -> Result<(), CoordinatorError> {
        try_join_all(self.guests.values_mut().map(|guest| guest.link.renew(self.purpose.left()))).await.map(drop)
    }

    /// Finds the hosts that were lost; who was not, is not told of.
    pub(super) async fn find(&mut self) -> Result<Vec<Return>, CoordinatorError> {
        let (since, patience, purpose) = (Instant::now(), self.patience, &self.purpose);
        let finding = self.guests.values_mut().map(|guest| guest.find(purpose, since, patience));
        let found = try_join_all(finding).await?;
        // Where a reservation has ended, so has the impairment: everybody is told again.
        self.impairment = None;
        Ok(found.into_iter().flatten().collect())
    }

    /// After a loss nobody knows what the black boxes do; those that cannot impair do nothing for sure.
    pub(super) async fn settle(&mut self) -> Result<(), CoordinatorError> {
        match self.impair(Impairment::NONE, 0).await {
            Err(CoordinatorError::Impair { .. }) => {
                self.impairment = Some(Impairment::NONE);
                Ok(())
            }
            other => other,
        }
    }

    /// The test host's processors over a cell, and no wire.
    pub(super) fn surroundings(
        &self,
        accounts: &[StationAccount],
    ) -> Result<(MachineCpu, WireAccount), CoordinatorError> {
        let Some(test) = accounts.iter().find(|account| account.cpu.station == Station::Test) else {
            return Ok((MachineCpu::default(), WireAccount::default()));
        };
        let machine = test.machine.ok_or_else(|| CoordinatorError::Agent {
            who: format!("host {}", self.name(Station::Test)),
            operation: "accounting for its processors",
            message: "its agent could not read /proc/stat; its log says why".to_owned(),
        })?;
        Ok((machine, WireAccount::default()))
    }

    pub(super) async fn release(&mut self) {
        futures_util::future::join_all(self.guests.values_mut().map(Guest::release)).await;
    }
}
