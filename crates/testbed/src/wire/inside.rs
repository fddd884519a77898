//! What is between the ports: a small network of chains, or a whole drawn network, told apart without indirect calls.

use btu_medium::{Account, Event, Fabric, Frame, Input, Meter, Network, Port};
use btu_units::Time;

use crate::port::now;

/// Either of the two, driven alike.
#[derive(Debug)]
pub(super) enum Inside {
    /// Chains and a wiring.
    Parts(Box<Network>),
    /// A drawn network. Its own time begins with the wire, as a simulation's does: changes under way count from there.
    Drawn(Box<Fabric>, Time),
}

impl Inside {
    /// A drawn network that begins now.
    pub(super) fn drawn(fabric: Fabric) -> Self {
        Self::Drawn(Box::new(fabric), now())
    }

    /// Takes a frame that arrives at `port`; over all ports, in the order of time.
    pub(super) fn accept(&mut self, port: Port, frame: Frame, at: Time) {
        match self {
            Self::Parts(network) => network.accept(port, frame, at),
            Self::Drawn(fabric, origin) => fabric.accept(port, frame, Time::ZERO + at.since(*origin)),
        }
    }

    /// The next thing that has happened by `now`.
    pub(super) fn poll(&mut self, now: Time) -> Event {
        match self {
            Self::Parts(network) => network.poll(now),
            Self::Drawn(fabric, origin) => match fabric.poll(Time::ZERO + now.since(*origin)) {
                Event::Deliver(port, frame, due) => Event::Deliver(port, frame, *origin + due.since(Time::ZERO)),
                Event::Wake(time) => Event::Wake(*origin + time.since(Time::ZERO)),
                other => other,
            },
        }
    }

    /// The input of the black box at `port`, where there is one.
    pub(super) fn input(&mut self, port: Port) -> Option<&mut Input> {
        match self {
            Self::Parts(network) => network.input(port),
            Self::Drawn(..) => None,
        }
    }

    /// The books of every element, by name.
    pub(super) fn accounts(&self) -> Vec<(&str, Account)> {
        match self {
            Self::Parts(network) => network.accounts().collect(),
            Self::Drawn(fabric, _) => fabric.accounts().collect(),
        }
    }

    /// What segments and links were busy with, by name; chains have no meters.
    pub(super) fn meters(&self) -> Vec<(&str, Meter)> {
        match self {
            Self::Parts(_) => Vec::new(),
            Self::Drawn(fabric, _) => fabric.meters().collect(),
        }
    }

    /// Opens new books everywhere.
    pub(super) fn reset(&mut self) {
        match self {
            Self::Parts(network) => network.reset(),
            Self::Drawn(fabric, _) => fabric.reset(),
        }
    }
}
