//! The common parts of all elements: events to report, frames that leave, and accounts.

use std::collections::VecDeque;

use btu_units::Time;

use crate::account::{Account, Cause};
use crate::element::{Element, Step};
use crate::frame::Frame;

/// An element with frames that leave through [`Departures`]. It decides what happens to a frame
/// that arrives; polling and accounting are the same for all.
pub(crate) trait Departing {
    /// The frames that leave, and the accounts.
    fn departures(&self) -> &Departures;

    /// The frames that leave, and the accounts.
    fn departures_mut(&mut self) -> &mut Departures;

    /// Decides what happens to a frame that arrives at `now` and is counted as received.
    fn take(&mut self, frame: Frame, now: Time);

    /// Moves the frames that are held elsewhere and are due by `now` to the departures. Returns the
    /// time at which the next of them is due.
    fn advance(&mut self, _now: Time) -> Step {
        Step::Idle
    }

    /// How many frames the element holds outside of the departures.
    fn held_elsewhere(&self) -> usize {
        0
    }
}

impl<T: Departing> Element for T {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.departures_mut().receive();
        self.take(frame, now);
    }

    fn poll(&mut self, now: Time) -> Step {
        let next = self.advance(now);
        match self.departures_mut().poll(now) {
            quiet @ (Step::Wake(_) | Step::Idle) => quiet.sooner(next),
            event => event,
        }
    }

    fn account(&self) -> Account {
        let elsewhere = self.held_elsewhere();
        self.departures().account(elsewhere)
    }

    fn reset(&mut self) {
        let elsewhere = self.held_elsewhere();
        self.departures_mut().reset(elsewhere);
    }
}

/// The frames that leave an element, with their due times in ascending order, and notices that are
/// reported before them.
///
/// The element that fills it must bound its length. There are at most two notices for each frame
/// accepted since the last poll.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    notices: VecDeque<Notice>,
    pending: VecDeque<(Frame, Time)>,
    last_due: Time,
    account: Account,
}

#[derive(Debug)]
enum Notice {
    Dropped(Frame, Cause),
    Duplicated(Frame),
}

impl Departures {
    /// Counts a frame that arrived.
    pub(crate) fn receive(&mut self) {
        self.account.received += 1;
    }

    /// Lets a frame leave at `due`, but never before one that was sent earlier.
    pub(crate) fn send(&mut self, frame: Frame, due: Time) {
        self.last_due = self.last_due.max(due);
        self.pending.push_back((frame, self.last_due));
    }

    /// Gives the last `count` departures new due times, earliest first; they stay in order among
    /// all.
    pub(crate) fn reschedule(&mut self, count: usize, mut due_of: impl FnMut(&Frame) -> Time) {
        let first = self.pending.len().saturating_sub(count);
        let before = first.checked_sub(1).and_then(|place| self.pending.get(place));
        self.last_due = before.map_or(Time::ZERO, |&(_, due)| due);
        for (frame, due) in self.pending.range_mut(first..) {
            self.last_due = self.last_due.max(due_of(frame));
            *due = self.last_due;
        }
    }

    /// Drops a frame and counts the cause.
    pub(crate) fn drop(&mut self, frame: Frame, cause: Cause) {
        self.notices.push_back(Notice::Dropped(frame, cause));
    }

    /// Announces one more copy of this frame; the caller then sends it.
    pub(crate) fn duplicate(&mut self, frame: Frame) {
        self.account.duplicated += 1;
        self.notices.push_back(Notice::Duplicated(frame));
    }

    /// How many frames leave after `now`.
    pub(crate) fn later_than(&self, now: Time) -> usize {
        if self.last_due <= now {
            return 0;
        }
        self.pending.len() - self.pending.partition_point(|&(_, due)| due <= now)
    }

    /// The next notice or due departure.
    pub(crate) fn poll(&mut self, now: Time) -> Step {
        match self.notices.pop_front() {
            Some(Notice::Dropped(frame, cause)) => {
                self.account.drop_one(cause);
                Step::Drop(frame, cause)
            }
            Some(Notice::Duplicated(frame)) => Step::Duplicate(frame),
            None => self.depart(now),
        }
    }

    fn depart(&mut self, now: Time) -> Step {
        match self.pending.front() {
            Some(&(frame, due)) if due <= now => {
                self.pending.pop_front();
                self.account.delivered += 1;
                Step::Deliver(frame, due)
            }
            Some(&(_, due)) => Step::Wake(due),
            None => Step::Idle,
        }
    }

    /// The accounts, with `elsewhere` more frames that the element holds outside of the departures.
    pub(crate) fn account(&self, elsewhere: usize) -> Account {
        self.account.holding(self.held() + elsewhere as u64)
    }

    /// Resets the accounts, with `elsewhere` more frames inside.
    pub(crate) fn reset(&mut self, elsewhere: usize) {
        self.account = Account::opened_with(self.held() + elsewhere as u64);
    }

    fn held(&self) -> u64 {
        let condemned =
            self.notices.iter().filter(|notice| matches!(notice, Notice::Dropped(..))).count();
        (self.pending.len() + condemned) as u64
    }
}
