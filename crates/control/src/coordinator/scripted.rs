//! Studies with cells that are scripts and need no calibration.

use std::path::PathBuf;

use btu_store::{RunId, RunLock, Store};
use btu_suite::experiment::{CellSetting, Measured, Observation, Scripts, Slot};
use btu_suite::record::{Failure, PlacedReport};
use btu_suite::script::{Script, Step};
use btu_units::written_rate;

use super::error::CoordinatorError;
use super::stage::Stage;
use super::study::{Study, TimeLimits};
use super::{Observer, secret};

/// An experiment as the runner measures it.
#[derive(Debug, Clone)]
pub struct Scripted<E> {
    /// The plan of the experiment.
    pub plan: E,
    /// An existing directory for files of the hosts' activities; each makes one of its own in it.
    pub scratch: PathBuf,
}

impl<E: Scripts> Study for Scripted<E> {
    type Cell = E::Cell;
    type Record = Measured<E::Cell>;

    const IN_BLOCKS: bool = E::IN_BLOCKS;
    const GOES_ON: bool = E::GOES_ON;
    const HOSTS_APART: bool = E::HOSTS_APART;

    fn so_far(&self, records: &[Self::Record]) -> String {
        let Some(last) = records.iter().rfind(|record| record.is_valid()) else {
            return String::new();
        };
        let facts = self.plan.facts(&last.cell, &last.seen);
        let took = facts.duration.or(facts.round_trip).map(|duration| duration.to_string());
        let rate = facts.goodput_bits_per_second.map(written_rate);
        let known: Vec<String> = took.into_iter().chain(rate).collect();
        format!("last: {}: {}", last.cell, known.join(", "))
    }

    fn seed(&self) -> u64 {
        self.plan.frame().seed
    }

    fn pace(&self) -> TimeLimits {
        let frame = self.plan.frame();
        TimeLimits {
            most_blocks: frame.blocks,
            budget: frame.budget,
            own_time: None,
            guess: self.plan.forecast(),
            deadline: frame.deadline.into(),
        }
    }

    fn missing(&self, block: u32, done: &[Self::Record]) -> Vec<Slot<E::Cell>> {
        self.plan.missing(block, done)
    }

    fn sure_after(&self, block: u32, done: &[Self::Record]) -> usize {
        self.plan.sure_after(block, done)
    }

    fn stored(&self, store: &Store, run: RunId) -> Result<Vec<Self::Record>, CoordinatorError> {
        Ok(store.records(run)?)
    }

    fn save(
        &self,
        store: &Store,
        lock: &RunLock,
        record: &Self::Record,
    ) -> Result<(), CoordinatorError> {
        Ok(store.save(lock, &self.plan, record)?)
    }

    async fn measure(
        &mut self,
        stage: &mut Stage,
        slot: &Slot<E::Cell>,
        _done: &[Self::Record],
        observer: &mut dyn Observer,
    ) -> Result<Option<Self::Record>, CoordinatorError> {
        let setting = CellSetting {
            seed: self.plan.cell_seed(slot.block, slot.position),
            token: secret::token()?,
            deadline: self.plan.frame().deadline,
            scratch: self.scratch.clone(),
        };
        let script = self.plan.script(&slot.cell, &setting);
        let programs = self.plan.programs(&slot.cell, &setting);
        stage.turn_to(self.plan.network_of(&slot.cell))?;
        let (left, places) = script.without(stage.lost());
        if left.steps.is_empty() && !script.steps.is_empty() {
            let seen = Observation::default();
            return Ok(Some(self.plan.record(slot.clone(), with_lost(&script, &places, seen))));
        }
        match stage.play_watched(&left, &programs, observer).await {
            Ok(seen) => Ok(Some(self.plan.record(slot.clone(), with_lost(&script, &places, seen)))),
            Err(error @ CoordinatorError::Prepare { .. }) => {
                let Slot { cell, block, position } = slot.clone();
                let faults = vec![error.to_string()];
                let seen =
                    Observation { reports: unprepared(&left, error), ..Observation::default() };
                let seen = with_lost(&script, &places, seen);
                Ok(Some(Measured { cell, block, position, faults, seen }))
            }
            Err(error) => Err(error),
        }
    }

    fn seen<'a>(&self, record: &'a Self::Record) -> (&'a [String], &'a [PlacedReport]) {
        (&record.faults, &record.seen.reports)
    }
}

/// What was seen of the steps in these places, with the reports of those that a lost host left out.
fn with_lost(script: &Script, places: &[usize], mut seen: Observation) -> Observation {
    if places.len() == script.steps.len() {
        return seen;
    }
    let mut reports = std::mem::take(&mut seen.reports).into_iter();
    let report = |(place, step): (usize, &Step)| {
        let played = places.contains(&place).then(|| reports.next()).flatten();
        played.unwrap_or_else(|| PlacedReport {
            station: step.host.clone(),
            activity: step.order.activity.kind().to_owned(),
            result: Err(Failure::Failed { message: "a host was lost".to_owned() }),
        })
    };
    seen.reports = script.steps.iter().enumerate().map(report).collect();
    seen
}

/// The reports of a script with an activity that could not be prepared: no other one was started.
fn unprepared(script: &Script, error: CoordinatorError) -> Vec<PlacedReport> {
    let CoordinatorError::Prepare { step: Some(failed), message, .. } = error else {
        return Vec::new();
    };
    let failure = |step: usize| {
        if step == failed {
            Failure::Failed { message: message.clone() }
        } else {
            Failure::NotStarted
        }
    };
    let report = |(number, step): (usize, &Step)| PlacedReport {
        station: step.host.clone(),
        activity: step.order.activity.kind().to_owned(),
        result: Err(failure(number)),
    };
    script.steps.iter().enumerate().map(report).collect()
}
