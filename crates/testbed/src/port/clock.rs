//! Two clocks read together: the kernel stamps frames by one, the wire uses the other.

use btu_units::{Span, Time};
use nix::time::{ClockId, clock_gettime};

/// The monotonic clock, nanoseconds since an arbitrary origin that all processes of this machine
/// share.
///
/// # Panics
/// Never on Linux, where this clock always exists.
pub fn now() -> Time {
    read(ClockId::CLOCK_MONOTONIC)
}

fn read(clock: ClockId) -> Time {
    let time = clock_gettime(clock).expect("Linux has this clock");
    Time::from_nanoseconds(
        time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs(),
    )
}

/// One moment, by the monotonic and by the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Instants {
    /// The time by the monotonic clock.
    pub monotonic: Time,
    /// The time by the wall clock, by which the kernel stamps frames.
    wall: Time,
}

impl Instants {
    /// Reads the wall clock and the monotonic clock now.
    pub fn now() -> Self {
        Self { wall: read(ClockId::CLOCK_REALTIME), monotonic: now() }
    }

    /// A recent wall-clock stamp by the monotonic clock; a stamp from the future (the clock was
    /// set) counts as now.
    pub fn at(&self, stamp: Time) -> Time {
        let age = self.wall.since(stamp);
        let before: Span = self.monotonic.since(Time::ZERO).saturating_sub(age);
        Time::ZERO + before
    }

    /// Converts a time of the monotonic clock to the wall clock, by the offset when both were read.
    pub fn wall(&self, at: Time) -> Time {
        let before = self.monotonic.since(at);
        Time::ZERO + (self.wall.since(Time::ZERO) + at.since(self.monotonic)).saturating_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_agrees_with_the_other() {
        let both = Instants {
            monotonic: Time::from_nanoseconds(1000),
            wall: Time::from_nanoseconds(5000),
        };
        assert_eq!(both.wall(Time::from_nanoseconds(900)), Time::from_nanoseconds(4900));
        assert_eq!(both.wall(Time::from_nanoseconds(1200)), Time::from_nanoseconds(5200));
    }

    #[test]
    fn a_stamp_keeps_its_age_and_the_future_is_now() {
        let both = Instants {
            monotonic: Time::from_nanoseconds(1000),
            wall: Time::from_nanoseconds(5000),
        };
        assert_eq!(both.at(Time::from_nanoseconds(4900)), Time::from_nanoseconds(900));
        assert_eq!(both.at(Time::from_nanoseconds(9000)), Time::from_nanoseconds(1000));
        assert_eq!(both.at(Time::ZERO), Time::ZERO);
    }
}
