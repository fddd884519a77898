//! The stations' media access control: IEEE 802.3-2018, clause 4, half duplex.
//!
//! * 4.2.8 `Deference`, 4.2.3.2.1: 1-persistent; a station with a frame starts as soon as it does
//!   not defer. [`Cable`] gives the gap after a carrier; a station that has just sent keeps that
//!   gap, too.
//! * 4.2.3.2.4, 4.2.4.1: a station that detects another one while it sends completes its preamble,
//!   jams and stops; so does [`Cable`].
//! * 4.2.3.2.5: backoff counts from the end of the jam, 16 attempts, then the frame is dropped. The
//!   next frame begins with no collisions behind it.
//! * 4.2.8 lets `BackOff` and `Deference` run side by side: a wait that ends while others send
//!   becomes deference.
//!
//! Deviations: a station needs no time between its frames beyond the gap (no host overhead); frame
//! bursting (1 Gb/s) is not used; a collision that would reach the sender after its last bit does
//! not exist, because cables on which that happens are refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use btu_units::{Span, Time};

use super::cable::{Cable, Over, Prospect, Sense, Spot};
use super::outgoing::Outgoing;
use super::station::Station;
use super::tally::{MOST_ATTEMPTS, Tally};
use super::timing::Timing;
use crate::account::{Account, Cause};
use crate::frame::Frame;
use crate::listeners::Listeners;
use crate::segment::{Meter, Segment, SegmentStep, Tap};

/// All stations of a segment and their cable.
#[derive(Debug)]
pub(super) struct Mac<C> {
    cable: C,
    timing: Timing,
    stations: Vec<Station>,
    listeners: Listeners,
    /// The times at which stations next sense the carrier: one entry for each station that waits
    /// for a known time.
    attempts: BinaryHeap<Reverse<(Time, Tap)>>,
    /// The stations that defer to a transmission with an unknown end.
    deferring: Vec<Tap>,
    /// The number of frames in the stations.
    waiting: u64,
    /// Stations that drop their frame at the next collision.
    desperate: u32,
    out: Outgoing,
    tally: Tally,
    /// Reused to avoid allocation.
    over: Vec<Over>,
    takers: Vec<Tap>,
}

impl<C: Cable> Mac<C> {
    pub(super) fn new(
        cable: C,
        timing: Timing,
        stations: Vec<Station>,
        listeners: Listeners,
    ) -> Self {
        Self {
            cable,
            timing,
            stations,
            listeners,
            attempts: BinaryHeap::new(),
            deferring: Vec::new(),
            waiting: 0,
            desperate: 0,
            out: Outgoing::default(),
            tally: Tally::default(),
            over: Vec::new(),
            takers: Vec::new(),
        }
    }

    pub(super) fn carried_after(&self) -> [u64; MOST_ATTEMPTS] {
        self.tally.carried_after()
    }

    fn spot(&self, tap: Tap) -> Spot {
        Spot { tap, place: self.stations[tap.index()].place }
    }

    /// Processes all events until `now`, or until there is one to report.
    ///
    /// What happens at `now` itself happens before a frame that is accepted at `now`; that frame
    /// can still collide with all that starts now, because no station hears a signal at the moment
    /// of its start.
    fn advance(&mut self, now: Time, enough: impl Fn(&Outgoing) -> bool) {
        while !enough(&self.out) {
            let end = self.cable.prospect().map(|prospect| prospect.end);
            let start = self.attempts.peek().map(|&Reverse((at, _))| at);
            match (end, start) {
                (Some(end), start) if end <= now && start.is_none_or(|start| end <= start) => {
                    self.end(end);
                }
                (_, Some(start)) if start <= now => self.attempt(),
                _ => break,
            }
        }
    }

