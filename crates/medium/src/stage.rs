//! Any element, told apart without indirect calls.

use btu_units::Time;

use crate::account::Account;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::{Delay, Duplicate, Input, Line, Loss, Pass, Reorder};

/// One of the elements, as a part of a chain.
#[derive(Debug)]
#[allow(missing_docs)] // each variant is the element of its name
pub enum Stage {
    Pass(Pass),
    Line(Line),
    Delay(Delay),
    Loss(Loss),
    Duplicate(Duplicate),
    Reorder(Reorder),
    Input(Input),
}

/// The same method on whichever element it is.
macro_rules! each {
    ($stage:expr, $element:ident => $call:expr) => {
        match $stage {
            Stage::Pass($element) => $call,
            Stage::Line($element) => $call,
            Stage::Delay($element) => $call,
            Stage::Loss($element) => $call,
            Stage::Duplicate($element) => $call,
            Stage::Reorder($element) => $call,
            Stage::Input($element) => $call,
        }
    };
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
