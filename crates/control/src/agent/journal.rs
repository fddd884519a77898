//! The agent's log lines about controllers: at most a line a second of each kind, for any number of
//! calls.

use std::sync::Mutex;

use super::policy::Forbidden;
use super::sessions::{Asked, called};
use crate::lines::{Lines, write};

/// The name of the agent in its log lines.
pub(super) const AGENT: &str = "agent";

/// The lines about controllers.
#[derive(Debug, Default)]
pub(super) struct Journal {
    reserved: Mutex<Lines>,
    refused: Mutex<Lines>,
}

impl Journal {
    /// A controller has the host.
    pub(super) fn reserved(&self, asked: &Asked) {
        write(
            &self.reserved,
            AGENT,
            &format!("reserved for {} of {}", called(&asked.run), asked.controller),
        );
    }

    /// The policy forbids a controller's request.
    pub(super) fn refused(&self, forbidden: &Forbidden) {
        write(&self.refused, AGENT, &format!("refused a controller: {forbidden}"));
    }
}
