//! The contract between elements and their drivers.

use btu_units::Time;

use crate::account::{Account, Cause};
use crate::frame::Frame;

/// One piece of a network: a line, a delay, a loss, or a chain of them.
///
/// Two families of methods:
/// 1. moving frames: [`accept`](Self::accept) each frame that arrives, then [`poll`](Self::poll)
///    until it answers [`Step::Wake`] or [`Step::Idle`]; poll again at the wake-up time;
/// 2. accounts: [`account`](Self::account) and [`reset`](Self::reset), at any moment.
///
/// `now` never decreases, over both of `accept` and `poll`.
pub trait Element {
    /// Takes a frame that arrives at `now`.
    fn accept(&mut self, frame: Frame, now: Time);

    /// The next event by `now`.
    fn poll(&mut self, now: Time) -> Step;

    /// The accounts since the start or the last reset.
    fn account(&self) -> Account;

    /// Resets the accounts; frames inside are carried over as received.
    fn reset(&mut self);
}

/// What a poll answers. The first three are events, each reported once; the last two mean that
/// there are no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The frame leaves; it was due at this time, which is not after the poll's `now`.
    Deliver(Frame, Time),
    /// The frame is gone.
    Drop(Frame, Cause),
    /// One more frame with this tag is inside from now on; reported before any of the copies
    /// leaves. A driver that keeps payloads counts one more reference.
    Duplicate(Frame),
    /// Nothing more before this time, which is after the poll's `now`.
    Wake(Time),
    /// Nothing more until a frame is accepted.
    Idle,
}

impl Step {
    /// The earlier of two answers that both mean "no more for now".
    pub(crate) fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Wake(a), Self::Wake(b)) => Self::Wake(a.min(b)),
            (Self::Idle, rest) | (rest, _) => rest,
        }
    }
}
