//! What tells one cell of `btu app` from another.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Carrier, Protocol, Workload};

/// A picture, drawn in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppCell {
    /// The picture.
    pub workload: Workload,
    /// Who waits for whom.
    pub protocol: Protocol,
    /// What carries the requests.
    pub carrier: Carrier,
}

impl fmt::Display for AppCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.workload, self.protocol, self.carrier)
    }
}
