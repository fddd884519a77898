//! The places of the stations on a ring, and the times at which a free token passes them.

use std::ops::Range;

use btu_units::{BitRate, Span};

/// The longest latency a ring can have, about nine minutes, so that a product with the number of
/// stations fits 64 bits.
const LONGEST: u64 = 1 << 39;

/// A ring with stations that divide its latency evenly.
///
/// Passages are numbered: passage `lap * stations + station` is the token's at `station` in that
/// lap, so that one number has both the place of the token and the number of its laps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    stations: u64,
    /// Nanoseconds for a bit to go round.
    latency: u64,
}

impl Route {
    /// A ring of `stations` (at least one, fewer than 2^24) with a total latency of `latency`.
    pub(crate) fn new(stations: usize, latency: Span) -> Self {
        Self {
            stations: (stations as u64).clamp(1, 1 << 24),
            latency: latency.nanoseconds().clamp(1, LONGEST),
        }
    }

    /// The time a bit takes to go round.
    pub(crate) fn lap(&self) -> Span {
        Span::from_nanoseconds(self.latency)
    }

    pub(crate) fn stations(&self) -> u64 {
        self.stations
    }

    /// The station of a passage.
    pub(crate) fn station(&self, passage: u64) -> u32 {
        (passage % self.stations) as u32
    }

    /// The time of the passage, from the token's start at station 0 on.
    pub(crate) fn at(&self, passage: u64) -> Span {
        let (lap, station) = (passage / self.stations, passage % self.stations);
        Span::from_nanoseconds(
            lap.saturating_mul(self.latency).saturating_add(self.offset(station)),
        )
    }

    /// The last passage at or before `elapsed` from the token's start on: the inverse of
    /// [`Self::at`].
    pub(crate) fn last_by(&self, elapsed: Span) -> u64 {
        let (lap, phase) =
            (elapsed.nanoseconds() / self.latency, elapsed.nanoseconds() % self.latency);
        // floor(i * latency / stations) <= phase, solved for the largest i.
        lap * self.stations + ((phase + 1) * self.stations - 1) / self.latency
    }

    /// The first passage at `station` after `passage`.
    pub(crate) fn next(&self, passage: u64, station: u32) -> u64 {
        let here = passage % self.stations;
        let there = u64::from(station);
        let steps = if there > here { there - here } else { there + self.stations - here };
        passage + steps
    }

    /// Stations and times of a row of passages, without a division for each.
    pub(crate) fn walk(&self, passages: Range<u64>) -> impl Iterator<Item = (u32, Span)> {
        let Self { stations, latency } = *self;
        let mut station = passages.start % stations;
        let mut at = self.at(passages.start).nanoseconds();
        // What rounding down has left of `at`, in units of 1 / stations.
        let mut rest = station * latency % stations;
        passages.map(move |_| {
            let here = (station as u32, Span::from_nanoseconds(at));
            station = if station + 1 == stations { 0 } else { station + 1 };
            (at, rest) = (at + latency / stations, rest + latency % stations);
            if rest >= stations {
                (at, rest) = (at + 1, rest - stations);
            }
            here
        })
    }

    /// How long a bit takes from one station to another downstream of it; to itself no time.
    pub(crate) fn between(&self, from: u32, to: u32) -> Span {
        let (from, to) = (self.offset(u64::from(from)), self.offset(u64::from(to)));
        Span::from_nanoseconds(if to >= from { to - from } else { self.latency - (from - to) })
    }

    fn offset(&self, station: u64) -> u64 {
        station * self.latency / self.stations
    }
}

/// How long `bits` bits take at `rate`, to the nearest nanosecond.
pub(crate) fn bits_at(bits: u64, rate: BitRate) -> Span {
    let rate = u128::from(rate.bits_per_second().max(1));
    let nanoseconds = (u128::from(bits) * 1_000_000_000 + rate / 2) / rate;
    Span::from_nanoseconds(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stations_divide_the_ring_evenly() {
        let route = Route::new(4, Span::from_nanoseconds(10));
        let times: Vec<u64> = (0..6).map(|passage| route.at(passage).nanoseconds()).collect();
        assert_eq!(times, [0, 2, 5, 7, 10, 12]);
        assert_eq!(route.between(1, 3), Span::from_nanoseconds(5));
        assert_eq!(route.between(3, 1), Span::from_nanoseconds(5));
        assert_eq!(route.between(2, 2), Span::ZERO);
    }

    #[test]
    fn the_next_passage_at_the_same_station_is_a_lap_later() {
        let route = Route::new(4, Span::from_nanoseconds(10));
        assert_eq!((route.next(6, 2), route.next(6, 3), route.next(6, 1)), (10, 7, 9));
    }

    #[test]
    fn a_bit_takes_its_time() {
        assert_eq!(
            bits_at(24, BitRate::from_megabits_per_second(16)),
            Span::from_nanoseconds(1500)
        );
        assert_eq!(bits_at(1, BitRate::from_megabits_per_second(16)), Span::from_nanoseconds(63));
    }

    proptest! {
        /// The last passage by a time is not after it, and the next one is.
        #[test]
        fn times_and_passages_are_inverse(stations in 1usize..20_000, latency in 1u64..10_000_000, at in 0u64..1 << 40) {
            let (route, at) = (Route::new(stations, Span::from_nanoseconds(latency)), Span::from_nanoseconds(at));
            let passage = route.last_by(at);
            prop_assert!(route.at(passage) <= at && at < route.at(passage + 1));
        }

        /// Walking is the same as looking each passage up.
        #[test]
        fn walks_pass_where_they_should(stations in 1usize..50, latency in 1u64..1000, from in 0u64..200, count in 0u64..200) {
            let route = Route::new(stations, Span::from_nanoseconds(latency));
            let walk: Vec<_> = route.walk(from..from + count).collect();
            let looked_up: Vec<_> = (from..from + count).map(|passage| (route.station(passage), route.at(passage))).collect();
            prop_assert_eq!(walk, looked_up);
        }
    }
}
