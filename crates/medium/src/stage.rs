//! Any element, dispatched without indirect calls.

use btu_network::Change;
use btu_units::Time;

use crate::account::Account;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::{Corrupt, Delay, Duplicate, Jitter, Line, Loss, Reorder, TraceLine, Transmitter};

/// One of the elements, as a part of a chain. Rare ones that are large are boxed, so that a plain
/// line stays small.
#[derive(Debug)]
#[allow(missing_docs)] // each variant is the element of its name
pub enum Stage {
    Line(Line),
    Transmitter(Box<Transmitter>),
    TraceLine(Box<TraceLine>),
    Delay(Delay),
    Jitter(Box<Jitter>),
    Loss(Box<Loss>),
    Corrupt(Corrupt),
    Duplicate(Duplicate),
    Reorder(Box<Reorder>),
}

/// Calls a method of the same name on the element, whichever kind it is.
macro_rules! each {
    ($stage:expr, $element:ident => $call:expr) => {
        match $stage {
            Stage::Line($element) => $call,
            Stage::Transmitter($element) => $call,
            Stage::TraceLine($element) => $call,
            Stage::Delay($element) => $call,
            Stage::Jitter($element) => $call,
            Stage::Loss($element) => $call,
            Stage::Corrupt($element) => $call,
            Stage::Duplicate($element) => $call,
            Stage::Reorder($element) => $call,
        }
    };
}

/// Which parts of a change found their element.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changed {
    pub(crate) rate: bool,
    pub(crate) delay: bool,
    pub(crate) loss: bool,
}

impl Stage {
    /// Applies those parts of `change` that concern this element, from `at` on.
    pub(crate) fn change(&mut self, change: &Change, at: Time, changed: &mut Changed) {
        match (self, change.rate, change.delay, change.loss) {
            (Self::Line(line), Some(rate), ..) => {
                line.change_rate(at, rate);
                changed.rate = true;
            }
            (Self::Transmitter(transmitter), Some(rate), ..) => {
                transmitter.change_rate(at, rate);
                changed.rate = true;
            }
            (Self::Delay(element), _, Some(delay), _) => {
                element.change(at, delay);
                changed.delay = true;
            }
            (Self::Jitter(element), _, Some(delay), _) => {
                element.change(at, delay);
                changed.delay = true;
            }
            (Self::Loss(element), .., Some(loss)) => {
                element.change(at, loss);
                changed.loss = true;
            }
            _ => {}
        }
    }
}

impl Element for Stage {
    fn accept(&mut self, frame: Frame, now: Time) {
        each!(self, element => element.accept(frame, now));
    }

    fn poll(&mut self, now: Time) -> Step {
        each!(self, element => element.poll(now))
    }

    fn account(&self) -> Account {
        each!(self, element => element.account())
    }

    fn reset(&mut self) {
        each!(self, element => element.reset());
    }
}
