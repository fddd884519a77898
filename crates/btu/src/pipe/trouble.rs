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
    pub(super) fn of(who: Who, said: Said) -> Self {
        let what = match said {
            Said::Word(Word::Failed { message }) => format!(": {message}"),
            Said::Word(word) => format!(" said a word that was not due: {word:?}"),
            Said::Nonsense(why) => format!(" said something unknown: {why}"),
            Said::End => " ended".to_owned(),
        };
        Self { who, what }
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

impl Place<'_> {
    /// The reason behind `error`.
    pub(super) fn explain(&self, ends: &mut Ends, error: anyhow::Error) -> anyhow::Error {
        if error.downcast_ref::<Trouble>().is_none() {
            return error;
        }
        match ends.epitaph(EPITAPH_LIMIT) {
            Some((who, how)) if was_killed(how) => {
                std::thread::sleep(FALL_LIMIT);
                self.ground.fallen().map_or_else(|| Killed { who, how }.into(), Into::into)
            }
            _ => error,
        }
    }
}

/// How a run that ended like this is marked.
pub(super) fn state(outcome: &anyhow::Result<()>) -> State {
    match outcome {
        Ok(()) => State::Complete,
        Err(error) if error.is::<CoordinatorError>() || error.is::<Killed>() || error.is::<Fallen>() => {
            State::Interrupted
        }
        Err(_) => State::Failed,
    }
}
