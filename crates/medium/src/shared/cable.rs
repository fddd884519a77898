//! The propagation on a cable: which station hears which signal, and when.

use btu_units::{Span, Time};

use crate::segment::Tap;

/// A station that sends or wants to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) tap: Tap,
    /// How long a signal takes from the cable's beginning to here.
    pub(super) place: Span,
}

impl Spot {
    /// How long a signal takes from here to there.
    pub(super) fn to(self, place: Span) -> Span {
        Span::from_nanoseconds(self.place.nanoseconds().abs_diff(place.nanoseconds()))
    }
}

/// The decision of a station that has a frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// It may start.
    Clear,
    /// It defers, and will not start before this time.
    Until(Time),
    /// It defers to a transmission with an end that no station knows yet.
    Busy,
}

/// A transmission that is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Over {
    pub(super) tap: Tap,
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) collided: bool,
}

/// The time of the next event on the cable, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prospect {
    /// The next end of a transmission.
    pub(super) end: Time,
    /// A station sends that has not received the signal of another station yet.
    pub(super) undisturbed: bool,
    /// The only station that sends, if there is only one.
    pub(super) only: Option<Tap>,
    /// From this time on every station hears it.
    pub(super) heard: Time,
}

/// Carriers and collisions on one cable.
///
/// Questions come in the order of their times: [`sense`](Self::sense) and
/// [`transmit`](Self::transmit) at ascending times, none after an end that was not taken out by
/// [`end`](Self::end). A signal is heard from just after its first bit's arrival, so two stations
/// that start at the same moment do not hear each other before.
pub(super) trait Cable {
    /// What a station with a frame to send hears at `at`.
    fn sense(&mut self, spot: Spot, at: Time) -> Sense;

    /// `at`, or a later time before which the station would defer anyway: saves a call.
    fn not_before(&self, _spot: Spot, at: Time) -> Time {
        at
    }

    /// Lets a station start a transmission at `at`, which takes `carrier` if no other station
    /// disturbs it.
    fn transmit(&mut self, spot: Spot, at: Time, carrier: Span);

    /// The next end of transmissions.
    fn prospect(&self) -> Option<Prospect>;

    /// Ends the transmissions that end next, in the order of their ends and taps.
    fn end(&mut self, over: &mut Vec<Over>);
}

/// When a transmission ends that began at `start` and heard a collision at `struck`.
pub(super) fn end_of_jam(start: Time, struck: Time, preamble: Span, jam: Span) -> Time {
    // 4.2.4.1: the preamble is always completed.
    struck.max(start + preamble) + jam
}
