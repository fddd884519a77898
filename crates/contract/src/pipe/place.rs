//! The places of the two ends.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::border;
use crate::network::{Network, Reached};

/// The places of the two ends and the path between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "where", rename_all = "kebab-case")]
pub enum Place {
    /// Two processes of this machine, in the same network namespace.
    Here,
    /// Two stations of a network raised for the run.
    Stations {
        /// The path between them.
        network: Network,
    },
    /// Two stations of a network file.
    Drawing {
        /// The name of the network.
        name: String,
        /// The file, so that the plan is complete.
        text: String,
        /// The station that sends first.
        from: String,
        /// The name of the other station.
        to: String,
    },
    /// This machine and another one.
    Machines(Remote),
}

/// Another machine, with the far end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// The user's name for it.
    #[serde(deserialize_with = "border::host_name")]
    pub name: String,
    /// The way to its agent, which is not measured.
    pub reached: Reached,
    /// Its address on the measured network, where the far end listens.
    pub measured: IpAddr,
}

/// The host with both its addresses, as reports have it.
impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, measured at {}, controlled by {}", self.name, self.measured, self.reached)
    }
}
