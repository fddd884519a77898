//! A small network: ports, a chain of elements each way at every port, and a wiring between them.
//!
//! ```text
//! port --> inbound chain --+          +-- outbound chain --> port
//!                          +- wiring -+
//! port --> inbound chain --+          +-- outbound chain --> port
//! ```
//!
//! Frames that leave the inbound chains go through the wiring in the order of their due times.

use btu_units::Time;

use crate::account::{Account, Cause};
use crate::chain::Chain;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::input::Input;
use crate::switch::{Route, Switch};

/// One of a network's ports, numbered from 0 in the order in which they were attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

impl Port {
    /// Its place in lists of ports.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The two chains at a port.
#[derive(Debug)]
pub struct Attachment {
    /// What frames pass that come from the port.
    pub inbound: Chain,
    /// What frames pass that go to the port.
    pub outbound: Chain,
}

/// How ports are connected.
#[derive(Debug)]
pub enum Wiring {
    /// Every port leads to one other: the list says which, by place. A list that is too short leads nowhere.
    Patch(Vec<Port>),
    /// A learning switch between all ports.
    Switch,
}

/// What a network's poll answers; see [`Step`].
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

/// Ports and what is between them. Driven like an [`Element`], with ports named.
#[derive(Debug)]
pub struct Network {
    attachments: Vec<Attachment>,
    patch: Option<Vec<Port>>,
    switch: Switch,
    /// The next frame of each inbound chain that is due, held until it is the earliest of all.
    heads: Vec<Head>,
    /// The wiring's books.
    middle: Account,
    /// Copies of a flooded frame that have still to be told.
    copies: Vec<Frame>,
    progress: Progress,
    wake: Step,
}

/// An inbound chain's next frame, or that it has none for now.
#[derive(Debug, Clone, Copy)]
enum Head {
    Unknown,
    Due(Frame, Time),
    Quiet,
}

/// Where a poll is.
#[derive(Debug, Clone, Copy)]
enum Progress {
    Inbound,
    Outbound(usize),
}

impl Network {
    /// A network with these ports and this wiring between them.
    pub fn new(attachments: Vec<Attachment>, wiring: Wiring) -> Self {
        let heads = vec![Head::Unknown; attachments.len()];
        let patch = if let Wiring::Patch(patch) = wiring { Some(patch) } else { None };
        Self {
            attachments,
            patch,
            switch: Switch::default(),
            heads,
            middle: Account::default(),
            copies: Vec::new(),
            progress: Progress::Inbound,
            wake: Step::Idle,
        }
    }

    /// Takes a frame that arrives at `port` at `now`. A port the network does not have is our own bug.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn accept(&mut self, port: Port, frame: Frame, now: Time) {
        self.attachments[port.index()].inbound.accept(frame, now);
        self.restart();
    }

    /// The next thing that has happened by `now`; call it until it answers [`Event::Wake`] or [`Event::Idle`].
    pub fn poll(&mut self, now: Time) -> Event {
        if let Progress::Inbound = self.progress {
            if let Some(event) = self.poll_inbound(now) {
                return event;
            }
            self.progress = Progress::Outbound(0);
        }
        match self.copies.pop() {
            Some(copy) => Event::Duplicate(copy),
            None => self.poll_outbound(now),
        }
    }

    /// The input of the black box at `port`, where there is one on the way out to it.
    pub fn input(&mut self, port: Port) -> Option<&mut Input> {
        self.attachments.get_mut(port.index())?.outbound.input()
    }

