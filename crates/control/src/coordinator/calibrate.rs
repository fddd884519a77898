//! Finds the amount of work with which each baseline lasts about the profile's time.

use btu_suite::cell::{Component, Load, Row};
use btu_suite::plan::Plan;
use btu_suite::script::{Amount, Setting, null_script, script};
use btu_suite::work::{Amounts, HostAmount, Volume, amount_for, volume_for, volumes_wanted};
use btu_units::{Bytes, Span};

use super::cell::balance;
use super::error::CoordinatorError;
use super::stage::Stage;
use super::{Observer, Phase};

/// Empty cells played to learn the tool's own cost; their median counts.
const NULL_CELLS: usize = 5;

/// With a fixed volume, host activities last as long as this component and message size takes.
const YARDSTICK: (Component, Bytes) = (Component::Send, Bytes::new(4096));

/// Plays pilots until every activity has its amount.
pub(super) async fn calibrate(
    stage: &mut Stage,
    plan: &Plan,
    base: &Setting,
    observer: &mut dyn Observer,
) -> Result<Amounts, CoordinatorError> {
    let mut pilots = Pilots { stage, plan, base, observer, done: 0, all: 0 };
    let volumes = volumes_wanted(plan);
    let loads: Vec<Load> = plan.loads.iter().copied().filter(|load| *load != Load::Idle).collect();
    pilots.all = 1 + volumes.len() + loads.len();
    let null_cell_ns = pilots.null_cost().await?;
    let volumes = pilots.volumes(&volumes).await?;
    let target = pilots.host_target().await?;
    let mut host = Vec::with_capacity(loads.len());
    for load in loads {
        host.push(HostAmount { load, amount: pilots.host(load, target).await? });
    }
    Ok(Amounts { volumes, host, null_cell_ns })
}

struct Pilots<'a> {
    stage: &'a mut Stage,
    plan: &'a Plan,
    base: &'a Setting,
    observer: &'a mut dyn Observer,
    done: usize,
    all: usize,
}

impl Pilots<'_> {
    async fn null_cost(&mut self) -> Result<u64, CoordinatorError> {
        self.step();
        let mut costs = Vec::with_capacity(NULL_CELLS);
        for _ in 0..NULL_CELLS {
            costs.push(self.stage.play(&null_script(self.plan, self.base)).await?.overhead_ns);
        }
        costs.sort_unstable();
        Ok(costs[NULL_CELLS / 2])
    }

    async fn volumes(
        &mut self,
        wanted: &[(Component, Bytes)],
    ) -> Result<Vec<Volume>, CoordinatorError> {
        let mut volumes = Vec::with_capacity(wanted.len());
        for &(component, message) in wanted {
            self.step();
            let volume = match self.plan.volume {
                Some(volume) => volume,
                None => self.volume(component, message).await?,
            };
            volumes.push(Volume { component, message, volume });
        }
        Ok(volumes)
    }

    async fn volume(
        &mut self,
        component: Component,
        message: Bytes,
    ) -> Result<Bytes, CoordinatorError> {
        let target = self.plan.profile.target;
        let (moved, took) = self.network_pilot(component, message, target).await?;
        Ok(volume_for(component, message, moved, took, target))
    }

    /// The volume that a component moves in about `time`, and the real time.
    async fn network_pilot(
        &mut self,
        component: Component,
        message: Bytes,
        time: Span,
    ) -> Result<(Bytes, Span), CoordinatorError> {
        let row = Row::Network { component, message, load: Load::Idle };
        let network = self.pilot(row, time).await?.network;
        let result = network.ok_or_else(|| trouble(&row, "it has no result"))?;
        Ok((result.bytes, result.duration))
    }

    /// The target time of a host activity: the profile's time, or the time of a fixed volume.
    async fn host_target(&mut self) -> Result<Span, CoordinatorError> {
        let target = self.plan.profile.target;
        let Some(volume) = self.plan.volume else { return Ok(target) };
        let (moved, took) = self.network_pilot(YARDSTICK.0, YARDSTICK.1, target).await?;
        let seconds = took.seconds() * volume.count() as f64 / moved.count().max(1) as f64;
        Ok(Span::from_seconds_f64(seconds).max(Span::from_milliseconds(5)))
    }

    async fn host(&mut self, load: Load, target: Span) -> Result<u64, CoordinatorError> {
        self.step();
        let row = Row::Host { load };
        let result =
            self.pilot(row, target).await?.host.ok_or_else(|| trouble(&row, "it has no result"))?;
        Ok(amount_for(result.work, result.duration, target))
    }

    async fn pilot(
        &mut self,
        row: Row,
        time: Span,
    ) -> Result<btu_suite::accounting::CellAccounting, CoordinatorError> {
        let setting = Setting { amount: Amount::Pilot(time), ..self.base.clone() };
        let script = script(self.plan, &row, &setting);
        let scene = self.stage.play(&script).await?;
        let balance = balance(&row, &script, &scene);
        match balance.faults.first() {
            Some(fault) => Err(trouble(&row, fault)),
            None => Ok(balance),
        }
    }

    fn step(&mut self) {
        self.observer.phase(Phase::Calibrate(self.done, self.all));
        self.done += 1;
    }
}

fn trouble(row: &Row, message: &str) -> CoordinatorError {
    CoordinatorError::Calibration { what: row.to_string(), message: message.to_owned() }
}