    /// The next station in turn senses the carrier.
    fn attempt(&mut self) {
        let Some(mut next) = self.attempts.peek_mut() else { return };
        let Reverse((at, tap)) = *next;
        let station = &mut self.stations[tap.index()];
        let spot = Spot { tap, place: station.place };
        match self.cable.sense(spot, at) {
            Sense::Until(free) => *next = Reverse((free, tap)),
            Sense::Busy => {
                PeekMut::pop(next);
                self.deferring.push(tap);
            }
            Sense::Clear => {
                PeekMut::pop(next);
                // A station that tries has a frame.
                if let Some(frame) = station.frame {
                    self.cable.transmit(
                        spot,
                        at,
                        self.timing.carrier(frame, &mut station.remainder),
                    );
                }
            }
        }
    }

    /// Ends the transmissions.
    fn end(&mut self, now: Time) {
        let mut over = std::mem::take(&mut self.over);
        self.cable.end(&mut over);
        for over in over.drain(..) {
            if over.collided { self.collide(over) } else { self.carry(over) }
        }
        self.over = over;
        self.ask_again(now);
    }

    /// The stations that deferred sense the carrier again.
    fn ask_again(&mut self, now: Time) {
        let mut still = 0;
        for place in 0..self.deferring.len() {
            let tap = self.deferring[place];
            match self.cable.sense(self.spot(tap), now) {
                Sense::Busy => {
                    self.deferring[still] = tap;
                    still += 1;
                }
                Sense::Until(free) => self.attempts.push(Reverse((free, tap))),
                Sense::Clear => self.attempts.push(Reverse((now, tap))),
            }
        }
        self.deferring.truncate(still);
    }

    fn collide(&mut self, over: Over) {
        self.tally.collide(over.start, over.end + self.timing.gap);
        let station = &mut self.stations[over.tap.index()];
        station.collisions += 1;
        match usize::from(station.collisions) {
            MOST_ATTEMPTS => {
                self.desperate -= 1;
                if let Some(frame) = self.next(over.tap, over.end) {
                    self.out.drop(frame, Cause::Collisions);
                }
                return;
            }
            LAST_BUT_ONE => self.desperate += 1,
            _ => {}
        }
        let wait = self.timing.slot * station.backoff.slots(station.collisions);
        self.try_at(over.tap, over.end + wait);
    }

    fn carry(&mut self, over: Over) {
        let station = &self.stations[over.tap.index()];
        let (spot, collisions) = (self.spot(over.tap), station.collisions);
        self.desperate -= u32::from(usize::from(collisions) == LAST_BUT_ONE);
        let Some(frame) = self.next(over.tap, over.end) else { return };
        let data = self.timing.data(frame, &mut 0);
        self.tally.carry(data, over.end.since(over.start) + self.timing.gap - data, collisions);
        self.listeners.of(over.tap, frame.destination, &mut self.takers);
        let stations = &self.stations;
        self.out
            .deliver(frame, &self.takers, |tap| over.end + spot.to(stations[tap.index()].place));
    }

    /// Takes a station's frame away and gives it the next one from its queue, at `now`.
    fn next(&mut self, tap: Tap, now: Time) -> Option<Frame> {
        let station = &mut self.stations[tap.index()];
        station.collisions = 0;
        let done = station.frame.take();
        self.waiting -= u64::from(done.is_some());
        self.load(tap, now);
        done
    }

    /// Gives a station the next frame from its queue, at `now`.
    fn load(&mut self, tap: Tap, now: Time) {
        let station = &mut self.stations[tap.index()];
        station.frame = station.queue.dequeue(now);
        if station.frame.is_some() {
            self.try_at(tap, now);
        }
        self.clear_drops(tap);
    }

    /// Lets a station sense the carrier at `at`.
    fn try_at(&mut self, tap: Tap, at: Time) {
        let at = self.cable.not_before(self.spot(tap), at);
        self.attempts.push(Reverse((at, tap)));
    }

