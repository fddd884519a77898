//! One session of a run: from the first cell that is not stored to the last one of the plan.

use std::time::{Duration, Instant};

use btu_contract::experiment::Slot;
use btu_contract::study::{Record, TimeLimits, forecast};
use btu_store::{Level, RunLock, Store};
use btu_units::Span;
use futures_util::FutureExt;

use super::error::ControllerError;
use super::hosts::{Notes, Reconnected};
use super::recovery::{RetryBudget, StallDetector, recovered};
use super::run_monitor::RunMonitor;
use super::stage::Stage;
use super::study::MeasuredStudy;
use super::{Observer, Phase, Progress};

/// The store of a session's cells and events.
#[derive(Clone, Copy)]
pub(super) struct Journal<'a> {
    pub(super) store: &'a Store,
    pub(super) lock: &'a RunLock,
    /// Wall time as RFC 3339, for the record only.
    pub(super) wall_clock: fn() -> String,
}

impl Journal<'_> {
    pub(super) fn event(&self, level: Level, text: &str) -> Result<(), ControllerError> {
        Ok(self.store.save_event(self.lock, &(self.wall_clock)(), level, text)?)
    }
}

/// Measures every cell that is missing.
pub(super) async fn measure<S: MeasuredStudy>(
    journal: Journal<'_>,
    study: &mut S,
    stage: &mut Stage,
    monitor: &mut RunMonitor<'_>,
    began: Instant,
    observer: &mut dyn Observer,
) -> Result<(), ControllerError> {
    monitor.guard(study.prepare(stage)).await?;
    let records = journal.store.records(journal.lock.run())?;
    let mut session = StudySession { journal, study, stage, observer, records };
    session.prepare(monitor).await?;
    session.note_cost(began)?;
    session.blocks(monitor).await
}

struct StudySession<'a, S: MeasuredStudy> {
    journal: Journal<'a>,
    study: &'a mut S,
    stage: &'a mut Stage,
    observer: &'a mut dyn Observer,
    records: Vec<Record<S>>,
}

