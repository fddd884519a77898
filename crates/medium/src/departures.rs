//! What every element needs around its own decision: things to tell, frames on their way out, and
//! accounts.

use std::collections::VecDeque;

use btu_units::Time;

use crate::account::{Account, Cause};
use crate::element::Step;
use crate::frame::Frame;

/// The way out of an element: frames with their due times in ascending order, and notices told
/// before them.
///
/// Its length is bounded by whoever fills it; notices are at most two for each frame accepted since
/// the last poll.
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
    /// Enters a frame that came in.
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

    /// Drops a frame.
    pub(crate) fn drop(&mut self, frame: Frame, cause: Cause) {
        self.notices.push_back(Notice::Dropped(frame, cause));
    }

    /// Says that one more frame like this one is inside; the caller then sends it.
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

    /// The accounts, with `elsewhere` more frames that the element keeps outside of this box.
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
