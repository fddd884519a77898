//! Carriers on a cable so short that the signals of one collision leave no silence between them
//! anywhere.
//!
//! The shortest transmission is a preamble and a jam, 96 bits. Where a signal comes and goes within
//! that time (twice the cable's propagation delay is at most 96 bits: 1.1 km at 10 Mb/s), every
//! station hears the signals of a collision as one carrier, and all of it is over everywhere before
//! any station may start again. So transmissions come in rounds: either one success, or one
//! collision of all stations that started before they received another signal. Of a finished round
//! two numbers are left, because the last of many tails to arrive is max(end - place) + x or
//! max(end + place) - x. Within a round only the nearest neighbours on the cable matter to a new
//! sender: a signal from behind a neighbour that started earlier cannot be first. So a start costs
//! O(log of the round), and an idle or waiting station costs nothing.

use btu_units::{Span, Time};

use super::cable::{Cable, Over, Prospect, Sense, Spot, end_of_jam};
use super::timing::Timing;

/// The type that the module describes.
#[derive(Debug)]
pub(super) struct ShortCable {
    timing: Timing,
    propagation: Span,
    /// The round under way, in the order of its starts.
    signals: Vec<Signal>,
    /// Places in `signals`, ascending by the stations' places on the cable.
    along: Vec<u32>,
    /// When the last of the round's transmissions ends.
    end: Time,
    silence: Silence,
}

/// A transmission of the round under way.
#[derive(Debug)]
struct Signal {
    spot: Spot,
    start: Time,
    end: Time,
    /// The time at which its sender detects another station; `None` while no other station sends.
    struck: Option<Time>,
    /// Least of start - place over itself and those to the left when it started: signals going
    /// right.
    rightward: i64,
    /// Least of start + place over itself and those to the right when it started: signals going
    /// left.
    leftward: i64,
}

/// The tails of the last round.
#[derive(Debug, Clone, Copy)]
struct Silence {
    /// Greatest of end - place.
    rightward: i64,
    /// Greatest of end + place.
    leftward: i64,
}

impl Silence {
    /// Nothing has ever been sent.
    const ALWAYS: Self = Self { rightward: i64::MIN / 2, leftward: i64::MIN / 2 };

    fn since(self, place: i64) -> i64 {
        (self.rightward + place).max(self.leftward - place)
    }
}

impl ShortCable {
    /// Whether a cable is short enough for this method.
    pub(super) fn suits(propagation: Span, timing: &Timing) -> bool {
        propagation * 2 <= timing.preamble + timing.jam
    }

    pub(super) fn new(propagation: Span, timing: Timing) -> Self {
        Self {
            timing,
            propagation,
            signals: Vec::new(),
            along: Vec::new(),
            end: Time::ZERO,
            silence: Silence::ALWAYS,
        }
    }

    /// The round's neighbours of a place: the last at or before it and the first behind it, as
    /// places in `signals`.
    fn neighbours(&self, place: Span) -> (usize, Option<usize>, Option<usize>) {
        let position =
            self.along.partition_point(|&at| self.signals[at as usize].spot.place <= place);
        let left = position.checked_sub(1).map(|before| self.along[before] as usize);
        (position, left, self.along.get(position).map(|&at| at as usize))
    }

    /// When the first of the round's signals arrives at a place between these neighbours.
    fn first_arrival(&self, place: i64, left: Option<usize>, right: Option<usize>) -> i64 {
        let from_left = left.map_or(i64::MAX, |left| self.signals[left].rightward + place);
        let from_right = right.map_or(i64::MAX, |right| self.signals[right].leftward - place);
        from_left.min(from_right)
    }

    /// Records for the sender of `signals[at]` that another signal arrives at `struck`.
    fn strike(&mut self, at: usize, struck: Time) {
        let Timing { preamble, jam, .. } = self.timing;
        let signal = &mut self.signals[at];
        if struck >= signal.end || signal.struck.is_some_and(|before| before <= struck) {
            return;
        }
        let before = signal.end;
        signal.struck = Some(struck);
        signal.end = end_of_jam(signal.start, struck, preamble, jam);
        if before == self.end {
            self.end = self.signals.iter().map(|signal| signal.end).max().unwrap_or(before);
        }
    }
}

impl Cable for ShortCable {
    fn sense(&mut self, spot: Spot, at: Time) -> Sense {
        let free = self.not_before(spot, at);
        if at < free {
            return Sense::Until(free);
        }
        let (place, now) = (signed(spot.place.nanoseconds()), signed(at.nanoseconds()));
        let (_, left, right) = self.neighbours(spot.place);
        if self.first_arrival(place, left, right) < now { Sense::Busy } else { Sense::Clear }
    }

    fn not_before(&self, spot: Spot, at: Time) -> Time {
        let free = self.silence.since(signed(spot.place.nanoseconds()))
            + signed(self.timing.gap.nanoseconds());
        at.max(Time::from_nanoseconds(free.max(0).unsigned_abs()))
    }

    fn transmit(&mut self, spot: Spot, at: Time, carrier: Span) {
        let (position, left, right) = self.neighbours(spot.place);
        let (place, start) = (signed(spot.place.nanoseconds()), signed(at.nanoseconds()));
        let first = self.first_arrival(place, left, right);
        let newest = self.signals.len();
        self.signals.push(Signal {
            spot,
            start: at,
            end: at + carrier,
            struck: None,
            rightward: left
                .map_or(i64::MAX, |left| self.signals[left].rightward)
                .min(start - place),
            leftward: right
                .map_or(i64::MAX, |right| self.signals[right].leftward)
                .min(start + place),
        });
        self.along.insert(position, newest as u32);
        self.end = self.end.max(at + carrier);
        for neighbour in [left, right].into_iter().flatten() {
            self.strike(neighbour, at + spot.to(self.signals[neighbour].spot.place));
        }
        if first < i64::MAX {
            self.strike(newest, Time::from_nanoseconds(first.max(start).unsigned_abs()));
        }
    }

    fn prospect(&self) -> Option<Prospect> {
        let first = self.signals.first()?;
        Some(Prospect {
            end: self.end,
            undisturbed: first.struck.is_none(),
            only: (self.signals.len() == 1).then_some(first.spot.tap),
            heard: first.start + self.propagation,
        })
    }

    fn end(&mut self, over: &mut Vec<Over>) {
        let mut silence = Silence::ALWAYS;
        for signal in &self.signals {
            let (place, end) =
                (signed(signal.spot.place.nanoseconds()), signed(signal.end.nanoseconds()));
            silence.rightward = silence.rightward.max(end - place);
            silence.leftward = silence.leftward.max(end + place);
            let Signal { spot, start, end, struck, .. } = *signal;
            over.push(Over { tap: spot.tap, start, end, collided: struck.is_some() });
        }
        if over.len() > 1 {
            over.sort_unstable_by_key(|over: &Over| (over.end, over.tap));
        }
        self.silence = silence;
        self.signals.clear();
        self.along.clear();
        self.end = Time::ZERO;
    }
}

/// Times and places as numbers that may be subtracted; 2^61 ns is 73 years, and later times count
/// as that.
fn signed(nanoseconds: u64) -> i64 {
    nanoseconds.min(1 << 61).cast_signed()
}
