//! The counters of a replication.

use btu_stats::{Histogram, Welford};
use btu_units::{Bytes, Span};

use crate::account::Cause;

/// Delays up to a day have their own buckets.
const LONGEST_DELAY: Span = Span::from_seconds(86_400);

/// The figures of a flow. Sizes are those of the network file.
#[derive(Debug, Clone)]
pub(super) struct FlowTally {
    pub(super) offered: FrameVolume,
    pub(super) delivered: FrameVolume,
    /// Copies that arrived beyond the first.
    pub(super) duplicates: u64,
    /// The number of dropped frames, by [`Cause`].
    pub(super) dropped: [u64; Cause::ALL.len()],
    pub(super) delays: Delays,
    /// Exchanges of a closed flow.
    pub(super) exchanges: Option<Delays>,
}

/// Frames and their octets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FrameVolume {
    pub(super) frames: u64,
    pub(super) octets: u64,
}

impl FrameVolume {
    pub(super) fn count(&mut self, size: Bytes) {
        self.frames += 1;
        self.octets += size.count();
    }
}

/// A distribution of delays, and its moments without the distribution's rounding.
#[derive(Debug, Clone)]
pub(super) struct Delays {
    /// The moments of the delay, in seconds.
    pub(super) moments: Welford,
    pub(super) distribution: Histogram,
}

impl Delays {
    pub(super) fn new() -> Self {
        Self {
            moments: Welford::default(),
            distribution: Histogram::reaching(LONGEST_DELAY.nanoseconds()),
        }
    }

    pub(super) fn count(&mut self, delay: Span) {
        self.moments.push(delay.seconds());
        self.distribution.record(delay.nanoseconds());
    }
}

impl FlowTally {
    pub(super) fn new(closed: bool) -> Self {
        Self {
            offered: FrameVolume::default(),
            delivered: FrameVolume::default(),
            duplicates: 0,
            dropped: [0; Cause::ALL.len()],
            delays: Delays::new(),
            exchanges: closed.then(Delays::new),
        }
    }
}

/// The figures of a station.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StationTally {
    /// The frames that it handed over.
    pub(super) offered: FrameVolume,
    /// The frames of these that arrived.
    pub(super) delivered: FrameVolume,
    /// The sum of the delays of the frames that arrived, in seconds.
    pub(super) delay_sum: f64,
    /// The frames of these that were lost.
    pub(super) dropped: u64,
    /// The frames that arrived at the station.
    pub(super) received: FrameVolume,
}
