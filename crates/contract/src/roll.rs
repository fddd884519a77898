//! The check of all hosts of an inventory: contacts them at the same time and measures the skew of
//! their starts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::HostClock;

/// The name of this study in the store.
pub const STUDY: &str = "hosts";

/// A wall clock with a larger error than this makes logs of two hosts hard to compare, and lets
/// certificates expire at the wrong time.
pub const MOST_APART_NS: u64 = 1_000_000_000;

/// The result of a roll call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roll {
    /// The hosts, in the order in which they were called.
    pub hosts: Vec<Greeted>,
    /// Between the first and the last start of a cell that does nothing, played on all hosts that
    /// could be reserved, in ns by the controller's clock; `None` if fewer than two could.
    pub start_skew_ns: Option<u64>,
    /// The uncertainty of the skew, in ns: twice half of the longest round trip of the clock
    /// probes.
    pub skew_within_ns: u64,
}

/// A host that was called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Greeted {
    /// The user's name for it.
    pub name: String,
    /// The way to it, in words.
    pub reached: String,
    /// Why it did not answer, or not as it should.
    pub trouble: Option<String>,
    /// The answer of the host; absent when it did not answer.
    pub answer: Option<Answer>,
}

/// The answer of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Version of its btu.
    pub btu_version: String,
    /// Version of the protocol.
    pub protocol: u32,
    /// Activities that it can and may do.
    pub activities: Vec<String>,
    /// Its other features.
    pub features: Vec<String>,
    /// The controller that has reserved it, if it is another one.
    pub busy: Option<String>,
    /// Its clock offsets, if it could be reserved.
    pub clock: Option<HostClock>,
    /// When its worker of the empty cell started, in ns after the first of all.
    pub started_after_ns: Option<u64>,
    /// Its processor, kernel and network, as they are stored with a run; null if it could not be
    /// reserved, because reading them would disturb the run that has reserved it.
    pub environment: Value,
    /// The output of `btu hosts doctor --json` there; null in that case, too.
    pub findings: Value,
}

impl Answer {
    /// The error of the host's wall clock, if it is above the limit.
    pub fn clock_apart_ns(&self) -> Option<i64> {
        let apart = self.clock?.wall_offset_ns;
        (apart.unsigned_abs() > MOST_APART_NS).then_some(apart)
    }
}
