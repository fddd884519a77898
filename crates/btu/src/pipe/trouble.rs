//! What can end a run early, and which of it was first: what one end says went wrong may only be that the other is gone.

use std::process::ExitStatus;
use std::time::Duration;

use btu_control::coordinator::CoordinatorError;
use btu_store::State;
use btu_suite::activity::Word;
use btu_testbed::house::HouseEvent;

use super::ends::{Ends, Said, Who, was_killed};
use super::series::Place;

/// How long one worker may take to show that it was killed when another has failed.
const EPITAPH_LIMIT: Duration = Duration::from_millis(300);

/// How long the fall of a network may take to be known when its workers are gone.
const FALL_LIMIT: Duration = Duration::from_millis(100);

/// A worker that failed by itself, or said what makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{who}{what}")]
pub(super) struct Trouble {
    who: Who,
    what: String,
}

impl Trouble {
    /// The error that a worker's words are; what was lost on another machine says itself what it was.
    pub(super) fn of(who: Who, said: Said) -> anyhow::Error {
        let what = match said {
            Said::Lost(error) => return error.into(),
            Said::Word(Word::Failed { message }) => format!(": {message}"),
            Said::Word(word) => format!(" said a word that was not due: {word:?}"),
            Said::Nonsense(why) => format!(" said something unknown: {why}"),
            Said::End => " ended".to_owned(),
        };
        Self { who, what }.into()
    }
}

/// A worker was killed, and the others with it.
#[derive(Debug, thiserror::Error)]
#[error("{who} was killed ({how}), so the other was ended, too")]
pub(super) struct Killed {
    who: Who,
    how: ExitStatus,
}

/// The network under the ends fell.
#[derive(Debug, thiserror::Error)]
#[error("{0} while it was measured on")]
pub(super) struct Fallen(pub(super) HouseEvent);

/// The part of it on another machine was ended there.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct EndedThere(Trouble);

impl Place<'_> {
    /// The reason behind `error`.
    pub(super) fn explain(&self, ends: &mut Ends, error: anyhow::Error) -> anyhow::Error {
        match error.downcast::<Trouble>() {
            Ok(trouble) if self.ground.is_elsewhere() => told_there(ends, trouble),
            Ok(trouble) => self.told_here(ends, trouble),
            Err(error) => error,
        }
    }

    fn told_here(&self, ends: &mut Ends, trouble: Trouble) -> anyhow::Error {
        match ends.epitaph(EPITAPH_LIMIT) {
            Some((who, how)) if was_killed(how) => {
                std::thread::sleep(FALL_LIMIT);
                self.ground.fallen().map_or_else(|| Killed { who, how }.into(), Into::into)
            }
            _ => trouble.into(),
        }
    }
}

/// Of a worker that was killed here, that; else what the other machine says, which is why this end failed.
fn told_there(ends: &mut Ends, trouble: Trouble) -> anyhow::Error {
    if let Some((who, how)) = ends.epitaph(Duration::ZERO).filter(|(_, how)| was_killed(*how)) {
        return Killed { who, how }.into();
    }
    if trouble.who.is_far() {
        return EndedThere(trouble).into();
    }
    let Some((who, said)) = ends.trouble_elsewhere(EPITAPH_LIMIT) else { return trouble.into() };
    // What was lost is an error of its own.
    Trouble::of(who, said).downcast().map_or_else(|lost| lost, |told| EndedThere(told).into())
}

/// Whether somebody stopped it, or the other machine was lost or ended its part.
fn was_cut_off(error: &anyhow::Error) -> bool {
    if error.is::<EndedThere>() {
        return true;
    }
    let ours = error.downcast_ref::<CoordinatorError>();
    ours.is_some_and(|error| error.is_lost() || matches!(error, CoordinatorError::Interrupted(_)))
}

/// How a run that ended like this is marked.
pub(super) fn state(outcome: &anyhow::Result<()>) -> State {
    match outcome {
        Ok(()) => State::Complete,
        Err(error) if error.is::<Killed>() || error.is::<Fallen>() || was_cut_off(error) => State::Interrupted,
        Err(_) => State::Failed,
    }
}
