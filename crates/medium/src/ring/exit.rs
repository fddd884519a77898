//! The way out of a ring: frames on their way to their listeners, notices, and the accounts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use btu_units::Time;

use crate::account::{Account, Cause};
use crate::frame::Frame;
use crate::segment::{SegmentStep, Tap};

/// Frames under way in the order of their due times. After an early release several frames are on
/// the ring at once, and a later one may reach its receiver first.
#[derive(Debug, Default)]
pub(crate) struct Exit {
    notices: VecDeque<SegmentStep>,
    flying: BinaryHeap<Reverse<Flight>>,
    /// Frames launched so far: of two that are due together, the one launched first comes first.
    launched: u64,
    /// Frames in `notices` that are dropped when they are reported.
    condemned: u64,
    account: Account,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    due: Time,
    number: u64,
    to: Tap,
    frame: Frame,
}

impl Flight {
    fn key(&self) -> (Time, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Flight {}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Exit {
    /// Enters a frame that came in.
    pub(crate) fn receive(&mut self) {
        self.account.received += 1;
    }

    /// Drops a frame and counts the cause.
    pub(crate) fn drop(&mut self, frame: Frame, cause: Cause) {
        self.condemned += 1;
        self.notices.push_back(SegmentStep::Drop(frame, cause));
    }

    /// Announces one more copy of this frame; the caller then launches it.
    pub(crate) fn duplicate(&mut self, frame: Frame) {
        self.account.duplicated += 1;
        self.notices.push_back(SegmentStep::Duplicate(frame));
    }

    /// Sends a frame on its way.
    pub(crate) fn launch(&mut self, to: Tap, frame: Frame, due: Time) {
        self.launched += 1;
        self.flying.push(Reverse(Flight { due, number: self.launched, to, frame }));
    }

    /// Takes out the next notice.
    pub(crate) fn notice(&mut self) -> Option<SegmentStep> {
        let notice = self.notices.pop_front()?;
        if let SegmentStep::Drop(_, cause) = notice {
            self.condemned -= 1;
            self.account.drop_one(cause);
        }
        Some(notice)
    }

    /// When the next frame is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.flying.peek().map(|flight| flight.0.due)
    }

    /// Delivers the next frame if it is due by `now`.
    pub(crate) fn deliver(&mut self, now: Time) -> Option<SegmentStep> {
        self.next_due().filter(|&due| due <= now)?;
        let Reverse(Flight { to, frame, due, .. }) = self.flying.pop()?;
        self.account.delivered += 1;
        Some(SegmentStep::Deliver(to, frame, due))
    }

    /// The accounts, with `waiting` more frames in the stations.
    pub(crate) fn account(&self, waiting: u64) -> Account {
        self.account.holding(self.held() + waiting)
    }

    /// Resets the accounts, with `waiting` more frames in the stations.
    pub(crate) fn reset(&mut self, waiting: u64) {
        self.account = Account::opened_with(self.held() + waiting);
    }

    fn held(&self) -> u64 {
        self.flying.len() as u64 + self.condemned
    }
}
