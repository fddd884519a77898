//! The agent's log lines about controllers: at most a line a second of each kind, for any number of
//! calls.

use std::sync::Mutex;

use super::policy::Forbidden;
use super::sessions::{Asked, Busy, called};
use crate::lines::{Lines, write};

/// The name of the agent in its log lines.
const AGENT: &str = "agent";

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

    /// A controller of this name requested an examination of the host while another controller has
    /// it.
    pub(super) fn disturbed(&self, controller: &str, busy: &Busy) {
        write(&self.refused, AGENT, &format!("refused {controller} a look: {busy}"));
    }

    /// The policy forbids the request of a controller of this name; it is empty for this machine's
    /// own user.
    pub(super) fn refused(&self, controller: &str, forbidden: &Forbidden) {
        let who = if controller.is_empty() { "a controller" } else { controller };
        write(&self.refused, AGENT, &format!("refused {who}: {forbidden}"));
    }
}
