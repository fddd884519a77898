//! The check of all hosts of an inventory: contacts them at the same time and measures how far
//! apart they start.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::HostClock;

/// The name of this suite in the store.
pub const SUITE: &str = "hosts";

/// A wall clock that is off by more than this confuses users who compare two hosts' logs, and lets
/// certificates lapse at the wrong time.
pub const MOST_APART_NS: u64 = 1_000_000_000;

/// What came of a roll call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Roll {
    /// The hosts, in the order in which they were called.
    pub hosts: Vec<Greeted>,
    /// Between the first and the last start of a cell that does nothing, played on all hosts that
    /// could be reserved, in ns by the controller's clock; nothing where fewer than two could.
    pub start_skew_ns: Option<u64>,
    /// The skew is true within this, in ns: twice half of the longest round trip of the probes that
    /// told the clocks.
    pub skew_within_ns: u64,
}

/// A host that was called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Greeted {
    /// What the user calls it.
    pub name: String,
    /// The way to it, in words.
    pub reached: String,
    /// Why it did not answer, or not as it should.
    pub trouble: Option<String>,
    /// The answer of the host; absent when it did not answer.
    pub answer: Option<Answer>,
}

/// What a host answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Version of its btu.
    pub btu_version: String,
    /// Version of the protocol.
    pub protocol: u32,
    /// Activities that it can and may do.
    pub activities: Vec<String>,
    /// What else it can do.
    pub features: Vec<String>,
    /// The controller that has it, if it is another one.
    pub busy: Option<String>,
    /// Where its clocks stand, where it could be reserved.
    pub clock: Option<HostClock>,
    /// When its worker of the empty cell started, in ns after the first of all.
    pub started_after_ns: Option<u64>,
    /// Its processor, kernel and network, as they are stored with a run; null where it could not be
    /// reserved, since looking at a host would disturb the run that has reserved it.
    pub environment: Value,
    /// What `btu doctor --json` prints there; null in the same case.
    pub findings: Value,
}

impl Answer {
    /// How far the host's wall clock is off, where that is more than it should be.
    pub fn clock_apart_ns(&self) -> Option<i64> {
        let apart = self.clock?.wall_offset_ns;
        (apart.unsigned_abs() > MOST_APART_NS).then_some(apart)
    }
}
