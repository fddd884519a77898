//! Each station's token rotation timer (TRT) and late counter.
//!
//! Source: ISO 9314-2, clauses 8.3 and 8.4. When the timer runs out it starts again at the target (TTRT) and the station
//! is late. A token that comes in time may be used for as long as the timer had left (the token holding time, THT), and
//! sets the timer to the target again. A token that comes late only clears the late counter: the timer runs on, so that
//! lateness is made up for. Deviation: a station whose timer runs out twice would claim the ring anew; here only the
//! counter is cleared.
//!
//! All stations' timers are kept, also of those that never send: an addition per station and lap of a token while frames
//! are under way, and one per station when an idle ring wakes up, however long it was idle.

use std::ops::Range;

use btu_units::{Span, Time};

use crate::ring::Route;

/// The timers of all stations.
#[derive(Debug)]
pub(crate) struct Timers {
    /// When each timer runs out first after its station's last token.
    expiry: Vec<Time>,
    target: Span,
}

impl Timers {
    /// The timers at time zero on a ring where nobody has sent anything before: the token passed every station once in the
    /// lap before, the first one just now. The target must be longer than a lap.
    pub(crate) fn new(route: &Route, target: Span) -> Self {
        let lap = route.at(route.stations());
        let before = |passage| lap.saturating_sub(route.at(passage));
        let expiry = (1..=route.stations()).map(|passage| Time::ZERO + target.saturating_sub(before(passage)));
        let mut expiry: Vec<Time> = expiry.collect();
        expiry.rotate_right(1);
        Self { expiry, target }
    }

    /// The token came to `station` at `now`: until when it may be used, if it is in time.
    pub(crate) fn token(&mut self, station: u32, now: Time) -> Option<Time> {
        let expiry = &mut self.expiry[station as usize];
        if now < *expiry {
            return Some(std::mem::replace(expiry, now + self.target));
        }
        while *expiry <= now {
            *expiry += self.target;
        }
        None
    }

    /// The token came to these stations one after the other, each several times if there are more passages than
    /// stations, and was not used; passage `p` was at `start + route.at(p)`.
    pub(crate) fn pass(&mut self, route: &Route, start: Time, passages: Range<u64>) {
        let stations = route.stations();
        for first in passages.start..passages.end.min(passages.start + stations) {
            let (mut passage, station) = (first, route.station(first));
            let last = first + (passages.end - 1 - first) / stations * stations;
            // Once the token is in time it stays so, because without frames a lap is shorter than the target.
            while self.token(station, start + route.at(passage)).is_none() && passage < last {
                passage += stations;
            }
            if passage < last {
                self.expiry[station as usize] = start + route.at(last) + self.target;
            }
        }
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

    /// One station on a ring of 10 ns.
    fn timer() -> Timers {
        Timers::new(&Route::new(1, Span::from_nanoseconds(10)), TARGET)
    }

    #[test]
    fn an_early_token_may_be_used_for_what_is_left() {
        let mut timer = timer();
        assert_eq!(timer.token(0, at(30)), Some(at(100)));
        assert_eq!(timer.token(0, at(129)), Some(at(130)));
    }

    #[test]
    fn lateness_is_made_up_for() {
        let mut timer = timer();
        // Late by 20: the timer ran out at 100 and runs out again at 200.
        assert_eq!(timer.token(0, at(120)), None);
        assert_eq!(timer.token(0, at(190)), Some(at(200)));
        // A token at the very moment is late, by nothing.
        assert_eq!(timer.token(0, at(290)), None);
        assert_eq!(timer.token(0, at(389)), Some(at(390)));
    }

    #[test]
    fn the_first_lap_was_idle() {
        let timers = Timers::new(&Route::new(4, Span::from_nanoseconds(10)), TARGET);
        assert_eq!(timers.expiry, [100, 92, 95, 97].map(at));
    }

    proptest! {
        /// Many laps at once are as many laps one after the other.
        #[test]
        fn laps_add_up(ages in prop::collection::vec(1u64..100, 5), from in 0u64..20, count in 0u64..60) {
            let route = Route::new(5, Span::from_nanoseconds(80));
            let mut at_once = Timers { expiry: ages.iter().map(|&age| at(age)).collect(), target: TARGET };
            let mut one_by_one = Timers { expiry: at_once.expiry.clone(), target: TARGET };
            at_once.pass(&route, at(7), from..from + count);
            for passage in from..from + count {
                one_by_one.pass(&route, at(7), passage..passage + 1);
            }
            prop_assert_eq!(at_once.expiry, one_by_one.expiry);
        }
    }
}