    /// Reports the frames that a station's queue has dropped.
    fn clear_drops(&mut self, tap: Tap) {
        while let Some((frame, cause)) = self.stations[tap.index()].queue.dropped() {
            self.waiting -= 1;
            self.out.drop(frame, cause);
        }
    }

    /// No later than the next event to report, and after all past events.
    fn wake(&mut self) -> SegmentStep {
        let due = self.out.next_due();
        let inside = self.next_outcome();
        due.into_iter().chain(inside).min().map_or(SegmentStep::Idle, SegmentStep::Wake)
    }

    /// A time before which no frame inside is delivered or dropped.
    fn next_outcome(&mut self) -> Option<Time> {
        let Some(prospect) = self.cable.prospect() else { return self.outcome_of_attempts() };
        // A station that hears it defers to it.
        let joining = self
            .attempts
            .peek()
            .map(|next| next.0.0)
            .filter(|&at| at <= prospect.heard.min(prospect.end));
        Some(match joining {
            None if prospect.undisturbed => self.due(prospect),
            None if self.desperate > 0 => prospect.end,
            None => prospect.end + self.timing.shortest_carrier(),
            Some(at) if prospect.undisturbed || self.desperate > 0 => {
                prospect.end.min(self.soonest_end(at))
            }
            Some(at) => self.soonest_end(at),
        })
    }

    /// Like [`Self::next_outcome`], while no station sends.
    fn outcome_of_attempts(&self) -> Option<Time> {
        // The heap's first entry is its least, and one of the two behind it is the least of the
        // others.
        let (&Reverse((first, tap)), others) = self.attempts.as_slice().split_first()?;
        let second = others.iter().take(2).map(|next| self.soonest_end(next.0.0)).min();
        let alone = self.stations[tap.index()]
            .frame
            .map(|frame| first + self.timing.carrier(frame, &mut 0));
        let first = if self.desperate > 0 { Some(self.soonest_end(first)) } else { alone };
        first.into_iter().chain(second).min()
    }

    /// When a frame that no other station disturbs is delivered first.
    fn due(&mut self, prospect: Prospect) -> Time {
        let Some(sender) = prospect.only else { return prospect.end };
        let spot = self.spot(sender);
        match self.stations[sender.index()].frame {
            Some(frame) if !frame.destination.is_group() => {
                self.listeners.of(sender, frame.destination, &mut self.takers);
                let ways = self.takers.iter().map(|tap| spot.to(self.stations[tap.index()].place));
                prospect.end + ways.min().unwrap_or(Span::ZERO)
            }
            // Examining every station would cost more than it saves.
            _ => prospect.end,
        }
    }

    /// The least time in which a transmission that starts at `start` can lead to an event to
    /// report.
    fn soonest_end(&self, start: Time) -> Time {
        let fragment = self.timing.preamble + self.timing.jam;
        start + if self.desperate > 0 { fragment } else { self.timing.shortest_carrier() }
    }
}

/// The number of collisions that leaves one attempt.
const LAST_BUT_ONE: usize = MOST_ATTEMPTS - 1;

impl<C: Cable> Segment for Mac<C> {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        self.advance(now, |_| false);
        self.out.receive();
        self.waiting += 1;
        let station = &mut self.stations[tap.index()];
        station.queue.enqueue(frame, now);
        if station.frame.is_none() { self.load(tap, now) } else { self.clear_drops(tap) }
    }

    fn poll(&mut self, now: Time) -> SegmentStep {
        self.advance(now, |out| out.has_something(now));
        self.out.pop(now).unwrap_or_else(|| self.wake())
    }

    fn account(&self) -> Account {
        self.out.account(self.waiting)
    }

    fn meter(&self) -> Meter {
        self.tally.meter()
    }

    fn announce(&mut self, number: u32, tap: Tap) {
        self.listeners.announce(number, tap);
    }

    fn reset(&mut self) {
        self.tally.reset();
        self.out.reset(self.waiting);
    }
}
