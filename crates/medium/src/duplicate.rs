//! Random duplication: a share of frames leaves twice, the copy right behind the original.
//!
//! Source: `duplicate` of tc-netem(8). Deviation: netem re-enters the copy at the root of its
//! queue; here it leaves at the same due time.

use btu_units::Time;

use crate::account::Account;
use crate::departures::Departures;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::random::Bernoulli;

/// A duplication of a share of frames.
#[derive(Debug)]
pub struct Duplicate {
    bernoulli: Bernoulli,
    out: Departures,
}

impl Duplicate {
    /// Duplicates what `bernoulli` says.
    pub fn new(bernoulli: Bernoulli) -> Self {
        Self { bernoulli, out: Departures::default() }
    }
}

impl Element for Duplicate {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.out.receive();
        self.out.send(frame, now);
        if self.bernoulli.decide() {
            self.out.duplicate(frame);
            self.out.send(frame, now);
        }
    }

    fn poll(&mut self, now: Time) -> Step {
        self.out.poll(now)
    }

    fn account(&self) -> Account {
        self.out.account(0)
    }

    fn reset(&mut self) {
        self.out.reset(0);
    }
}
