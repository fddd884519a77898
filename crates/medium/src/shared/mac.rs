//! The stations' media access control: IEEE 802.3-2018, clause 4, half duplex.
//!
//! * 4.2.8 `Deference`, 4.2.3.2.1: 1-persistent; who has a frame starts as soon as it does not defer. The gap after a carrier
//!   is what [`Cable`] says; a station that has just sent keeps the same gap.
//! * 4.2.3.2.4, 4.2.4.1: who hears another while it sends completes its preamble, jams and stops; so does [`Cable`].
//! * 4.2.3.2.5: backoff counts from the end of the jam, 16 attempts, then the frame is dropped. The next frame begins with
//!   no collisions behind it.
//! * 4.2.8 lets `BackOff` and `Deference` run side by side: a wait that ends while others send becomes deference.
//!
//! Deviations: a station needs no time between its frames beyond the gap (no host overhead); frame bursting (1 Gb/s) is not
//! used; a collision that would reach the sender after its last bit is none, because cables on which that happens are refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use btu_units::Time;

use super::cable::{Cable, Over, Sense, Spot};
use super::outgoing::Outgoing;
use super::station::Station;
use super::tally::{MOST_ATTEMPTS, Tally};
use super::timing::Timing;
use crate::account::{Account, Cause};
use crate::audience::Audience;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::segment::{Meter, Passage, Segment, Tap};

/// All stations of a segment and their cable.
#[derive(Debug)]
pub(super) struct Mac<C> {
    cable: C,
    timing: Timing,
    limit: Limit,
    stations: Vec<Station>,
    audience: Audience,
    /// Who next asks whether it may start, and when: one entry for each station that waits for a known time.
    attempts: BinaryHeap<Reverse<(Time, Tap)>>,
    /// Who defers to a transmission whose end is not known.
    deferring: Vec<Tap>,
    /// Frames in stations.
    waiting: u64,
    /// Stations whose next collision will be their frame's last.
    desperate: u32,
    out: Outgoing,
    tally: Tally,
    /// Kept for their memory.
    over: Vec<Over>,
    takers: Vec<Tap>,
}

impl<C: Cable> Mac<C> {
    pub(super) fn new(cable: C, timing: Timing, limit: Limit, stations: Vec<Station>, audience: Audience) -> Self {
        Self {
            cable,
            timing,
            limit,
            stations,
            audience,
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

    /// Lets everything happen until `now`, or until there is something to tell.
    ///
    /// What happens at `now` itself happens before a frame that is accepted at `now`; that frame can still collide with
    /// all that starts now, because nobody hears a signal at the moment of its start.
    fn advance(&mut self, now: Time, enough: impl Fn(&Outgoing) -> bool) {
        while !enough(&self.out) {
            let end = self.cable.prospect().map(|prospect| prospect.end);
            let start = self.attempts.peek().map(|&Reverse((at, _))| at);
            match (end, start) {
                (Some(end), start) if end <= now && start.is_none_or(|start| end <= start) => self.end(end),
                (_, Some(start)) if start <= now => self.attempt(),
                _ => break,
            }
        }
    }

    /// The next station in turn looks whether it may start.
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
                // Whoever tries has a frame.
                if let Some(frame) = station.frame {
                    self.cable.transmit(spot, at, self.timing.carrier(frame, &mut station.remainder));
                }
            }
        }
    }

    /// Transmissions end.
    fn end(&mut self, now: Time) {
        let mut over = std::mem::take(&mut self.over);
        self.cable.end(&mut over);
        for over in over.drain(..) {
            if over.collided { self.collide(over) } else { self.carry(over) }
        }
        self.over = over;
        self.ask_again(now);
    }

    /// Those who deferred look again.
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
        let wait = self.timing.slot * station.dice.slots(station.collisions);
        self.attempts.push(Reverse((over.end + wait, over.tap)));
    }

    fn carry(&mut self, over: Over) {
        let station = &self.stations[over.tap.index()];
        let (spot, collisions) = (self.spot(over.tap), station.collisions);
        self.desperate -= u32::from(usize::from(collisions) == LAST_BUT_ONE);
        let Some(frame) = self.next(over.tap, over.end) else { return };
        let data = self.timing.data(frame, &mut 0);
        self.tally.carry(data, over.end.since(over.start) + self.timing.gap - data, collisions);
        self.audience.of(over.tap, frame.destination, &mut self.takers);
        let stations = &self.stations;
        self.out.deliver(frame, &self.takers, |tap| over.end + spot.to(stations[tap.index()].place));
    }

    /// Takes a station's frame away and gives it the next one from its queue, at `now`.
    fn next(&mut self, tap: Tap, now: Time) -> Option<Frame> {
        let station = &mut self.stations[tap.index()];
        station.collisions = 0;
        let done = std::mem::replace(&mut station.frame, station.backlog.dequeue());
        self.waiting -= u64::from(done.is_some());
        if station.frame.is_some() {
            self.attempts.push(Reverse((now, tap)));
        }
        done
    }

    /// No later than the next thing to tell, and after all that has happened.
    fn wake(&self) -> Passage {
        let due = self.out.next_due();
        let inside = self.next_outcome();
        due.into_iter().chain(inside).min().map_or(Passage::Idle, Passage::Wake)
    }

    /// A time before which no frame inside is carried or dropped.
    fn next_outcome(&self) -> Option<Time> {
        let attempt = self.attempts.peek().map(|&Reverse((at, _))| at);
        let Some(prospect) = self.cable.prospect() else { return attempt.map(|at| self.soonest_end(at)) };
        if self.desperate > 0 {
            return Some(prospect.end.min(attempt.map_or(prospect.end, |at| at + self.timing.jam)));
        }
        // Whoever hears it defers to it.
        let sooner = attempt.filter(|&at| at <= prospect.heard.min(prospect.end));
        if prospect.undisturbed {
            return Some(sooner.map_or(prospect.end, |at| prospect.end.min(self.soonest_end(at))));
        }
        Some(self.soonest_end(sooner.unwrap_or(prospect.end)))
    }

    fn soonest_end(&self, start: Time) -> Time {
        start + if self.desperate > 0 { self.timing.jam } else { self.timing.shortest_carrier() }
    }
}

/// The number of collisions that leaves one attempt.
const LAST_BUT_ONE: usize = MOST_ATTEMPTS - 1;

impl<C: Cable> Segment for Mac<C> {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        self.advance(now, |_| false);
        self.out.receive();
        let station = &mut self.stations[tap.index()];
        if station.frame.is_none() {
            station.frame = Some(frame);
            self.attempts.push(Reverse((now, tap)));
        } else if let Err(frame) = station.backlog.enqueue(frame, &self.limit) {
            return self.out.drop(frame, Cause::QueueFull);
        }
        self.waiting += 1;
    }

    fn poll(&mut self, now: Time) -> Passage {
        self.advance(now, |out| out.has_something(now));
        self.out.pop(now).unwrap_or_else(|| self.wake())
    }

    fn account(&self) -> Account {
        self.out.account(self.waiting)
    }

    fn meter(&self) -> Meter {
        self.tally.meter()
    }

    fn reset(&mut self) {
        self.tally.reset();
        self.out.reset(self.waiting);
    }
}
