//! The result of a replication.

use serde::Serialize;

use super::tally::{FlowTally, FrameVolume, StationTally};
use crate::fabric::Carried;

/// Everything that was counted in one replication after its warm-up.
#[derive(Debug, Clone)]
pub struct Replication {
    pub(super) flows: Vec<FlowTally>,
    pub(super) stations: Vec<StationTally>,
    /// At the end of the warm-up and of each batch.
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) accounts: Accounts,
}

impl Replication {
    /// The accounts of all frames of this replication.
    pub fn accounts(&self) -> Accounts {
        self.accounts
    }
}

/// The sums at a moment.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    /// By segment, then by link and direction.
    pub(super) carried: Vec<Carried>,
    /// The sums of each flow.
    pub(super) flows: Vec<FlowSum>,
}

/// The sums of a flow at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowSum {
    pub(super) offered: FrameVolume,
    pub(super) delivered: FrameVolume,
    /// The sum of all delays, in seconds.
    pub(super) delays: f64,
}

impl From<&FlowTally> for FlowSum {
    fn from(tally: &FlowTally) -> Self {
        let moments = &tally.delays.moments;
        let delays = moments.mean().unwrap_or(0.0) * moments.count() as f64;
        Self { offered: tally.offered, delivered: tally.delivered, delays }
    }
}

/// Frames, each counted once however many copies of it there are: inside at the start + generated =
/// delivered + dropped + inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Accounts {
    /// Under way when the warm-up was over.
    pub inside_at_start: u64,
    /// Handed over by applications.
    pub generated: u64,
    /// Frames that arrived at their destination.
    pub delivered: u64,
    /// Frames that were lost.
    pub dropped: u64,
    /// Under way at the end, counted where they are stored.
    pub inside: u64,
}

/// The accounts while they are written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AccountCounters {
    pub(super) inside_at_start: u64,
    pub(super) generated: u64,
    pub(super) delivered: u64,
    pub(super) dropped: u64,
}

impl Accounts {
    pub(super) fn new(counts: AccountCounters, inside: u64) -> Self {
        let AccountCounters { inside_at_start, generated, delivered, dropped } = counts;
        Self { inside_at_start, generated, delivered, dropped, inside }
    }

    /// Whether every frame is accounted for.
    pub(crate) fn is_balanced(&self) -> bool {
        self.inside_at_start + self.generated == self.delivered + self.dropped + self.inside
    }

    /// The accounts of two replications together.
    #[must_use]
    pub(super) fn combined_with(self, other: Self) -> Self {
        Self {
            inside_at_start: self.inside_at_start + other.inside_at_start,
            generated: self.generated + other.generated,
            delivered: self.delivered + other.delivered,
            dropped: self.dropped + other.dropped,
            inside: self.inside + other.inside,
        }
    }
}
