//! Two clocks read together: the kernel stamps packets by the wall clock, all other times are by
//! the monotonic one.

use btu_units::{Span, Time};
use nix::time::{ClockId, clock_gettime};

use crate::clock::now;

/// Two readings of the monotonic clock around one of the wall clock are this close, or are tried
/// again.
const CLOSE: Span = Span::from_nanoseconds(500);

/// Tries before the closest pair so far has to do.
const TRIES: u32 = 8;

/// One moment, by both clocks.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    /// By the monotonic clock, from the machine's start on.
    pub monotonic: Time,
    /// By the wall clock, from the Unix epoch on.
    pub wall: Time,
}

impl ClockReading {
    /// Now, within about a quarter of a microsecond, unless the processor was taken away each time.
    pub fn now() -> Self {
        let mut best = Self::read();
        for _ in 1..TRIES {
            if best.0 <= CLOSE {
                break;
            }
            let next = Self::read();
            best = if next.0 < best.0 { next } else { best };
        }
        best.1
    }

    /// A moment, and how far apart the readings around it were.
    fn read() -> (Span, Self) {
        let before = now();
        let wall = wall();
        let apart = now().since(before);
        (apart, Self { monotonic: before + Span::from_nanoseconds(apart.nanoseconds() / 2), wall })
    }

    /// A recent stamp by the monotonic clock; one from the future (the clock was set) counts as
    /// now.
    pub fn at(&self, stamp: Time) -> Time {
        let age = self.wall.since(stamp);
        Time::ZERO + self.monotonic.since(Time::ZERO).saturating_sub(age)
    }
}

fn wall() -> Time {
    // Linux cannot refuse CLOCK_REALTIME.
    let time =
        clock_gettime(ClockId::CLOCK_REALTIME).expect("every Linux kernel has CLOCK_REALTIME");
    Time::from_nanoseconds(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_age_and_the_future_is_now() {
        let moment = ClockReading {
            monotonic: Time::from_nanoseconds(1000),
            wall: Time::from_nanoseconds(5000),
        };
        assert_eq!(moment.at(Time::from_nanoseconds(4900)), Time::from_nanoseconds(900));
        assert_eq!(moment.at(Time::from_nanoseconds(9000)), Time::from_nanoseconds(1000));
        assert_eq!(moment.at(Time::ZERO), Time::ZERO);
    }

    #[test]
    fn the_clocks_are_read_together() {
        let (before, moment, after) = (now(), ClockReading::now(), now());
        assert!(before <= moment.monotonic && moment.monotonic <= after);
    }
}
