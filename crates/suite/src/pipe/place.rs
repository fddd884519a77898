//! Where the two ends are.

use serde::{Deserialize, Serialize};

use crate::network::Network;

/// Where the two ends are and what lies between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "where", rename_all = "kebab-case")]
pub enum Place {
    /// Two processes of this machine, in the same network namespace.
    Here,
    /// Two stations of a network raised for the run.
    Stations {
        /// What is between them.
        network: Network,
    },
    /// Two stations of a network file.
    Drawing {
        /// The network's name.
        name: String,
        /// The file, so that the plan is complete.
        text: String,
        /// The station that sends first.
        from: String,
        /// The other.
        to: String,
    },
    /// This machine and another one.
    Machines(Remote),
}

/// Another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// Its agent's address as the user gave it.
    pub agent: String,
}
