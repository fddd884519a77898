//! Each station's token rotation timer (TRT) and late counter.
//!
//! Source: ISO 9314-2, clauses 8.3 and 8.4. When the timer runs out it starts again at the target
//! (TTRT) and the station is late. A token that comes in time may be used for as long as the timer
//! had left (the token holding time, THT), and sets the timer to the target again. A token that
//! comes late only clears the late counter: the timer runs on, so that lateness is made up for.
//! Deviation: when a timer runs out twice, the station would claim the ring again; here only the
//! counter is cleared.
//!
//! **While every token is in time** a timer runs out one target after the token's last passage, and
//! that time follows from the stations that held the token in the last lap ([`History`]): no state
//! is kept for stations that have nothing to send. When a lap takes as long as the target, a
//! station is late. Then all timers are written out, and each is set at every passage, until two
//! laps together were shorter than the target everywhere: of two such tokens one at least was in
//! time, and then so was the second.

use std::collections::VecDeque;
use std::ops::Range;

use btu_units::{Span, Time};

use crate::ring::Route;

/// The timers of all stations.
#[derive(Debug)]
pub(crate) struct Timers {
    route: Route,
    target: Span,
    history: History,
    /// Whether every station's last token was in time.
    punctual: bool,
    /// From this passage on laps are shorter than half the target.
    calm_from: u64,
    /// When each timer runs out first after its station's last token; out of date while all are
    /// punctual.
    expiry: Vec<Time>,
}

impl Timers {
    /// The timers at time zero on a ring where no station has sent anything before: the token
    /// passed every station once in the lap before, the first one just now. The target must be
    /// longer than a lap.
    pub(crate) fn new(route: Route, target: Span) -> Self {
        Self {
            route,
            target,
            history: History::default(),
            punctual: true,
            calm_from: 0,
            expiry: vec![Time::ZERO; route.stations() as usize],
        }
    }

    /// The token arrives at a station in this passage, at `start + route.at(passage)`. Returns the
    /// time until which the station may use it, if it is in time. The caller reports a use with
    /// [`Self::freed`].
    pub(crate) fn token(&mut self, passage: u64, start: Time) -> Option<Time> {
        if self.punctual {
            return Some(self.punctual_expiry(passage, start));
        }
        self.set(self.route.station(passage), start + self.route.at(passage))
    }

    /// Sets a timer that is written out.
    fn set(&mut self, station: u32, now: Time) -> Option<Time> {
        let expiry = &mut self.expiry[station as usize];
        if now < *expiry {
            return Some(std::mem::replace(expiry, now + self.target));
        }
        while *expiry <= now {
            *expiry += self.target;
        }
        None
    }

    /// The token, held in this passage, is free again: passages after it follow from `start`
    /// instead of `before`.
    pub(crate) fn freed(&mut self, passage: u64, before: Time, start: Time) {
        self.history.push(passage, before, self.route.stations());
        let next = passage + 1;
        let lap = self.route.lap()
            + start.since(self.history.start_a_lap_before(next, start, self.route.stations()));
        if lap * 2 >= self.target {
            // By the time this hold is more than a lap ago. If a lap without frames takes that
            // long, there is no calm.
            let calm = self.route.lap() * 2 < self.target;
            self.calm_from = if calm { next + self.route.stations() } else { u64::MAX };
        }
        if self.punctual && lap >= self.target {
            self.punctual = false;
            self.write_out(next, start);
        }
    }

    /// The token came to these stations one after the other, each several times if there are more
    /// passages than stations, and was not used; passage `p` was at `start + route.at(p)`.
    pub(crate) fn pass(&mut self, start: Time, passages: Range<u64>) {
        if self.punctual || passages.is_empty() {
            return;
        }
        let (stations, lap, route) = (self.route.stations(), self.route.lap(), self.route);
        let first_lap = passages.start..passages.end.min(passages.start + stations);
        for (passage, (station, at)) in first_lap.clone().zip(route.walk(first_lap)) {
            let laps = (passages.end - 1 - passage) / stations;
            let mut passed = 0;
            // Once the token is in time it stays so, because without frames a lap is shorter than
            // the target.
            while self.set(station, start + at + lap * passed).is_none() && passed < laps {
                passed += 1;
            }
            if passed < laps {
                self.expiry[station as usize] = start + at + lap * laps + self.target;
            }
        }
        self.punctual = passages.end > self.calm_from.saturating_add(2 * stations);
    }

    /// One target after the last passage, a lap before this one.
    fn punctual_expiry(&self, passage: u64, start: Time) -> Time {
        let start = self.history.start_a_lap_before(passage, start, self.route.stations());
        start + self.route.at(passage) + self.target.saturating_sub(self.route.lap())
    }

