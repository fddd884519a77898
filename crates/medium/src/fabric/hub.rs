//! A medium that carries one frame after the other, whoever sends: for media that are not here yet.

use btu_units::{BitRate, Span, Time};

use crate::account::Account;
use crate::audience::{Audience, Listener};
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::limit::Limit;
use crate::line::Line;
use crate::segment::{Meter, Passage, Segment, Tap};

/// One line for all.
#[derive(Debug)]
pub(super) struct Hub {
    line: Line,
    audience: Audience,
    listeners: Vec<Tap>,
    passing: Option<(Frame, Time, usize, usize)>,
    from: std::collections::VecDeque<Tap>,
    account: Account,
}

impl Hub {
    pub(super) fn new(rate: BitRate, listeners: &[Listener]) -> Self {
        Self {
            line: Line::new(rate, Limit::frames(Limit::MOST_FRAMES)),
            audience: Audience::new(listeners),
            listeners: Vec::new(),
            passing: None,
            from: std::collections::VecDeque::new(),
            account: Account::default(),
        }
    }

    fn pass(&mut self) -> Option<Passage> {
        let (frame, due, told, given) = self.passing.as_mut()?;
        if *told + 1 < self.listeners.len() {
            *told += 1;
            self.account.duplicated += 1;
            return Some(Passage::Duplicate(*frame));
        }
        let passage = Passage::Deliver(self.listeners[*given], *frame, *due);
        *given += 1;
        self.account.delivered += 1;
        if *given == self.listeners.len() {
            self.passing = None;
        }
        Some(passage)
    }
}

impl Segment for Hub {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        self.account.received += 1;
        self.from.push_back(tap);
        self.line.accept(frame, now);
    }

    fn poll(&mut self, now: Time) -> Passage {
        loop {
            if let Some(passage) = self.pass() {
                return passage;
            }
            match self.line.poll(now) {
                Step::Deliver(frame, due) => {
                    let from = self.from.pop_front().unwrap_or(Tap(0));
                    self.audience.of(from, frame.destination, &mut self.listeners);
                    if self.listeners.is_empty() {
                        self.account.drop_one(crate::account::Cause::NoRoute);
                        return Passage::Drop(frame, crate::account::Cause::NoRoute);
                    }
                    self.passing = Some((frame, due, 0, 0));
                }
                Step::Drop(frame, cause) => return Passage::Drop(frame, cause),
                Step::Duplicate(frame) => return Passage::Duplicate(frame),
                Step::Wake(time) => return Passage::Wake(time),
                Step::Idle => return Passage::Idle,
            }
        }
    }

    fn account(&self) -> Account {
        let passing = self.passing.map_or(0, |(_, _, told, given)| 1 + told - given);
        self.account.holding(self.line.account().held + passing as u64)
    }

    fn meter(&self) -> Meter {
        Meter { data: Span::ZERO, lines: 1, frames: self.account.delivered, ..Meter::default() }
    }

    fn reset(&mut self) {
        self.account = Account::opened_with(self.account().held);
    }
}
