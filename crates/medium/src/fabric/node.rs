//! The kinds of nodes in a drawing, and the destinations of their frames.

use btu_units::Time;

use super::bridge::{Bridge, Forwarding};
use super::gauge::Gauge;
use super::medium::Medium;
use crate::account::{Account, Cause};
use crate::chain::Chain;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::segment::{Segment, SegmentStep, Tap};

/// The next destination of frames. Nodes are named by their index in the fabric's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextHop {
    /// Out of the network, at a station.
    Station(u32),
    /// Onto a medium at a tap.
    Tap(u32, Tap),
    /// Into a line, or into a station's input.
    Line(u32),
    /// Into a bridge by one of its ports.
    Bridge(u32, u32),
}

/// What a node's poll answers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hop {
    /// The frame goes on; it was due at this time.
    To(NextHop, Frame, Time),
    /// The frame is gone.
    Drop(Frame, Cause),
    /// One more frame with this tag is inside.
    Duplicate(Frame),
    /// Nothing more before this time.
    Wake(Time),
    /// Nothing more until a frame is accepted.
    Idle,
}

impl Hop {
    /// A chain's step as a step of the fabric: frames that it delivers go to `exit`.
    fn of(step: Step, exit: NextHop) -> Self {
        match step {
            Step::Deliver(frame, due) => Self::To(exit, frame, due),
            Step::Drop(frame, cause) => Self::Drop(frame, cause),
            Step::Duplicate(frame) => Self::Duplicate(frame),
            Step::Wake(time) => Self::Wake(time),
            Step::Idle => Self::Idle,
        }
    }
}

/// A part of the network, with its name as drawn and the places its frames go to.
#[derive(Debug)]
pub(super) enum Node {
    /// A shared medium or ring; exits by tap.
    Medium { name: String, medium: Medium, exits: Vec<NextHop> },
    /// One direction of a line; its parts have names of their own. `from` is the station that sends
    /// on it, if one does.
    Line { name: String, from: Option<u32>, chain: Box<Chain>, gauge: Gauge, exit: NextHop },
    /// The impairments of a station's incoming packets; its parts have names of their own.
    Input { chain: Box<Chain>, exit: NextHop },
    /// A bridge, or the inside of a star; exits by port.
    Bridge { name: String, bridge: Box<Bridge>, exits: Vec<NextHop> },
}

impl Node {
    /// The destination of its frames.
    pub(super) fn exits(&mut self) -> &mut [NextHop] {
        match self {
            Self::Medium { exits, .. } | Self::Bridge { exits, .. } => exits,
            Self::Line { exit, .. } | Self::Input { exit, .. } => std::slice::from_mut(exit),
        }
    }

    /// Takes a frame that arrives at `now` at the node of `place`.
    pub(super) fn accept(&mut self, place: NextHop, frame: Frame, now: Time) {
        match (self, place) {
            (Self::Medium { medium, .. }, NextHop::Tap(_, tap)) => medium.accept(tap, frame, now),
            (Self::Line { chain, .. } | Self::Input { chain, .. }, NextHop::Line(_)) => {
                chain.accept(frame, now);
            }
            (Self::Bridge { bridge, .. }, NextHop::Bridge(_, port)) => {
                bridge.accept(port, frame, now);
            }
            (node, place) => {
                unreachable!("{place:?} leads to {node:?}: the fabric was put together wrongly")
            }
        }
    }

    /// The next event by `now`.
    pub(super) fn poll(&mut self, now: Time) -> Hop {
        match self {
            Self::Medium { medium, exits, .. } => match medium.poll(now) {
                SegmentStep::Deliver(tap, frame, due) => Hop::To(exits[tap.index()], frame, due),
                SegmentStep::Drop(frame, cause) => Hop::Drop(frame, cause),
                SegmentStep::Duplicate(frame) => Hop::Duplicate(frame),
                SegmentStep::Wake(time) => Hop::Wake(time),
                SegmentStep::Idle => Hop::Idle,
            },
            Self::Line { chain, gauge, exit, .. } => {
                let step = chain.poll(now);
                if let Step::Deliver(frame, _) = &step {
                    gauge.count(frame);
                }
                Hop::of(step, *exit)
            }
            Self::Input { chain, exit } => Hop::of(chain.poll(now), *exit),
            Self::Bridge { bridge, exits, .. } => match bridge.poll(now) {
                Forwarding::To(port, frame) => Hop::To(exits[port as usize], frame, now),
                Forwarding::Drop(frame, cause) => Hop::Drop(frame, cause),
                Forwarding::Duplicate(frame) => Hop::Duplicate(frame),
                Forwarding::Wake(time) => Hop::Wake(time),
                Forwarding::Idle => Hop::Idle,
            },
        }
    }

    /// Its accounts as a whole.
    pub(super) fn account(&self) -> Account {
        match self {
            Self::Medium { medium, .. } => medium.account(),
            Self::Line { chain, .. } | Self::Input { chain, .. } => chain.account(),
            Self::Bridge { bridge, .. } => bridge.account(),
        }
    }

    /// Resets the accounts to what is inside now.
    pub(super) fn reset(&mut self) {
        match self {
            Self::Medium { medium, .. } => medium.reset(),
            Self::Line { chain, gauge, .. } => {
                chain.reset();
                gauge.reset();
            }
            Self::Input { chain, .. } => chain.reset(),
            Self::Bridge { bridge, .. } => bridge.reset(),
        }
    }
}