impl<S: MeasuredStudy> StudySession<'_, S> {
    /// Prepares the cells' inputs, or takes those of an earlier session of this run.
    async fn prepare(&mut self, monitor: &mut RunMonitor<'_>) -> Result<(), ControllerError> {
        let Journal { store, lock, .. } = self.journal;
        match store.run(&lock.run().to_string())?.calibration {
            Some(stored) => self.study.inputs_again(stored),
            None => self.calibrated(monitor).await,
        }
    }

    async fn calibrated(&mut self, monitor: &mut RunMonitor<'_>) -> Result<(), ControllerError> {
        let mut attempts = RetryBudget::of("the calibration");
        let found = loop {
            match monitor.guard(self.study.inputs(self.stage, self.observer)).await {
                Err(error) if self.may_recover(&error) => {
                    self.recover(&mut attempts, error, monitor).await?;
                }
                other => break other?,
            }
        };
        for finding in &found.findings {
            self.journal.event(Level::Warning, finding)?;
        }
        if let Some(document) = &found.document {
            self.journal.store.save_calibration(self.journal.lock, document)?;
        }
        Ok(())
    }

    fn note_cost(&self, began: Instant) -> Result<(), ControllerError> {
        let text =
            format!("started, checked and calibrated in {:.1} s", began.elapsed().as_secs_f64());
        self.journal.event(Level::Info, &text)
    }

    /// Measures all blocks, and notes how long cells waited.
    async fn blocks(&mut self, monitor: &mut RunMonitor<'_>) -> Result<(), ControllerError> {
        let measured = self.every_block(monitor).await.and_then(|()| self.note());
        let waited = self.stage.placement.summary();
        let noted = waited.map_or(Ok(()), |waited| self.journal.event(Level::Info, &waited));
        // The first error is the one to report.
        measured.and(noted)
    }

    fn note(&self) -> Result<(), ControllerError> {
        let notes = self.study.notes(&self.records);
        notes.iter().try_for_each(|note| self.journal.event(Level::Info, note))
    }

    /// Measures all blocks, or as many as there is time for.
    async fn every_block(&mut self, monitor: &mut RunMonitor<'_>) -> Result<(), ControllerError> {
        self.observer.phase(Phase::Measure);
        let pace = self.study.pace();
        let placement = &mut self.stage.placement;
        monitor.guard(placement.begin().map(Ok)).await?;
        let clock = Clock::start(pace);
        let mut stall = StallDetector::default();
        for block in 0..pace.most_blocks {
            let slots = self.study.missing(block, &self.records);
            for (index, slot) in slots.iter().enumerate() {
                if block > 0 && clock.is_over() {
                    return self.journal.event(Level::Info, "the profile's time is over");
                }
                let progress = self.progress(slot, slots.len() - index, &clock);
                self.stage.expect(Duration::from_secs_f64(progress.seconds_left.max(0.0)));
                self.observer.progress(&progress);
                let took = self.cell(slot, monitor).await?;
                if self.stage.is_on_hosts() {
                    let seen = self.records.last().map(|record| self.study.seen(record));
                    stall.watch(seen, took, pace.deadline.into())?;
                }
            }
            if block == 0 && pace.most_blocks > 1 && clock.is_over() {
                self.journal.event(Level::Warning, &too_short(pace.budget, slots.len()))?;
            }
        }
        Ok(())
    }

    /// Measures and stores a cell; returns its time.
    async fn cell(
        &mut self,
        slot: &Slot<S::Cell>,
        monitor: &mut RunMonitor<'_>,
    ) -> Result<Duration, ControllerError> {
        let mut attempts = RetryBudget::of(&slot.cell.to_string());
        let (record, took) = loop {
            let placement = &mut self.stage.placement;
            monitor.guard(placement.await_near().map(Ok)).await?;
            let began = Instant::now();
            let measured = self.study.measure(self.stage, slot, &self.records, self.observer);
            match monitor.guard(measured).await {
                Err(error) if self.may_recover(&error) => {
                    self.recover(&mut attempts, error, monitor).await?;
                }
                other => {
                    let (measured, took) = (other?, began.elapsed());
                    let Some(record) = measured else { return Ok(took) };
                    break (record, took);
                }
            }
        };
        self.journal.store.save(self.journal.lock, self.study.plan(), &record)?;
        self.records.push(record);
        Ok(took)
    }

    fn may_recover(&self, error: &ControllerError) -> bool {
        self.stage.calls_again() && error.is_lost()
    }

    /// Reaches lost hosts again, or reports after a while that they are gone. The interrupted cell
    /// is measured again.
    async fn recover(
        &mut self,
        attempts: &mut RetryBudget,
        error: ControllerError,
        monitor: &mut RunMonitor<'_>,
    ) -> Result<(), ControllerError> {
        attempts.count(&error)?;
        self.observer.notice(&format!("{error}; calling it again"));
        let began = Instant::now();
        let mut found = Vec::new();
        // A host can be lost again during this.
        while let Err(second) = monitor.guard(self.take_up(&mut found)).await {
            if self.goes_on_without(&second)? {
                continue;
            }
            if !second.is_lost() {
                return Err(second);
            }
            attempts.count(&second)?;
        }
        let text = recovered(&attempts.what, &error, &found, began);
        self.observer.notice(&text);
        self.journal.event(Level::Warning, &text)
    }

    /// Gives up the host that is gone for good, if the study has others.
    fn goes_on_without(&mut self, error: &ControllerError) -> Result<bool, ControllerError> {
        let ControllerError::Gone { host, .. } = error else { return Ok(false) };
        if !S::GOES_ON || !self.stage.give_up(host) {
            return Ok(false);
        }
        let text = format!("{error}; the run goes on without it");
        self.observer.notice(&text);
        self.journal.event(Level::Warning, &text)?;
        Ok(true)
    }

    /// Reaches lost hosts and restores their state.
    async fn take_up(&mut self, found: &mut Vec<Reconnected>) -> Result<(), ControllerError> {
        self.stage.find(found).await?;
        // A host's files for the run are gone with the old reservation.
        if !found.is_empty() {
            self.study.prepare(self.stage).await?;
        }
        Notes(self.journal).returned(self.stage, found).await
    }

    fn progress(&self, slot: &Slot<S::Cell>, left_in_block: usize, clock: &Clock) -> Progress {
        let later = self.study.sure_after(slot.block, &self.records);
        let (left, seconds_left) = clock.left(slot.block, left_in_block, later);
        let done = self.records.len();
        Progress {
            block: S::IN_BLOCKS.then_some(slot.block),
            cell: slot.cell.to_string(),
            done,
            expected: done + left,
            seconds_left,
            so_far: self.study.so_far(&self.records),
        }
    }
}

/// The message when all rows were measured once and the time is over.
fn too_short(budget: Span, cells: usize) -> String {
    format!(
        "measuring each of {cells} cells once took longer than the available {budget}: nothing was repeated, so there are no \
         intervals; name fewer of them, or give more time (--time)"
    )
}

/// The time of the session's measuring.
struct Clock {
    began: Instant,
    budget: Span,
    /// The time that cells keep to by themselves, those of the first block, too.
    own_time: Option<Span>,
    /// The estimate before the first measurement.
    guess_seconds_per_cell: f64,
    measured: std::cell::Cell<u32>,
}

impl Clock {
    fn start(pace: TimeLimits) -> Self {
        Self {
            began: Instant::now(),
            budget: pace.budget,
            own_time: pace.own_time,
            guess_seconds_per_cell: pace.guess.seconds(),
            measured: std::cell::Cell::new(0),
        }
    }

    fn is_over(&self) -> bool {
        Span::from(self.began.elapsed()) > self.budget
    }

    /// The cells that the time allows, and their time, of those that are left in `block` and certain to follow: by
    /// the mean time of the cells so far. The first block is measured whatever time it takes.
    fn left(&self, block: u32, in_block: usize, later: usize) -> (usize, f64) {
        let measured = self.measured.get();
        self.measured.set(measured + 1);
        let elapsed = self.began.elapsed().as_secs_f64();
        let per_cell =
            if measured == 0 { self.guess_seconds_per_cell } else { elapsed / f64::from(measured) };
        let certain = if block == 0 && self.own_time.is_none() { in_block } else { 1 };
        let time = self.own_time.unwrap_or(self.budget).seconds() - elapsed;
        forecast(per_cell, time, certain, in_block + later)
    }
}
