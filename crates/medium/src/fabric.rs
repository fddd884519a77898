//! A whole drawn network: media, lines and bridges, and the frames that pass between them.
//!
//! A fabric is its own virtual-time loop. Frames that are accepted wait until a poll reaches their
//! time; a poll lets one thing after the other happen, in the order of their times, up to its
//! `now`. So time never decreases in any part of the network, and the results do not depend on when
//! or how often a driver polls. At equal times the order is: changes of links, events inside the
//! network (the node drawn first goes first), then frames from outside in the order in which they
//! were accepted.

mod accounts;
mod announce;
mod backlog;
mod bridge;
mod build;
mod changes;
mod gauge;
mod medium;
mod node;
#[cfg(test)]
mod properties;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod timers;

use std::collections::VecDeque;

use btu_network::{Change, Drawing, Loss, Way};
use btu_units::{Probability, Span, Time};

use crate::account::Cause;
use crate::frame::Frame;
use crate::shared::SharedEthernetError;
pub(crate) use accounts::Carried;
use backlog::Backlog;
use changes::Changes;
use node::{Hop, NextHop, Node};
pub(crate) use timers::TimerHeap;

/// A drawn network as one machine: port `n` is the drawing's station `n`. Driven like an
/// [`crate::Element`], with ports named.
///
/// Stations of the drawing are known by [`crate::Address::of_station`]; frames from and to other
/// addresses pass as on any network with bridges: they are flooded until their ports are known.
///
/// Links change at their times after [`Time::ZERO`]: a driver in real time counts from when the
/// network came up.
#[derive(Debug)]
pub struct Fabric {
    nodes: Vec<Node>,
    /// The time at which each node must be polled.
    timers: TimerHeap,
    /// Where each station's frames enter.
    entries: Vec<NextHop>,
    /// The nodes of each segment.
    segments: Vec<std::ops::Range<u32>>,
    /// The two lines of each link.
    links: Vec<[u32; 2]>,
    /// The nodes of the inputs, with their stations.
    inputs: Vec<(Port, u32)>,
    /// Frames from outside with times in the future.
    pending: VecDeque<(Time, Port, Frame)>,
    /// The node that is being polled for its events.
    asked: Option<u32>,
    /// The changes of links during a run.
    changes: Changes,
    /// The network's time.
    clock: Time,
    received: u64,
    delivered: u64,
    backlog: Backlog,
}

/// The events that a simulation gets in addition to those for a driver of real frames.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FabricEvent {
    /// An event that [`Fabric::poll`] reports.
    Event(Event),
    /// Fewer frames wait at this station than before.
    Room(Port),
}

impl Fabric {
    /// The network of `drawing`; all its random streams come from `seed` and the names of its
    /// parts.
    ///
    /// # Errors
    /// When a shared Ethernet cannot be built as drawn; see [`SharedEthernetError`].
    pub fn of(drawing: &Drawing, seed: u64) -> Result<Self, SharedEthernetError> {
        Self::with_inputs(drawing, seed, &[])
    }

    /// As [`Self::of`]; frames that arrive at the stations of `inputs` can be impaired
    /// ([`Self::impair`]). A station that the drawing does not have is our own bug.
    ///
    /// # Errors
    /// As [`Self::of`].
    ///
    /// # Panics
    /// When there is no such station.
    pub fn with_inputs(
        drawing: &Drawing,
        seed: u64,
        inputs: &[Port],
    ) -> Result<Self, SharedEthernetError> {
        let build = build::build(drawing, seed, inputs)?;
        Ok(Self {
            timers: TimerHeap::new(build.nodes.len()),
            pending: VecDeque::new(),
            asked: None,
            clock: Time::ZERO,
            received: 0,
            delivered: 0,
            changes: Changes::of(drawing, &build.links),
            backlog: Backlog::default(),
            nodes: build.nodes,
            entries: build.entries,
            segments: build.segments,
            links: build.links,
            inputs: build.inputs,
        })
    }

    /// How many ports there are: one for each station.
    pub fn ports(&self) -> usize {
        self.entries.len()
    }

    /// From now on, loses this share of the IP packets that come in to the station at `port`, and
    /// delays every frame: so address resolution still works and no frame overtakes another. Frames
    /// in flight keep their times. Returns whether the station has an input.
    #[must_use]
    pub fn impair(&mut self, port: Port, delay: Span, loss: Probability) -> bool {
        let Some(&(_, node)) = self.inputs.iter().find(|(station, _)| *station == port) else {
            return false;
        };
        let Node::Input { chain, .. } = &mut self.nodes[node as usize] else { return false };
        let loss = Some(Loss::Random(loss));
        // A chain that was changed must be polled again.
        self.timers.set(node, self.clock);
        chain.change(
            &Change { at: Span::ZERO, way: Way::Both, rate: None, delay: Some(delay), loss },
            self.clock,
        )
    }

