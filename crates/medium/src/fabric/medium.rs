//! Any shared medium, dispatched without indirect calls.

use btu_units::Time;

use crate::account::Account;
use crate::fddi::Fddi;
use crate::frame::Frame;
use crate::segment::{Meter, Segment, SegmentStep, Tap};
use crate::shared::SharedEthernet;
use crate::token_ring::TokenRing;

/// One of the shared media; boxed, because a network has few of them and they are large.
#[derive(Debug)]
pub(super) enum Medium {
    SharedEthernet(Box<SharedEthernet>),
    TokenRing(Box<TokenRing>),
    Fddi(Box<Fddi>),
}

/// Calls a method of the same name on the medium, whichever kind it is.
macro_rules! each {
    ($medium:expr, $segment:ident => $call:expr) => {
        match $medium {
            Medium::SharedEthernet($segment) => $call,
            Medium::TokenRing($segment) => $call,
            Medium::Fddi($segment) => $call,
        }
    };
}

impl Segment for Medium {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        each!(self, segment => segment.accept(tap, frame, now));
    }

    fn poll(&mut self, now: Time) -> SegmentStep {
        each!(self, segment => segment.poll(now))
    }

    fn account(&self) -> Account {
        each!(self, segment => segment.account())
    }

    fn meter(&self) -> Meter {
        each!(self, segment => segment.meter())
    }

    fn announce(&mut self, number: u32, tap: Tap) {
        each!(self, segment => segment.announce(number, tap));
    }

    fn reset(&mut self) {
        each!(self, segment => segment.reset());
    }
}
