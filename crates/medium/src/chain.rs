//! Elements in series.

use btu_network::Change;
use btu_units::Time;

use crate::account::Account;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::stage::{Changed, Stage};

/// Named elements, each feeding the next at the time its frames were due.
///
/// A poll goes downstream: each stage delivers all due frames before the next one is polled, so
/// every stage receives its frames in the order of their times, even if the poll is late.
#[derive(Debug)]
pub struct Chain {
    first: (String, Stage),
    rest: Vec<(String, Stage)>,
    /// The stage that is polled next; the ones before it have nothing more for now.
    cursor: usize,
    /// The earliest wake-up of the stages before the cursor.
    wake: Step,
}

impl Chain {
    /// A chain that begins with `stage`, called `name` in the accounts.
    pub fn new(name: impl Into<String>, stage: Stage) -> Self {
        Self { first: (name.into(), stage), rest: Vec::new(), cursor: 0, wake: Step::Idle }
    }

    /// The chain with one more stage at its end.
    #[must_use]
    pub fn then(mut self, name: impl Into<String>, stage: Stage) -> Self {
        self.rest.push((name.into(), stage));
        self
    }

    /// The stages' names and accounts, upstream first.
    pub fn accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        self.stages().map(|(name, stage)| (name.as_str(), stage.account()))
    }

    /// Applies `change` from `at` on (the function ignores the change's own time and way). It
    /// applies to frames that reach each part from then on: the frame in transmission and those in
    /// flight keep their times, however late the chain is polled. Poll it afterwards: an earlier
    /// wake-up time may be too late.
    ///
    /// Returns whether the chain has a part for each changed value; see [`crate::changing_line`].
    #[must_use]
    pub fn change(&mut self, change: &Change, at: Time) -> bool {
        let mut changed = Changed::default();
        self.stages_mut().for_each(|(_, stage)| stage.change(change, at, &mut changed));
        (self.cursor, self.wake) = (0, Step::Idle);
        let made = |asked: bool, done: bool| done || !asked;
        made(change.rate.is_some(), changed.rate)
            && made(change.delay.is_some(), changed.delay)
            && made(change.loss.is_some(), changed.loss)
    }

    fn stages(&self) -> impl Iterator<Item = &(String, Stage)> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    fn stages_mut(&mut self) -> impl Iterator<Item = &mut (String, Stage)> {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }

    fn stage(&mut self, index: usize) -> Option<&mut Stage> {
        match index.checked_sub(1) {
            None => Some(&mut self.first.1),
            Some(later) => self.rest.get_mut(later).map(|(_, stage)| stage),
        }
    }
}

impl Element for Chain {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.first.1.accept(frame, now);
        (self.cursor, self.wake) = (0, Step::Idle);
    }

    fn poll(&mut self, now: Time) -> Step {
        while let Some(stage) = self.stage(self.cursor) {
            match stage.poll(now) {
                Step::Deliver(frame, due) => match self.stage(self.cursor + 1) {
                    Some(next) => next.accept(frame, due),
                    None => return Step::Deliver(frame, due),
                },
                quiet @ (Step::Wake(_) | Step::Idle) => {
                    self.wake = self.wake.sooner(quiet);
                    self.cursor += 1;
                }
                event => return event,
            }
        }
        self.cursor = 0;
        std::mem::replace(&mut self.wake, Step::Idle)
    }

    fn account(&self) -> Account {
        let rest = self.rest.iter().map(|(_, stage)| stage.account());
        rest.fold(self.first.1.account(), |before, next| before.followed_by(&next))
    }

    fn reset(&mut self) {
        self.stages_mut().for_each(|(_, stage)| stage.reset());
    }
}
