//! Counts the frames that wait at stations that always have more to send.

use super::Fabric;
use super::Port;
use super::node::{Hop, NextHop, Node};
use crate::frame::Frame;

/// The watched stations, and the frames that wait at them.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// By station, if any is watched: whether this one is.
    watched: Vec<bool>,
    /// By station: its frames that it has handed over and that have not yet entered the network.
    outside: Vec<u32>,
    /// By station on a medium: its frames, and copies of them, that the medium holds.
    on_medium: Vec<u32>,
    /// A station that has room, until the driver gets the event.
    room: Option<Port>,
}

impl Backlog {
    pub(super) fn is_watching(&self) -> bool {
        !self.watched.is_empty()
    }

    pub(super) fn take_room(&mut self) -> Option<Port> {
        self.room.take()
    }

    fn watched_source(&self, frame: &Frame) -> Option<u32> {
        let station = frame.source.station_number()?;
        self.watched.get(station as usize).is_some_and(|&watched| watched).then_some(station)
    }
}

impl Fabric {
    /// Reports from now on when fewer frames wait at the station at `port`; call it before the
    /// first frame.
    pub(crate) fn watch(&mut self, port: Port) {
        self.backlog.watched.resize(self.entries.len(), false);
        self.backlog.outside.resize(self.entries.len(), 0);
        self.backlog.on_medium.resize(self.entries.len(), 0);
        self.backlog.watched[port.index()] = true;
    }

    /// How many frames wait or are being sent at a watched station: in its queue and on its first
    /// medium or, where it has a line of its own, before the line's end.
    pub(crate) fn backlog(&self, port: Port) -> u64 {
        let entered = match self.entries[port.index()] {
            NextHop::Line(line) => match &self.nodes[line as usize] {
                // The first stage of a line is its queue and transmitter; what is behind it is
                // under way.
                Node::Line { chain, .. } => {
                    chain.accounts().next().map_or(0, |(_, account)| account.held)
                }
                Node::Medium { .. } | Node::Bridge { .. } | Node::Input { .. } => 0,
            },
            _ => u64::from(self.backlog.on_medium[port.index()]),
        };
        entered + u64::from(self.backlog.outside[port.index()])
    }

    /// Counts a frame that a station hands over.
    pub(super) fn note_hand_over(&mut self, port: Port) {
        if self.backlog.is_watching() {
            self.backlog.outside[port.index()] += 1;
        }
    }

    /// Counts it as entered into the network.
    pub(super) fn note_entry(&mut self, port: Port) {
        if self.backlog.is_watching() {
            self.backlog.outside[port.index()] -= 1;
            self.backlog.on_medium[port.index()] += 1;
        }
    }

    /// Counts an event at a node, if the node is the first of a watched station.
    pub(super) fn note(&mut self, node: u32, hop: &Hop) {
        match hop {
            Hop::Wake(_) | Hop::Idle => {
                if let Node::Line { from: Some(station), .. } = self.nodes[node as usize]
                    && self.backlog.watched[station as usize]
                {
                    self.backlog.room = Some(Port(station));
                }
            }
            Hop::To(_, frame, _) | Hop::Drop(frame, _) => {
                if let Some(station) = self.first_of(node, frame) {
                    self.backlog.on_medium[station as usize] -= 1;
                    self.backlog.room = Some(Port(station));
                }
            }
            Hop::Duplicate(frame) => {
                if let Some(station) = self.first_of(node, frame) {
                    self.backlog.on_medium[station as usize] += 1;
                }
            }
        }
    }

    /// The watched station that sent the frame, if this is its medium.
    fn first_of(&self, node: u32, frame: &Frame) -> Option<u32> {
        let station = self.backlog.watched_source(frame)?;
        matches!(self.entries[station as usize], NextHop::Tap(first, _) if first == node)
            .then_some(station)
    }
}
