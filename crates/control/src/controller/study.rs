//! How the runner measures the cells of a study on its stage.

use std::time::Instant;

use btu_contract::experiment::{Observation, Slot};
use btu_contract::record::{Failure, PlacedReport};
use btu_contract::script::{Script, Step};
use btu_contract::study::{InputError, Inputs, Play, Record, ScriptedStudy, Study};
use btu_units::Span;
use serde_json::Value;

use super::error::ControllerError;
use super::stage::Stage;
use super::{Observer, Phase, secret};

/// A study, and its way of measuring: by scripts, or by ends that stay from cell to cell.
#[allow(
    async_fn_in_trait,
    reason = "the runner has one thread and never hands the study to another"
)]
pub trait MeasuredStudy: Study {
    /// Prepares hosts for the cells: before the first one, and when lost hosts were reached again.
    async fn prepare(&mut self, _stage: &mut Stage) -> Result<(), ControllerError> {
        Ok(())
    }

    /// Finds the cells' inputs.
    async fn inputs(
        &mut self,
        _stage: &mut Stage,
        _observer: &mut dyn Observer,
    ) -> Result<Inputs, ControllerError> {
        Ok(Inputs::default())
    }

    /// Takes the inputs of an earlier session of the run.
    fn inputs_again(&mut self, _stored: Value) -> Result<(), ControllerError> {
        Ok(())
    }

    /// Measures a cell after those that are stored, and reports progress meanwhile. Faults inside it
    /// are part of the record; an error means that the stage is broken. `None` if nothing was left
    /// to measure.
    async fn measure(
        &mut self,
        stage: &mut Stage,
        slot: &Slot<Self::Cell>,
        done: &[Record<Self>],
        observer: &mut dyn Observer,
    ) -> Result<Option<Record<Self>>, ControllerError>;
}

impl<S: ScriptedStudy<Cell: Clone>> MeasuredStudy for S {
    async fn prepare(&mut self, stage: &mut Stage) -> Result<(), ControllerError> {
        if let Some(file) = self.disk_file() {
            self.use_disk_file(stage.prepare_disk_file(&file).await?);
        }
        Ok(())
    }

    async fn inputs(
        &mut self,
        stage: &mut Stage,
        observer: &mut dyn Observer,
    ) -> Result<Inputs, ControllerError> {
        Ok(self.find_inputs(&mut Player { stage, observer, began: Instant::now() }).await?)
    }

    fn inputs_again(&mut self, stored: Value) -> Result<(), ControllerError> {
        self.take_over(stored).map_err(ControllerError::Document)
    }

    async fn measure(
        &mut self,
        stage: &mut Stage,
        slot: &Slot<S::Cell>,
        _done: &[Record<S>],
        observer: &mut dyn Observer,
    ) -> Result<Option<Record<S>>, ControllerError> {
        // A token opens the data ports of one attempt: a caller with an earlier one gets no answer.
        let (script, programs) = self.script(slot, secret::token()?);
        stage.turn_to(self.network_of(&slot.cell))?;
        let (left, places) = script.without(stage.lost());
        if left.steps.is_empty() && !script.steps.is_empty() {
            let seen = with_lost(&script, &places, Observation::default());
            return Ok(Some(self.record(slot.clone(), &script, seen)));
        }
        match stage.play_watched(&left, &programs, observer).await {
            Ok(seen) => {
                let seen = with_lost(&script, &places, seen);
                Ok(Some(self.record(slot.clone(), &script, seen)))
            }
            Err(error @ ControllerError::Prepare { .. }) => {
                let why = error.to_string();
                let reports = unprepared(&left, error);
                let seen = Observation { reports, ..Observation::default() };
                let seen = with_lost(&script, &places, seen);
                Ok(Some(self.unprepared(slot.clone(), why, seen)))
            }
            Err(error) => Err(error),
        }
    }
}

/// Plays scripts on the stage before the first cell.
struct Player<'a> {
    stage: &'a mut Stage,
    observer: &'a mut dyn Observer,
    began: Instant,
}

impl Play for Player<'_> {
    type Error = ControllerError;

    async fn play(&mut self, script: &Script) -> Result<Observation, ControllerError> {
        self.stage.play(script).await
    }

    fn elapsed(&self) -> Span {
        self.began.elapsed().into()
    }

    fn checks(&mut self) {
        self.observer.phase(Phase::Check);
    }

    fn pilots(&mut self, done: usize, all: usize, seconds_left: Option<f64>) {
        self.observer.phase(Phase::Calibrate(done, all, seconds_left));
    }

    fn notice(&mut self, text: &str) {
        self.observer.notice(text);
    }
}

impl From<InputError<Self>> for ControllerError {
    fn from(error: InputError<Self>) -> Self {
        match error {
            InputError::Play(error) => error,
            InputError::Network(message) => Self::Network(message),
            InputError::Amount { what, message } => Self::Calibration { what, message },
            InputError::Document(error) => Self::Document(error),
        }
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
fn unprepared(script: &Script, error: ControllerError) -> Vec<PlacedReport> {
    let ControllerError::Prepare { step: Some(failed), message, .. } = error else {
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
