//! One session of a run: from the first cell that is not stored to the last that is wanted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use btu_store::{Level, RunLock, Store};
use btu_suite::cell::Load;
use btu_suite::network::HostRole;
use btu_suite::plan::Plan;
use btu_suite::record::CellRecord;
use btu_suite::schedule::{self, Slot};
use btu_suite::script::{Amount, DEADLINE_FACTOR, Setting};
use btu_suite::work::Amounts;
use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::alarm::Alarm;
use super::check::{self, NetworkCheck};
use super::error::CoordinatorError;
use super::ftp::Doorway;
use super::hosts::{Notes, Return};
use super::losses::{Attempts, Standstill, recovered};
use super::secret;
use super::stage::Stage;
use super::{Observer, Phase, Progress, Settings, calibrate, cell, document};

/// A cell that lasts this much longer than its target, and this much on top, is stuck.
const DEADLINE_MARGIN: Span = Span::from_seconds(15);

/// What is found out before the first cell and kept for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    amounts: Amounts,
    network_check: NetworkCheck,
}

/// Measures every cell that is missing.
pub(super) async fn measure(
    store: &Store,
    lock: &RunLock,
    settings: &Settings,
    stage: &mut Stage,
    alarm: &mut Alarm<'_>,
    began: Instant,
    observer: &mut dyn Observer,
) -> Result<(), CoordinatorError> {
    let doorway = Doorway::open(settings)?;
    let mut session = alarm.guard(Session::open(store, lock, settings, stage, &doorway, observer)).await?;
    session.prepare(alarm).await?;
    session.note_cost(began)?;
    session.blocks(alarm).await
}

struct Session<'a> {
    store: &'a Store,
    lock: &'a RunLock,
    settings: &'a Settings,
    observer: &'a mut dyn Observer,
    stage: &'a mut Stage,
    /// What every cell's setting begins from.
    base: Setting,
    records: Vec<CellRecord>,
}

impl<'a> Session<'a> {
    async fn open(
        store: &'a Store,
        lock: &'a RunLock,
        settings: &'a Settings,
        stage: &'a mut Stage,
        doorway: &Doorway,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, CoordinatorError> {
        let plan = &settings.plan;
        let scratch = settings.scratch.clone();
        let disk_source = furnished(stage, plan, &scratch).await?;
        let target = plan.profile.target;
        let base = Setting {
            seed: plan.seed,
            token: secret::token()?,
            amount: Amount::Pilot(target),
            deadline: Span::from_nanoseconds(target.nanoseconds().saturating_mul(DEADLINE_FACTOR)) + DEADLINE_MARGIN,
            scratch,
            disk_source,
            ftp: doorway.source()?,
        };
        let records = store.cells(lock.run())?;
        Ok(Self { store, lock, settings, observer, stage, base, records })
    }

    fn plan(&self) -> &'a Plan {
        &self.settings.plan
    }

    /// Checks the network and calibrates, or takes over what an earlier session of this run found.
    async fn prepare(&mut self, alarm: &mut Alarm<'_>) -> Result<(), CoordinatorError> {
        let stored = self.store.run(&self.lock.run().to_string())?.calibration;
        let amounts = match stored {
            Some(stored) => serde_json::from_value::<Calibration>(stored).map_err(CoordinatorError::Document)?.amounts,
            None => self.calibrated(alarm).await?,
        };
        self.base.amount = Amount::Fixed(amounts);
        Ok(())
    }

    async fn calibrated(&mut self, alarm: &mut Alarm<'_>) -> Result<Amounts, CoordinatorError> {
        let mut attempts = Attempts::of("the calibration");
        loop {
            match alarm.guard(self.calibrate()).await {
                Err(error) if self.may_recover(&error) => self.recover(&mut attempts, error, alarm).await?,
                other => return other,
            }
        }
    }

    async fn calibrate(&mut self) -> Result<Amounts, CoordinatorError> {
        self.observer.phase(Phase::Check);
        let network_check = check::check(self.stage, &self.settings.plan, &self.base).await?;
        for finding in network_check.findings() {
            self.observer.notice(&finding);
            self.event(Level::Warning, &finding)?;
        }
        let amounts = calibrate::calibrate(self.stage, &self.settings.plan, &self.base, self.observer).await?;
        let calibration = Calibration { amounts, network_check };
        self.store.save_calibration(self.lock, &document(&calibration)?)?;
        Ok(calibration.amounts)
    }

    fn note_cost(&self, began: Instant) -> Result<(), CoordinatorError> {
        let text = format!("raised, checked and calibrated in {:.1} s", began.elapsed().as_secs_f64());
        self.event(Level::Info, &text)
    }

    fn event(&self, level: Level, text: &str) -> Result<(), CoordinatorError> {
        Ok(self.store.save_event(self.lock, &(self.settings.wall_clock)(), level, text)?)
    }

