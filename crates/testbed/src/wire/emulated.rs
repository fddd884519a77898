//! The network between the ports, in the time of this machine.

use btu_medium::{Account, Event, Fabric, Frame, Meter, Port};
use btu_units::{Probability, Span, Time};

use crate::port::now;

/// A network with a time that begins with the wire, as a simulation's does: changes during a run
/// count from there.
#[derive(Debug)]
pub(super) struct EmulatedNetwork {
    fabric: Box<Fabric>,
    origin: Time,
}

impl EmulatedNetwork {
    /// A network that begins now.
    pub(super) fn new(fabric: Fabric) -> Self {
        Self { fabric: Box::new(fabric), origin: now() }
    }

    /// Takes a frame that arrives at `port`; over all ports, in the order of time.
    pub(super) fn accept(&mut self, port: Port, frame: Frame, at: Time) {
        self.fabric.accept(port, frame, Time::ZERO + at.since(self.origin));
    }

    /// The next thing that has happened by `now`.
    pub(super) fn poll(&mut self, now: Time) -> Event {
        let there = |time: Time| self.origin + time.since(Time::ZERO);
        match self.fabric.poll(Time::ZERO + now.since(self.origin)) {
            Event::Deliver(port, frame, due) => Event::Deliver(port, frame, there(due)),
            Event::Wake(time) => Event::Wake(there(time)),
            other => other,
        }
    }

    /// Impairs incoming packets at `port` from now on; returns whether there is an input.
    pub(super) fn impair(&mut self, port: Port, delay: Span, loss: Probability) -> bool {
        self.fabric.impair(port, delay, loss)
    }

    /// The accounts of every element, by name.
    pub(super) fn accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        self.fabric.accounts()
    }

    /// The busy times of segments and links, by name.
    pub(super) fn meters(&self) -> impl Iterator<Item = (&str, Meter)> {
        self.fabric.meters()
    }

    /// Resets the accounts everywhere.
    pub(super) fn reset(&mut self) {
        self.fabric.reset();
    }
}
