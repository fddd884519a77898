//! The common part of token ring and FDDI: a token that circulates, and stations that keep it while
//! they send.
//!
//! **The idle ring costs nothing.** A token that no station holds is not moved: its place is a
//! function of time ([`Route`]), and the next event is the one at the first station downstream that
//! has a frame ([`StationSet`]).
//!
//! **Cause before effect.** A frame takes part in what happens after the nanosecond in which it was
//! accepted, never in what happens within it: a token that passes a station at the very time at
//! which the station gets its first frame is missed. So it makes no difference whether a poll at
//! that time came before the frame or after it.
//!
//! Deviations, for both kinds of ring: stations never fail, so there is no monitor, claiming or
//! beaconing; frames are not repeated when the receiver was busy; a station's address is only
//! looked at by its receiver, so a receiver takes any number of frames.

mod exit;
mod ready;
mod route;
mod station;
#[cfg(test)]
pub(crate) mod testing;

use std::ops::Range;

use btu_network::Discipline;
use btu_units::{BitRate, Bytes, Serializer, Span, Time};

use crate::account::{Account, Cause};
use crate::frame::Frame;
use crate::listeners::{Listener, Listeners};
use crate::queue::Queue;
use crate::segment::{Meter, Segment, SegmentStep, Tap};
use exit::Exit;
use ready::StationSet;
pub(crate) use route::{Route, bits_at};
pub(crate) use station::RingStation;

/// A station for each listener, with queues of `discipline`, which draw from the random stream of
/// `name` and `seed`.
pub(crate) fn stations_of(
    discipline: &Discipline,
    rate: BitRate,
    listeners: &[Listener],
    name: &str,
    seed: u64,
) -> Vec<RingStation> {
    let queue = |place| Queue::new(discipline, rate, &format!("{name}/{place}"), seed);
    (0..listeners.len()).map(|place| RingStation::new(queue(place))).collect()
}

/// Octets of the check sequence, which [`Frame::length`] leaves out.
const CHECK_SEQUENCE: Bytes = Bytes::new(4);

/// The rules by which a station may keep the token.
pub trait Access {
    /// Octets that a frame occupies on the ring beyond [`Frame::length`].
    const AROUND: Bytes;

    /// Whether a frame that occupies `size` on the ring can ever be sent.
    fn carries(&self, size: Bytes) -> bool;

    /// The token passed these stations, which had nothing to send; passage `p` was at `start +
    /// route.at(p)`.
    fn pass(&mut self, start: Time, passages: Range<u64>);

    /// Whether the station of `passage`, which has `waiting` frames, may keep the token that
    /// reaches it at `now`, that is `start + route.at(passage)`.
    fn keeps(&mut self, passage: u64, start: Time, waiting: usize, now: Time) -> bool;

    /// Whether the station that has the token may begin a frame that occupies `size` now. If the
    /// answer is yes, the station begins it.
    fn begins(&mut self, size: Bytes, now: Time) -> bool;

    /// The time at which the token leaves a station; its last frame began at `began` and ended at
    /// `ended`.
    fn leaves(&self, began: Time, ended: Time) -> Time;

    /// The token that was kept in `passage` has left: passages after it follow from `start`.
    fn left(&mut self, passage: u64, start: Time);
}

/// The state of the token.
#[derive(Debug, Clone, Copy)]
enum Token {
    /// Under way; it has passed, or will leave, the station of `passed`, and passes others at
    /// `start + route.at(..)`.
    Free { passed: u64, start: Time },
    /// At the station of `passage`, which began a frame at `began` that ends at `until`; at first
    /// both are the time at which the token came.
    Held { passage: u64, began: Time, until: Time },
}

/// A ring with rules.
#[derive(Debug)]
pub struct Ring<A> {
    access: A,
    route: Route,
    serializer: Serializer,
    stations: Vec<RingStation>,
    ready: StationSet,
    waiting: u64,
    token: Token,
    listeners: Listeners,
    /// Reused to avoid allocation.
    hearers: Vec<Tap>,
    exit: Exit,
    work: RingCounters,
}

/// The counters of the ring.
#[derive(Debug, Clone, Copy, Default)]
struct RingCounters {
    /// Frames that ended and had a receiver.
    frames: u64,
    /// Their octets from destination address to check sequence; times are made of them when asked,
    /// and lose nothing.
    data: Bytes,
    /// The time the token was held.
    busy: Span,
}

impl<A: Access> Segment for Ring<A> {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        self.advance(now);
        self.walk(now);
        self.exit.receive();
        if !self.access.carries(frame.length() + A::AROUND) {
            self.exit.drop(frame, Cause::TooLong);
            return;
        }
        let waited = self.stations[tap.index()].len();
        self.stations[tap.index()].enqueue(frame, now);
        self.settle(tap.0, waited);
    }

    fn poll(&mut self, now: Time) -> SegmentStep {
        loop {
            if let Some(notice) = self.exit.notice() {
                return notice;
            }
            let event = self.next_event();
            if let Some(delivery) = self.exit.deliver(event.map_or(now, |event| event.min(now))) {
                return delivery;
            }
            match event.filter(|&event| event <= now) {
                Some(event) => self.step(event),
                None => break,
            }
        }
        let wakes = [self.next_event(), self.exit.next_due()];
        wakes.into_iter().flatten().min().map_or(SegmentStep::Idle, SegmentStep::Wake)
    }

    fn account(&self) -> Account {
        self.exit.account(self.waiting)
    }

    /// Data and overhead; a frame and the keeping of the token count when they end. An idle token's
    /// walk is neither.
    fn meter(&self) -> Meter {
        let data = Serializer::new(self.serializer.rate()).transmit(self.work.data);
        let overhead = self.work.busy.saturating_sub(data);
        Meter { data, overhead, frames: self.work.frames, lines: 1, ..Meter::default() }
    }

    fn announce(&mut self, number: u32, tap: Tap) {
        self.listeners.announce(number, tap);
    }

    fn reset(&mut self) {
        self.exit.reset(self.waiting);
        self.work = RingCounters::default();
    }
}