    /// Block after block until no row wants more, or the time is over.
    async fn blocks(&mut self, alarm: &mut Alarm<'_>) -> Result<(), CoordinatorError> {
        self.observer.phase(Phase::Measure);
        let clock = Clock::start(self.plan());
        let mut standstill = Standstill::default();
        for block in 0..self.plan().profile.most_blocks {
            let slots = schedule::missing(self.plan(), block, &self.records);
            for (index, slot) in slots.iter().enumerate() {
                if block > 0 && clock.is_over() {
                    return self.event(Level::Info, "the profile's time is over; wide rows stay as they are");
                }
                let progress = self.progress(*slot, slots.len() - index, &clock);
                self.stage.expect(Duration::from_secs_f64(progress.seconds_left.max(0.0)));
                self.observer.progress(&progress);
                let took = self.cell(*slot, alarm).await?;
                if self.stage.is_on_hosts() {
                    standstill.watch(self.records.last(), took, self.base.deadline.into())?;
                }
            }
        }
        Ok(())
    }

    /// Measures and stores a cell; how long the attempt that counts took.
    async fn cell(&mut self, slot: Slot, alarm: &mut Alarm<'_>) -> Result<Duration, CoordinatorError> {
        let setting = Setting { seed: self.plan().cell_seed(slot.block, slot.position), ..self.base.clone() };
        let plan = self.plan();
        let mut attempts = Attempts::of(&slot.row.to_string());
        let (record, took) = loop {
            let began = Instant::now();
            // A token opens the data ports of one attempt: who has overheard an earlier one gets no answer.
            let token = secret::token()?;
            let setting = Setting { token, disk_source: self.base.disk_source.clone(), ..setting.clone() };
            match alarm.guard(cell::measure(self.stage, plan, slot, &setting)).await {
                Err(error) if self.may_recover(&error) => self.recover(&mut attempts, error, alarm).await?,
                other => break (other?, began.elapsed()),
            }
        };
        self.store.save_cell(self.lock, &record)?;
        self.records.push(record);
        Ok(took)
    }

    fn may_recover(&self, error: &CoordinatorError) -> bool {
        self.stage.is_on_hosts() && error.is_lost()
    }

    /// Finds lost hosts again, or says after a while that they are gone. What was measured meanwhile is measured anew.
    async fn recover(
        &mut self,
        attempts: &mut Attempts,
        error: CoordinatorError,
        alarm: &mut Alarm<'_>,
    ) -> Result<(), CoordinatorError> {
        attempts.count(&error)?;
        self.observer.notice(&format!("{error}; calling it again"));
        let began = Instant::now();
        let mut found = Vec::new();
        // A host can be lost again while it is found.
        while let Err(second) = alarm.guard(self.take_up(&mut found)).await {
            if !second.is_lost() {
                return Err(second);
            }
            attempts.count(&second)?;
        }
        let text = recovered(&attempts.what, &error, &found, began);
        self.observer.notice(&text);
        self.event(Level::Warning, &text)
    }

    /// Finds lost hosts and brings them to where they were.
    async fn take_up(&mut self, found: &mut Vec<Return>) -> Result<(), CoordinatorError> {
        self.stage.find(found).await?;
        // What a host had kept for us is gone with the old reservation.
        if !found.is_empty() {
            self.base.disk_source = furnished(self.stage, self.plan(), &self.base.scratch).await?;
        }
        let notes = Notes { store: self.store, lock: self.lock, wall_clock: self.settings.wall_clock };
        notes.returned(self.stage, found).await
    }

    fn progress(&self, slot: Slot, left_in_block: usize, clock: &Clock) -> Progress {
        let plan = self.plan();
        let least_left = plan.profile.least_blocks.saturating_sub(slot.block + 1) as usize * plan.rows().len();
        let done = self.records.len();
        let expected = done + left_in_block + least_left;
        Progress { slot, done, expected, seconds_left: clock.seconds_left(left_in_block + least_left) }
    }
}

/// The disk activity's source file on the test station, if there is to be one.
async fn furnished(stage: &mut Stage, plan: &Plan, scratch: &Path) -> Result<Option<PathBuf>, CoordinatorError> {
    if !plan.loads.contains(&Load::Disk) {
        return Ok(None);
    }
    stage.furnish(&HostRole::Test.into(), scratch, plan.disk_file, plan.seed).await.map(Some)
}

/// The time of the session's measuring.
struct Clock {
    began: Instant,
    budget: Span,
    /// Before anything is measured, a guess.
    guess_seconds_per_cell: f64,
    measured: std::cell::Cell<u32>,
}

impl Clock {
    fn start(plan: &Plan) -> Self {
        let guess_seconds_per_cell = plan.profile.target.seconds() * 1.5 + 0.05;
        Self {
            began: Instant::now(),
            budget: plan.profile.budget,
            guess_seconds_per_cell,
            measured: std::cell::Cell::new(0),
        }
    }

    fn is_over(&self) -> bool {
        Span::from(self.began.elapsed()) > self.budget
    }

    /// From the mean time of the cells so far, never more than the budget leaves.
    fn seconds_left(&self, cells: usize) -> f64 {
        let measured = self.measured.get();
        self.measured.set(measured + 1);
        let elapsed = self.began.elapsed().as_secs_f64();
        let per_cell = if measured == 0 { self.guess_seconds_per_cell } else { elapsed / f64::from(measured) };
        (per_cell * cells as f64).min((self.budget.seconds() - elapsed).max(per_cell))
    }
}
