//! The stations that held the token in the last lap, which give the times at which it passed each
//! station.

use std::collections::VecDeque;

use btu_units::Time;

/// The holds of the last lap. Between two holds passage `p` is at `start + route.at(p)`; a hold
/// moves the start.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Passages in which the token was held, ascending, and the start up to them, they themselves
    /// included.
    holds: VecDeque<(u64, Time)>,
}

impl History {
    /// Adds a passage in which the token was held; its time follows from `start`. Passages more
    /// than a lap ago are removed.
    pub(crate) fn push(&mut self, passage: u64, start: Time, stations: u64) {
        while self.holds.pop_front_if(|hold| hold.0 + stations <= passage).is_some() {}
        self.holds.push_back((passage, start));
    }

    /// The start from which the passage a lap before this one follows; `start` is today's.
    pub(crate) fn start_a_lap_before(&self, passage: u64, start: Time, stations: u64) -> Time {
        let place = self.holds.partition_point(|hold| hold.0 + stations < passage);
        self.holds.get(place).map_or(start, |hold| hold.1)
    }
}
