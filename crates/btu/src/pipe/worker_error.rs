//! The errors that can end a run early. Of several errors the first counts, because one end may
//! fail only because the other one is gone.

use std::time::{Duration, Instant};

use btu_control::coordinator::CoordinatorError;
use btu_store::State;
use btu_suite::activity::{KILLED, Word};
use btu_testbed::testbed::ProcessExit;

use super::series::Place;
use super::workers::{WorkerEvent, WorkerId, Workers};

/// The time for a report that one worker was killed when another has failed.
const EPITAPH_LIMIT: Duration = Duration::from_millis(300);

/// A worker that failed by itself, or sent an invalid message.
#[derive(Debug, thiserror::Error)]
#[error("{who}{what}")]
pub(super) struct WorkerError {
    who: WorkerId,
    what: String,
    was_killed: bool,
}

impl WorkerError {
    /// The error in a worker's message; a lost agent has its own error.
    pub(super) fn of(who: WorkerId, said: WorkerEvent) -> anyhow::Error {
        Self::read(who, said).map_or_else(anyhow::Error::from, anyhow::Error::from)
    }

    fn read(who: WorkerId, said: WorkerEvent) -> Result<Self, CoordinatorError> {
        let (what, was_killed) = match said {
            WorkerEvent::Lost(error) => return Err(error),
            WorkerEvent::Word(Word::Failed { message }) => match message.strip_prefix(KILLED) {
                Some(how) => (format!(" was killed by{how}"), true),
                None => (format!(": {message}"), false),
            },
            WorkerEvent::Word(word) => (format!(" said a word that was not due: {word:?}"), false),
            WorkerEvent::End => (" ended".to_owned(), false),
        };
        Ok(Self { who, what, was_killed })
    }
}

/// A worker was killed, and the others with it.
#[derive(Debug, thiserror::Error)]
#[error("{0}, so the other was ended, too")]
pub(super) struct WorkerKilled(WorkerError);

/// The network of the ends ended.
#[derive(Debug, thiserror::Error)]
#[error("{0} while it was measured on")]
pub(super) struct NetworkDown(pub(super) ProcessExit);

/// The part of it on another machine was ended there.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct EndedThere(WorkerError);

impl Place<'_> {
    /// The cause of `error`.
    pub(super) fn explain(&self, ends: &Workers, error: anyhow::Error) -> anyhow::Error {
        if let Some(stopped) = self.interruption.error() {
            return stopped.into();
        }
        match error.downcast::<WorkerError>() {
            Ok(trouble) => self.reason(ends, trouble),
            Err(error) if is_lost(&error) => self.ground.fallen_soon().map_or(error, Into::into),
            Err(error) => error,
        }
    }

    /// The first of all reported errors: a worker here that was killed, the end of the part there,
    /// or else this one.
    fn reason(&self, ends: &Workers, first: WorkerError) -> anyhow::Error {
        let there = self.ground.is_elsewhere();
        let is_there = |trouble: &WorkerError| {
            there && trouble.who.is_far() && !trouble.what.ends_with(" ended")
        };
        let is_cause =
            |trouble: &WorkerError| trouble.was_killed && !(there && trouble.who.is_far());
        let until = Instant::now() + EPITAPH_LIMIT;
        let mut all = vec![first];
        while !all.iter().any(is_cause)
            && let Some((who, said)) = ends.said_until(until)
        {
            match WorkerError::read(who, said) {
                Ok(trouble) => all.push(trouble),
                // The end there was reported before the connection broke.
                Err(_) if all.iter().any(is_there) => break,
                Err(lost) => {
                    return self.ground.fallen_soon().map_or_else(|| lost.into(), Into::into);
                }
            }
        }
        if let Some(index) = all.iter().position(is_cause) {
            return self
                .ground
                .fallen()
                .map_or_else(|| WorkerKilled(all.swap_remove(index)).into(), Into::into);
        }
        match all.iter().position(is_there) {
            Some(index) => EndedThere(all.swap_remove(index)).into(),
            None => self.ground.fallen().map_or_else(|| all.swap_remove(0).into(), Into::into),
        }
    }
}

fn is_lost(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<CoordinatorError>() {
        Some(error) => error.is_lost(),
        None => error.is::<btu_testbed::wire::WireError>(),
    }
}

/// Whether a signal stopped the run, or the other machine was lost or ended its part.
fn was_cut_off(error: &anyhow::Error) -> bool {
    let is_stopped = matches!(error.downcast_ref(), Some(CoordinatorError::Interrupted(_)));
    is_stopped || error.is::<EndedThere>() || is_lost(error)
}

/// The state of a run that ended in this way.
pub(super) fn state(outcome: &anyhow::Result<()>) -> State {
    match outcome {
        Ok(()) => State::Complete,
        Err(error)
            if error.is::<WorkerKilled>() || error.is::<NetworkDown>() || was_cut_off(error) =>
        {
            State::Interrupted
        }
        Err(_) => State::Failed,
    }
}
