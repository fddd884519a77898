//! Any shared medium, told apart without indirect calls.

use btu_units::Time;

use super::hub::Hub;
use crate::account::Account;
use crate::frame::Frame;
use crate::segment::{Meter, Passage, Segment, Tap};

/// One of the shared media; boxed, because a network has few of them and they are large.
#[derive(Debug)]
pub(super) enum Medium {
    Hub(Box<Hub>),
}

/// The same method on whichever medium it is.
macro_rules! each {
    ($medium:expr, $segment:ident => $call:expr) => {
        match $medium {
            Medium::Hub($segment) => $call,
        }
    };
}

impl Segment for Medium {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        each!(self, segment => segment.accept(tap, frame, now));
    }

    fn poll(&mut self, now: Time) -> Passage {
        each!(self, segment => segment.poll(now))
    }

    fn account(&self) -> Account {
        each!(self, segment => segment.account())
    }

    fn meter(&self) -> Meter {
        each!(self, segment => segment.meter())
    }

    fn reset(&mut self) {
        each!(self, segment => segment.reset());
    }
}