impl<A: Access> Ring<A> {
    /// A ring of `rate` with a station for each listener on the route, in this order; the token
    /// starts at the first.
    pub(crate) fn of(
        access: A,
        route: Route,
        rate: BitRate,
        stations: Vec<RingStation>,
        listeners: &[Listener],
    ) -> Self {
        Self {
            access,
            route,
            serializer: Serializer::new(rate),
            stations,
            ready: StationSet::new(listeners.len()),
            waiting: 0,
            token: Token::Free { passed: 0, start: Time::ZERO },
            listeners: Listeners::new(listeners),
            hearers: Vec::with_capacity(listeners.len()),
            exit: Exit::default(),
            work: RingCounters::default(),
        }
    }

    /// Processes all events by `now`, without delivering.
    fn advance(&mut self, now: Time) {
        while let Some(event) = self.next_event().filter(|&event| event <= now) {
            self.step(event);
        }
    }

    /// The time of the next event: the token reaches a station that has a frame, or a frame ends.
    fn next_event(&self) -> Option<Time> {
        match self.token {
            Token::Free { passed, start } => Some(start + self.route.at(self.next_stop(passed)?)),
            Token::Held { until, .. } => Some(until),
        }
    }

    fn next_stop(&self, passed: u64) -> Option<u64> {
        let station = self.ready.next_after(self.route.station(passed))?;
        Some(self.route.next(passed, station))
    }

    fn step(&mut self, now: Time) {
        match self.token {
            Token::Free { passed, start } => self.stop(passed, start, now),
            Token::Held { passage, began, .. } => self.serve(passage, began, now),
        }
    }

    /// The token reaches a station that has a frame.
    fn stop(&mut self, passed: u64, start: Time, now: Time) {
        let Some(passage) = self.next_stop(passed) else { return };
        self.access.pass(start, passed + 1..passage);
        let station = self.route.station(passage);
        self.token =
            if self.access.keeps(passage, start, self.stations[station as usize].len(), now) {
                Token::Held { passage, began: now, until: now }
            } else {
                Token::Free { passed: passage, start }
            };
    }

    /// The station that has the token ends a frame, and begins the next one or lets the token go.
    fn serve(&mut self, passage: u64, began: Time, now: Time) {
        self.work.busy += now.since(began);
        let station = self.route.station(passage);
        self.token = if let Some(frame) = self.next_frame(station, now) {
            Token::Held { passage, began: now, until: self.transmit(station, frame, now) }
        } else {
            let left = self.access.leaves(began, now);
            self.work.busy += left.since(now);
            // The start of a walk that leaves this station now, in this passage.
            let start = Time::ZERO + left.since(Time::ZERO + self.route.at(passage));
            self.access.left(passage, start);
            Token::Free { passed: passage, start }
        };
    }

    /// The station's next frame if it may begin now.
    fn next_frame(&mut self, station: u32, now: Time) -> Option<Frame> {
        let queue = &mut self.stations[station as usize];
        let waited = queue.len();
        let mut next = queue.take(now);
        if let Some(frame) =
            next.take_if(|frame| !self.access.begins(frame.length() + A::AROUND, now))
        {
            queue.keep(frame);
        }
        self.settle(station, waited);
        next
    }

    /// Enters what has changed at a station where `waited` frames were before.
    fn settle(&mut self, station: u32, waited: usize) {
        let queue = &mut self.stations[station as usize];
        while let Some((frame, cause)) = queue.dropped() {
            self.exit.drop(frame, cause);
        }
        self.waiting = self.waiting + queue.len() as u64 - waited as u64;
        if queue.is_empty() {
            self.ready.remove(station);
        } else if waited == 0 {
            self.ready.insert(station);
        }
    }

    /// Sends a frame round the ring and returns the time at which its last bit leaves the station.
    /// Each listener receives it when that bit passes.
    fn transmit(&mut self, station: u32, frame: Frame, now: Time) -> Time {
        let end = now + self.serializer.transmit(frame.length() + A::AROUND);
        self.listeners.of(Tap(station), frame.destination, &mut self.hearers);
        if self.hearers.is_empty() {
            self.exit.drop(frame, Cause::NoRoute);
            return end;
        }
        for (copy, &to) in self.hearers.iter().enumerate() {
            if copy > 0 {
                self.exit.duplicate(frame);
            }
            self.exit.launch(to, frame, end + self.route.between(station, to.0));
        }
        self.work.frames += 1;
        self.work.data += frame.length() + CHECK_SEQUENCE;
        end
    }

    /// Updates the place of a moving token, so that a frame that is accepted now cannot meet it at
    /// an earlier place.
    fn walk(&mut self, now: Time) {
        if let Token::Free { passed, start } = &mut self.token {
            let last = self.route.last_by(now.since(*start)).max(*passed);
            self.access.pass(*start, *passed + 1..last + 1);
            *passed = last;
        }
    }
}