    /// Sets every station's timer to what it is before the token comes to the station of passage
    /// `next`.
    fn write_out(&mut self, next: u64, start: Time) {
        for passage in next..next + self.route.stations() {
            self.expiry[self.route.station(passage) as usize] =
                self.punctual_expiry(passage, start);
        }
    }
}

/// The holds of the last lap. Between two holds passage `p` is at `start + route.at(p)`; a hold
/// moves the start.
#[derive(Debug, Default)]
struct History {
    /// Passages in which the token was held, ascending, and the start up to them, they themselves
    /// included.
    holds: VecDeque<(u64, Time)>,
}

impl History {
    /// Adds a passage in which the token was held; its time follows from `start`. Passages more
    /// than a lap ago are removed.
    fn push(&mut self, passage: u64, start: Time, stations: u64) {
        while self.holds.pop_front_if(|hold| hold.0 + stations <= passage).is_some() {}
        self.holds.push_back((passage, start));
    }

    /// The start from which the passage a lap before this one follows; `start` is today's.
    fn start_a_lap_before(&self, passage: u64, start: Time, stations: u64) -> Time {
        let place = self.holds.partition_point(|hold| hold.0 + stations < passage);
        self.holds.get(place).map_or(start, |hold| hold.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TARGET: Span = Span::from_nanoseconds(100);

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    fn route(stations: usize, latency: u64) -> Route {
        Route::new(stations, Span::from_nanoseconds(latency))
    }

    /// One station's timer on a ring of 10 ns, written out.
    fn timer() -> Timers {
        Timers {
            punctual: false,
            calm_from: u64::MAX,
            expiry: vec![at(100)],
            ..Timers::new(route(1, 10), TARGET)
        }
    }

    /// The token comes at `now`.
    fn token(timer: &mut Timers, now: u64) -> Option<Time> {
        timer.token(0, at(now))
    }

    #[test]
    fn an_early_token_may_be_used_for_what_is_left() {
        let mut timer = timer();
        assert_eq!(token(&mut timer, 30), Some(at(100)));
        assert_eq!(token(&mut timer, 129), Some(at(130)));
    }

    #[test]
    fn lateness_is_made_up_for() {
        let mut timer = timer();
        // Late by 20: the timer ran out at 100 and runs out again at 200.
        assert_eq!(token(&mut timer, 120), None);
        assert_eq!(token(&mut timer, 190), Some(at(200)));
        // A token at the very moment is late, by nothing.
        assert_eq!(token(&mut timer, 290), None);
        assert_eq!(token(&mut timer, 389), Some(at(390)));
    }

    #[test]
    fn the_first_lap_was_idle() {
        let mut timers = Timers::new(route(4, 10), TARGET);
        assert_eq!(
            [1, 2, 3, 4].map(|passage| timers.token(passage, at(0))),
            [92, 95, 97, 100].map(|ns| Some(at(ns)))
        );
    }

    /// All timers, each set at every passage.
    struct Plain {
        timers: Timers,
        passed: u64,
    }

    impl Plain {
        fn token(&mut self, passage: u64, start: Time) -> Option<Time> {
            for passed in self.passed + 1..passage {
                self.timers.token(passed, start);
            }
            self.passed = passage;
            self.timers.token(passage, start)
        }
    }

    fn plain(route: Route) -> Plain {
        let mut timers = Timers::new(route, TARGET);
        timers.write_out(1, at(0));
        Plain { timers: Timers { punctual: false, calm_from: u64::MAX, ..timers }, passed: 0 }
    }

    proptest! {
        /// At whatever time the timers are looked at, they are as if each had been set at every
        /// passage.
        #[test]
        fn nothing_is_lost_by_not_looking(
            stations in 1usize..8,
            latency in 1u64..95,
            stops in prop::collection::vec((1u64..30, prop_oneof![Just(0), 0u64..4, 0u64..120], any::<bool>()), 1..80),
        ) {
            let route = route(stations, latency);
            let (mut timers, mut plain) = (Timers::new(route, TARGET), plain(route));
            let (mut passed, mut start) = (0, at(0));
            for (steps, hold, in_two) in stops {
                let passage = passed + steps;
                let half = if in_two { passed + 1 + steps / 2 } else { passage };
                timers.pass(start, passed + 1..half);
                timers.pass(start, half..passage);
                let usable = timers.token(passage, start);
                prop_assert_eq!(usable, plain.token(passage, start), "passage {}", passage);
                if usable.is_some() {
                    let before = start;
                    start += Span::from_nanoseconds(hold);
                    timers.freed(passage, before, start);
                }
                passed = passage;
            }
        }
    }
}