    /// The books of every element and, as `wiring`, of what is between them.
    pub fn accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        let inbound = self.attachments.iter().flat_map(|attachment| attachment.inbound.accounts());
        let outbound = self.attachments.iter().flat_map(|attachment| attachment.outbound.accounts());
        inbound.chain(std::iter::once(("wiring", self.wiring_account()))).chain(outbound)
    }

    /// The books of the whole, seen from its ports.
    pub fn account(&self) -> Account {
        let sum = |chains: &mut dyn Iterator<Item = Account>| chains.fold(Account::default(), Account::beside);
        let inbound = sum(&mut self.attachments.iter().map(|attachment| attachment.inbound.account()));
        let outbound = sum(&mut self.attachments.iter().map(|attachment| attachment.outbound.account()));
        inbound.followed_by(&self.wiring_account()).followed_by(&outbound)
    }

    /// Opens new books everywhere.
    pub fn reset(&mut self) {
        for attachment in &mut self.attachments {
            attachment.inbound.reset();
            attachment.outbound.reset();
        }
        self.middle = Account::opened_with(self.waiting_heads());
    }

    /// Begins a poll anew; frames that are due already stay where they are.
    fn restart(&mut self) {
        (self.progress, self.wake) = (Progress::Inbound, Step::Idle);
        for head in &mut self.heads {
            if let Head::Quiet = head {
                *head = Head::Unknown;
            }
        }
    }

    /// Moves what is due through the wiring, the earliest frame first, and reports what the inbound chains tell.
    fn poll_inbound(&mut self, now: Time) -> Option<Event> {
        loop {
            for port in 0..self.heads.len() {
                if let Some(event) = self.look(port, now) {
                    return Some(event);
                }
            }
            let (port, frame, due) = self.earliest()?;
            self.heads[port] = Head::Unknown;
            let dropped = self.forward(Port(port as u32), frame, due);
            if dropped.is_some() {
                return dropped;
            }
        }
    }

    /// Finds out what an inbound chain has next.
    fn look(&mut self, port: usize, now: Time) -> Option<Event> {
        if !matches!(self.heads[port], Head::Unknown) {
            return None;
        }
        match self.attachments[port].inbound.poll(now) {
            Step::Deliver(frame, due) => {
                self.middle.received += 1;
                self.heads[port] = Head::Due(frame, due);
            }
            Step::Drop(frame, cause) => return Some(Event::Drop(frame, cause)),
            Step::Duplicate(frame) => return Some(Event::Duplicate(frame)),
            quiet @ (Step::Wake(_) | Step::Idle) => {
                self.wake = self.wake.sooner(quiet);
                self.heads[port] = Head::Quiet;
            }
        }
        None
    }

    fn earliest(&self) -> Option<(usize, Frame, Time)> {
        let due = self.heads.iter().enumerate().filter_map(|(port, head)| match *head {
            Head::Due(frame, due) => Some((port, frame, due)),
            Head::Unknown | Head::Quiet => None,
        });
        due.min_by_key(|&(_, _, due)| due)
    }

    /// Sends a frame through the wiring.
    fn forward(&mut self, from: Port, frame: Frame, due: Time) -> Option<Event> {
        match self.route(from, &frame) {
            Route::To(port) if port.index() < self.attachments.len() => self.hand_out(port.index(), frame, due),
            Route::AllBut(from) if self.attachments.len() > 1 => self.flood(from, frame, due),
            Route::To(_) | Route::AllBut(_) | Route::Nowhere => {
                self.middle.drop_one(Cause::NoRoute);
                return Some(Event::Drop(frame, Cause::NoRoute));
            }
        }
        None
    }

    fn route(&mut self, from: Port, frame: &Frame) -> Route {
        match &self.patch {
            Some(patch) => patch.get(from.index()).map_or(Route::Nowhere, |&to| Route::To(to)),
            None => self.switch.route(from, frame),
        }
    }

    fn flood(&mut self, from: Port, frame: Frame, due: Time) {
        let others = (0..self.attachments.len()).filter(|&port| port != from.index());
        for (count, port) in others.enumerate() {
            if count > 0 {
                self.middle.duplicated += 1;
                self.copies.push(frame);
            }
            self.attachments[port].outbound.accept(frame, due);
            self.middle.delivered += 1;
        }
    }

    fn hand_out(&mut self, port: usize, frame: Frame, due: Time) {
        self.attachments[port].outbound.accept(frame, due);
        self.middle.delivered += 1;
    }

    fn poll_outbound(&mut self, now: Time) -> Event {
        while let Progress::Outbound(port) = self.progress {
            let Some(attachment) = self.attachments.get_mut(port) else { break };
            match attachment.outbound.poll(now) {
                Step::Deliver(frame, due) => return Event::Deliver(Port(port as u32), frame, due),
                Step::Drop(frame, cause) => return Event::Drop(frame, cause),
                Step::Duplicate(frame) => return Event::Duplicate(frame),
                quiet @ (Step::Wake(_) | Step::Idle) => {
                    self.wake = self.wake.sooner(quiet);
                    self.progress = Progress::Outbound(port + 1);
                }
            }
        }
        let wake = self.wake;
        self.restart();
        if let Step::Wake(time) = wake { Event::Wake(time) } else { Event::Idle }
    }

    fn wiring_account(&self) -> Account {
        self.middle.holding(self.waiting_heads())
    }

    fn waiting_heads(&self) -> u64 {
        self.heads.iter().filter(|head| matches!(head, Head::Due(..))).count() as u64
    }
}
