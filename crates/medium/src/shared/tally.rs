//! The busy times of a shared Ethernet.

use btu_units::{Span, Time};

use crate::segment::Meter;

/// How often a station tries to send a frame (IEEE 802.3-2018, 4.4.2: attemptLimit).
pub const MOST_ATTEMPTS: usize = 16;

/// The type that the module describes.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    meter: Meter,
    /// The last interval that was lost to collisions: from and until.
    spoilt: (Time, Time),
    /// Frames by the number of collisions before they were carried.
    carried_after: [u64; MOST_ATTEMPTS],
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            meter: Meter { lines: 1, ..Meter::default() },
            spoilt: (Time::ZERO, Time::ZERO),
            carried_after: [0; MOST_ATTEMPTS],
        }
    }
}

impl Tally {
    /// Enters a frame that was carried, with what it occupied beyond its octets.
    pub(super) fn carry(&mut self, data: Span, overhead: Span, collisions: u8) {
        self.meter.data += data;
        self.meter.overhead += overhead;
        self.meter.frames += 1;
        self.carried_after[usize::from(collisions).min(MOST_ATTEMPTS - 1)] += 1;
    }

    /// Enters a transmission that collided; those that overlap, gaps included, are one collision.
    pub(super) fn collide(&mut self, start: Time, end: Time) {
        let (from, until) = self.spoilt;
        if start >= until {
            self.meter.collision_count += 1;
            self.meter.collisions += end.since(start);
            self.spoilt = (start, end);
        } else {
            self.meter.collisions += from.since(start) + end.since(until);
            self.spoilt = (from.min(start), until.max(end));
        }
    }

    pub(super) fn meter(&self) -> Meter {
        self.meter
    }

    pub(super) fn carried_after(&self) -> [u64; MOST_ATTEMPTS] {
        self.carried_after
    }

    /// Resets the counts; the last lost interval is kept, so that it is not counted twice.
    pub(super) fn reset(&mut self) {
        *self = Self { spoilt: self.spoilt, ..Self::default() };
    }
}
