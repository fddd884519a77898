//! Lets every frame pass at once: a named place where frames are counted.

use btu_units::Time;

use crate::account::Account;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::outbox::Outbox;

/// A piece of wire without length.
#[derive(Debug, Default)]
pub struct Pass(Outbox);

impl Pass {
    /// A piece of wire.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Element for Pass {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.0.receive();
        self.0.send(frame, now);
    }

    fn poll(&mut self, now: Time) -> Step {
        self.0.poll(now)
    }

    fn account(&self) -> Account {
        self.0.account(0)
    }

    fn reset(&mut self) {
        self.0.reset(0);
    }
}
