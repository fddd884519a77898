//! Receives the messages of a started worker.

use btu_suite::activity::Word;
use tokio::time::timeout;
use tonic::Streaming;

use super::super::error::CoordinatorError;
use super::{ANSWER_LIMIT, AgentLink, refusal};
use crate::protocol::{FollowRequest, Told};

/// Its name in errors.
const LISTENING: &str = "listening to a worker";

/// The messages of a worker.
pub(crate) struct WorkerWords {
    who: String,
    told: Streaming<Told>,
}

impl AgentLink {
    /// Receives the messages of a worker that was started, from its first one on.
    pub(crate) async fn follow(
        mut self,
        cell: u64,
        step: u32,
    ) -> Result<WorkerWords, CoordinatorError> {
        let request = FollowRequest { cell, step, heard: 0, session: self.session.clone() };
        let reply = timeout(ANSWER_LIMIT, self.client.follow(request)).await;
        let told = self.answer(LISTENING, ANSWER_LIMIT, reply)?;
        Ok(WorkerWords { who: self.who, told })
    }
}

impl WorkerWords {
    /// The next message, without a timeout; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Word>, CoordinatorError> {
        match self.told.message().await {
            Ok(Some(Told { word_json })) => {
                serde_json::from_str(&word_json).map(Some).map_err(CoordinatorError::Document)
            }
            Ok(None) => Ok(None),
            Err(status) => Err(refusal(self.who.clone(), LISTENING, &status)),
        }
    }
}
