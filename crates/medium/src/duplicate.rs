//! Random duplication: a share of frames leaves twice, the copy right behind the original.
//!
//! Source: `duplicate` of tc-netem(8). Deviation: netem re-enters the copy at the root of its
//! queue; here it leaves at the same due time.

use btu_units::Time;

use crate::departures::{Departing, Departures};
use crate::frame::Frame;
use crate::random::Bernoulli;

/// A duplication of a share of frames.
#[derive(Debug)]
pub struct Duplicate {
    bernoulli: Bernoulli,
    out: Departures,
}

impl Duplicate {
    /// Duplicates the frames that `bernoulli` selects.
    pub fn new(bernoulli: Bernoulli) -> Self {
        Self { bernoulli, out: Departures::default() }
    }
}

impl Departing for Duplicate {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, frame: Frame, now: Time) {
        self.out.send(frame, now);
        if self.bernoulli.decide() {
            self.out.duplicate(frame);
            self.out.send(frame, now);
        }
    }
}
