//! The settings that identify a cell of `btu app`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Broadcasts, Carrier, Protocol, Speeds, Workload};
use btu_contract::network::HostName;

/// A picture, drawn in one way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppCell {
    /// The picture that is drawn.
    pub workload: Workload,
    /// The protocol: which end waits for which.
    pub protocol: Protocol,
    /// The carrier of the requests.
    pub carrier: Carrier,
    /// On which of several displays; the plan's own where there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<HostName>,
    /// The speed of the processors.
    #[serde(default, skip_serializing_if = "Speeds::are_full")]
    pub speeds: Speeds,
    /// What another station sends to all hosts meanwhile.
    #[serde(rename = "broadcasts_per_second")]
    #[serde(default, skip_serializing_if = "Broadcasts::are_none")]
    pub broadcasts: Broadcasts,
}

impl AppCell {
    /// On the plan's only display, at full speed.
    pub const fn new(workload: Workload, protocol: Protocol, carrier: Carrier) -> Self {
        let speeds = Speeds { application: super::Speed::FULL, display: super::Speed::FULL };
        let broadcasts = Broadcasts::NONE;
        Self { workload, protocol, carrier, display: None, speeds, broadcasts }
    }
}

impl fmt::Display for AppCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.workload, self.protocol, self.carrier)?;
        if let Some(display) = &self.display {
            write!(f, " at {display}")?;
        }
        if !self.speeds.are_full() {
            let Speeds { application, display } = self.speeds;
            write!(f, " application {application} display {display}")?;
        }
        if !self.broadcasts.are_none() {
            write!(f, " broadcasts {}", self.broadcasts)?;
        }
        Ok(())
    }
}