    /// Takes a frame that the station at `port` hands over at `now`. A port that the drawing does
    /// not have is our own bug.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn accept(&mut self, port: Port, frame: Frame, now: Time) {
        assert!(port.index() < self.entries.len(), "{port:?} of {}", self.entries.len());
        self.received += 1;
        self.note_hand_over(port);
        self.pending.push_back((now, port, frame));
    }

    /// The next event by `now`; call it until it answers [`Event::Wake`] or [`Event::Idle`].
    pub fn poll(&mut self, now: Time) -> Event {
        loop {
            if let FabricEvent::Event(event) = self.next(now) {
                return event;
            }
        }
    }

    /// As [`Self::poll`], and also when a station that is watched has room ([`Self::watch`]).
    pub(crate) fn next(&mut self, now: Time) -> FabricEvent {
        if let Some(port) = self.backlog.take_room() {
            return FabricEvent::Room(port);
        }
        while let Some(node) = self.asked.or_else(|| self.advance(now)) {
            self.asked = Some(node);
            let hop = self.nodes[node as usize].poll(self.clock);
            if self.backlog.is_watching() {
                self.note(node, &hop);
            }
            match hop {
                Hop::To(NextHop::Station(station), frame, due) => {
                    self.delivered += 1;
                    return FabricEvent::Event(Event::Deliver(Port(station), frame, due));
                }
                Hop::To(place, frame, _) => {
                    let next = self.hand(place, frame);
                    self.timers.set(next, self.clock);
                }
                Hop::Drop(frame, cause) => return FabricEvent::Event(Event::Drop(frame, cause)),
                Hop::Duplicate(frame) => return FabricEvent::Event(Event::Duplicate(frame)),
                Hop::Wake(time) => {
                    self.quiet(|timers, clock| timers.set(node, time.max(clock + INSTANT)));
                }
                Hop::Idle => self.quiet(|timers, _| timers.clear(node)),
            }
            if let Some(port) = self.backlog.take_room() {
                return FabricEvent::Room(port);
            }
        }
        FabricEvent::Event(
            self.timers.earliest().map_or(Event::Idle, |(time, _)| Event::Wake(time)),
        )
    }

    /// The network's time: the time of the last event.
    pub(crate) fn clock(&self) -> Time {
        self.clock
    }

    /// Moves the clock to the next event by `now`, and returns the node at which it happens.
    fn advance(&mut self, now: Time) -> Option<u32> {
        let alarm = self.timers.earliest().filter(|&(time, _)| time <= now);
        let input = self.pending.front().map(|&(time, ..)| time).filter(|&time| time <= now);
        if let Some(node) = self.change(alarm.map(|(time, _)| time).into_iter().chain(input).min())
        {
            return Some(node);
        }
        match (alarm, input) {
            (Some((time, node)), input) if input.is_none_or(|input| time <= input) => {
                self.clock = self.clock.max(time);
                Some(node)
            }
            (_, Some(time)) => {
                self.clock = self.clock.max(time);
                let (_, port, frame) = self.pending.pop_front()?;
                self.note_entry(port);
                Some(self.hand(self.entries[port.index()], frame))
            }
            (_, None) => None,
        }
    }

    /// Hands a frame to the node of `place`, which is not a station, and returns the node.
    fn hand(&mut self, place: NextHop, frame: Frame) -> u32 {
        let (NextHop::Tap(node, _)
        | NextHop::Line(node)
        | NextHop::Bridge(node, _)
        | NextHop::Station(node)) = place;
        self.nodes[node as usize].accept(place, frame, self.clock);
        node
    }

    /// Ends the polling of a node.
    fn quiet(&mut self, set: impl FnOnce(&mut TimerHeap, Time)) {
        set(&mut self.timers, self.clock);
        self.asked = None;
    }
}

/// The least difference between a wake-up and the time of the last poll: every node guarantees it.
const INSTANT: Span = Span::from_nanoseconds(1);

/// One of a fabric's ports: station `n` of the drawing is at port `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

impl Port {
    /// Its index in lists of ports.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a fabric's poll answers; see [`crate::Step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The frame goes out at the port; it was due at this time.
    Deliver(Port, Frame, Time),
    /// The frame is gone.
    Drop(Frame, Cause),
    /// One more frame with this tag is inside.
    Duplicate(Frame),
    /// Nothing more before this time.
    Wake(Time),
    /// Nothing more until a frame is accepted.
    Idle,
}
