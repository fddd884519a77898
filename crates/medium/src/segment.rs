//! The contract of a medium with many taps, as [`crate::Element`] is that of a line.

use btu_units::{Span, Time};

use crate::account::{Account, Cause};
use crate::frame::Frame;

/// One of a segment's taps, numbered from 0: the attachment of a station or a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tap(pub u32);

impl Tap {
    /// Its place in lists of taps.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A medium with many taps, driven as an [`crate::Element`] is: [`accept`](Self::accept) each frame
/// that a station hands over, [`poll`](Self::poll) until [`SegmentStep::Wake`] or
/// [`SegmentStep::Idle`], and again at the wake-up time.
///
/// * `now` never goes back, over both methods and all taps.
/// * A driver polls exactly at the last wake-up time, or later: decisions do not depend on it, only
///   on the times of the frames. A frame accepted at `now` may still take part in all events that
///   no poll at an earlier `now` has reported.
/// * Deliveries come in the order of their due times; a copy for each further listener is announced
///   by [`SegmentStep::Duplicate`] before it is delivered, so received + duplicated = delivered +
///   dropped + held.
pub trait Segment {
    /// Takes a frame that the station at `tap` wants to send at `now`.
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time);

    /// The next event by `now`.
    fn poll(&mut self, now: Time) -> SegmentStep;

    /// The accounts since the start or the last reset.
    fn account(&self) -> Account;

    /// The meter of the medium, from the start or the last reset until the last poll's or frame's
    /// `now`.
    fn meter(&self) -> Meter;

    /// Called before the start: every bridge on the medium knows that the `number`th station is
    /// reached through `tap`; see [`crate::Listeners::announce`].
    fn announce(&mut self, number: u32, tap: Tap);

    /// Resets the accounts and meters; frames inside are carried over as received.
    fn reset(&mut self);
}

/// What a segment's poll answers; see [`crate::Step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentStep {
    /// The frame has arrived at the tap with its last bit; it was due at this time, which is not
    /// after the poll's `now`.
    Deliver(Tap, Frame, Time),
    /// The frame is gone.
    Drop(Frame, Cause),
    /// One more frame with this tag is inside.
    Duplicate(Frame),
    /// Nothing more before this time, which is after the poll's `now`.
    Wake(Time),
    /// Nothing more until a frame is accepted.
    Idle,
}

/// The busy times of a medium. All fields but the two counts are times; a full-duplex star sums its
/// lines and gives their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meter {
    /// Carrying octets, from destination address to check sequence, of frames that arrived.
    pub data: Span,
    /// What such frames occupy beyond that: preamble, gap, cell headers, padding, token passing on
    /// behalf of a frame.
    pub overhead: Span,
    /// Lost to collisions: from the first colliding bit to the end of the last jam and the gap
    /// after it.
    pub collisions: Span,
    /// Collisions, each counted once however many stations took part.
    pub collision_count: u64,
    /// Frames that were carried to their end.
    pub frames: u64,
    /// How many lines side by side the times are the sum of: 1 for a shared medium.
    pub lines: u32,
}
