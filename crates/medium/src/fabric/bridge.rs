//! A store-and-forward bridge that learns; a star has one inside, too.
//!
//! Source: IEEE 802.1D clause 7: a frame is taken whole; a damaged one is discarded (7.5 b); one
//! with a destination behind the port it came from is filtered, one with a known destination is
//! forwarded there, any other is flooded (7.7). Deviations: no spanning tree, because drawings have
//! no loops; what was learned does not age.

use std::collections::VecDeque;

use btu_units::{Bytes, Span, Time};

use super::table::Table;
use crate::account::{Account, Cause};
use crate::frame::{Damage, Frame};
use crate::limit::Limit;

/// Octets of an Ethernet header, which an MTU does not count.
const HEADER: u64 = 14;

/// The properties of a bridge, apart from its table of addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traits {
    /// How many ports it has.
    pub(super) ports: u32,
    /// From a frame's last bit until it waits for the next medium.
    pub(super) latency: Span,
    /// The longest packet it takes.
    pub(super) mtu: Bytes,
}

/// A bridge between its ports 0, 1 and so on.
#[derive(Debug)]
pub(super) struct Bridge {
    traits: Traits,
    table: Table,
    /// Frames in the bridge's latency, in order of the times when that is over.
    inside: VecDeque<Inside>,
    notices: VecDeque<(Frame, Cause)>,
    flood: Option<Flood>,
    account: Account,
}

#[derive(Debug, Clone, Copy)]
struct Inside {
    due: Time,
    from: u32,
    frame: Frame,
}

/// A frame on its way to several ports.
#[derive(Debug, Clone, Copy)]
struct Flood {
    frame: Frame,
    from: u32,
    /// The index of the port to poll next.
    next: u32,
    /// Copies that have not been reported yet.
    untold: u32,
    /// The frame and its copies that are inside.
    held: u32,
}

/// What a bridge's poll answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forwarding {
    /// The frame leaves by the port, now.
    To(u32, Frame),
    /// The frame is gone.
    Drop(Frame, Cause),
    /// One more frame with this tag is inside.
    Duplicate(Frame),
    /// Nothing more before this time.
    Wake(Time),
    /// Nothing more until a frame is accepted.
    Idle,
}

impl Bridge {
    pub(super) fn new(traits: Traits, table: Table) -> Self {
        let (inside, notices) = (VecDeque::new(), VecDeque::new());
        Self { traits, table, inside, notices, flood: None, account: Account::default() }
    }

    /// The addresses that it has learned.
    pub(super) fn table(&mut self) -> &mut Table {
        &mut self.table
    }

    /// Takes a frame that has arrived completely at port `from` at `now`.
    pub(super) fn accept(&mut self, from: u32, frame: Frame, now: Time) {
        self.account.received += 1;
        if let Some(cause) = self.refuses(&frame) {
            return self.notices.push_back((frame, cause));
        }
        self.table.learn(frame.source, from);
        // Most frames that a bridge receives from a shared medium stay there: it discards them
        // here.
        if self.table.find(frame.destination) == Some(from) {
            return self.notices.push_back((frame, Cause::NoRoute));
        }
        if self.inside.len() >= Limit::MOST_FRAMES {
            return self.notices.push_back((frame, Cause::StoreFull));
        }
        self.inside.push_back(Inside { due: now + self.traits.latency, from, frame });
    }

    /// The next event by `now`.
    pub(super) fn poll(&mut self, now: Time) -> Forwarding {
        if let Some((frame, cause)) = self.notices.pop_front() {
            self.account.drop_one(cause);
            return Forwarding::Drop(frame, cause);
        }
        if let Some(forwarding) = self.go_on_flooding() {
            return forwarding;
        }
        match self.inside.front() {
            None => Forwarding::Idle,
            Some(&Inside { due, .. }) if due > now => Forwarding::Wake(due),
            Some(&Inside { from, frame, .. }) => {
                self.inside.pop_front();
                self.forward(from, frame)
            }
        }
    }

    /// The accounts since the last reset.
    pub(super) fn account(&self) -> Account {
        self.account.holding(self.held())
    }

    /// Resets the accounts; what was learned stays.
    pub(super) fn reset(&mut self) {
        self.account = Account::opened_with(self.held());
    }

    fn refuses(&self, frame: &Frame) -> Option<Cause> {
        if frame.damage != Damage::NONE {
            Some(Cause::Damaged)
        } else if frame.length().count() > self.traits.mtu.count().saturating_add(HEADER) {
            Some(Cause::TooLong)
        } else {
            None
        }
    }

    fn forward(&mut self, from: u32, frame: Frame) -> Forwarding {
        match self.table.find(frame.destination) {
            Some(port) if port != from => {
                self.account.delivered += 1;
                Forwarding::To(port, frame)
            }
            None if self.traits.ports > 1 => self.begin_flood(from, frame),
            Some(_) | None => {
                self.account.drop_one(Cause::NoRoute);
                Forwarding::Drop(frame, Cause::NoRoute)
            }
        }
    }

    fn begin_flood(&mut self, from: u32, frame: Frame) -> Forwarding {
        let mut flood = Flood { frame, from, next: 0, untold: self.traits.ports - 2, held: 1 };
        let first = self.next_of(&mut flood);
        self.flood = (flood.held > 0).then_some(flood);
        first
    }

    fn go_on_flooding(&mut self) -> Option<Forwarding> {
        let mut flood = self.flood.take()?;
        let next = self.next_of(&mut flood);
        self.flood = (flood.held > 0).then_some(flood);
        Some(next)
    }

    /// First announces all copies, then delivers them by one port after the other.
    fn next_of(&mut self, flood: &mut Flood) -> Forwarding {
        if flood.untold > 0 {
            flood.untold -= 1;
            flood.held += 1;
            self.account.duplicated += 1;
            return Forwarding::Duplicate(flood.frame);
        }
        if flood.next == flood.from {
            flood.next += 1;
        }
        let port = flood.next;
        flood.next += 1;
        flood.held -= 1;
        self.account.delivered += 1;
        Forwarding::To(port, flood.frame)
    }

    fn held(&self) -> u64 {
        let flooded = self.flood.map_or(0, |flood| u64::from(flood.held));
        (self.inside.len() + self.notices.len()) as u64 + flooded
    }
}
