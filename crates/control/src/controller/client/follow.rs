//! Receives the messages of a started worker.

use btu_contract::activity::Word;

use super::super::error::ControllerError;
use super::{AgentLink, refusal};
use crate::protocol::{Answers, FollowRequest};

/// Its name in errors.
const LISTENING: &str = "listening to a worker";

/// The messages of a worker.
pub(crate) struct WorkerWords {
    who: String,
    words: Answers,
}

impl AgentLink {
    /// Receives the messages of a worker that was started, from its first one on.
    pub(crate) fn follow(self, cell: u64, step: u32) -> Result<WorkerWords, ControllerError> {
        let request = FollowRequest { cell, step, heard: 0, session: self.session };
        match self.client.open(request) {
            Ok(words) => Ok(WorkerWords { who: self.who, words }),
            Err(status) => Err(refusal(self.who, LISTENING, &status)),
        }
    }
}

impl WorkerWords {
    /// The next message, without a timeout; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Word>, ControllerError> {
        match self.words.next().await {
            Ok(word) => word.map(|word| word.read()).transpose().map_err(ControllerError::Document),
            Err(status) => Err(refusal(self.who.clone(), LISTENING, &status)),
        }
    }
}
