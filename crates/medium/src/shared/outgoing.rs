//! The output of a shared medium: deliveries to taps in the order of their due times, and notices
//! before them.

use std::collections::VecDeque;

use btu_units::Time;

use crate::account::{Account, Cause};
use crate::frame::Frame;
use crate::segment::{SegmentStep, Tap};

/// The output that the module describes. Its length is bounded by what the stations hold and, for
/// copies, by the listeners.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    notices: VecDeque<Notice>,
    deliveries: VecDeque<Delivery>,
    account: Account,
}

#[derive(Debug)]
enum Notice {
    Dropped(Frame, Cause),
    Duplicated(Frame),
}

/// A frame on its way to its tap.
#[derive(Debug)]
struct Delivery {
    due: Time,
    tap: Tap,
    frame: Frame,
}

impl Outgoing {
    /// Enters a frame that came in.
    pub(super) fn receive(&mut self) {
        self.account.received += 1;
    }

    /// Drops a frame and counts the cause.
    pub(super) fn drop(&mut self, frame: Frame, cause: Cause) {
        self.notices.push_back(Notice::Dropped(frame, cause));
    }

    /// Delivers a frame to all of `taps` at the times that `due` gives, or drops it if no tap takes
    /// it up.
    pub(super) fn deliver(&mut self, frame: Frame, taps: &[Tap], due: impl Fn(Tap) -> Time) {
        let Some(copies) = taps.len().checked_sub(1) else {
            return self.drop(frame, Cause::NoRoute);
        };
        self.account.duplicated += copies as u64;
        self.notices.extend((0..copies).map(|_| Notice::Duplicated(frame)));
        let last = self.deliveries.back().map_or(Time::ZERO, |delivery| delivery.due);
        let sorted = copies == 0 && due(taps[0]) >= last;
        self.deliveries.extend(taps.iter().map(|&tap| Delivery { due: due(tap), tap, frame }));
        if !sorted {
            // Stable, so a frame that was carried later stays behind one that arrives at the same
            // time.
            self.deliveries.make_contiguous().sort_by_key(|delivery| delivery.due);
        }
    }

    /// Whether there is an event to report by `now`.
    pub(super) fn has_something(&self, now: Time) -> bool {
        !self.notices.is_empty()
            || self.deliveries.front().is_some_and(|delivery| delivery.due <= now)
    }

    /// When the next delivery is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.deliveries.front().map(|delivery| delivery.due)
    }

    /// The next notice or due delivery.
    pub(super) fn pop(&mut self, now: Time) -> Option<SegmentStep> {
        if let Some(notice) = self.notices.pop_front() {
            return Some(match notice {
                Notice::Duplicated(frame) => SegmentStep::Duplicate(frame),
                Notice::Dropped(frame, cause) => {
                    self.account.drop_one(cause);
                    SegmentStep::Drop(frame, cause)
                }
            });
        }
        let Delivery { due, tap, frame } =
            self.deliveries.pop_front_if(|delivery| delivery.due <= now)?;
        self.account.delivered += 1;
        Some(SegmentStep::Deliver(tap, frame, due))
    }

    /// The accounts, with `elsewhere` more frames that are not on their way out yet.
    pub(super) fn account(&self, elsewhere: u64) -> Account {
        self.account.holding(self.held() + elsewhere)
    }

    /// Resets the accounts, with `elsewhere` more frames inside.
    pub(super) fn reset(&mut self, elsewhere: u64) {
        self.account = Account::opened_with(self.held() + elsewhere);
    }

    fn held(&self) -> u64 {
        let condemned =
            self.notices.iter().filter(|notice| matches!(notice, Notice::Dropped(..))).count();
        (self.deliveries.len() + condemned) as u64
    }
}
