//! An absolute schedule. It sleeps until shortly before the next point, and then spins.

use btu_units::{BitRate, Bytes, Serializer, Span, Time};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use crate::clock::now;

/// How long before its point the sleep ends: the median lateness of a sleep with a timer slack of 1
/// ns on an idle virtual machine. The rest is spent spinning, so a pace slower than this costs
/// little CPU time.
const SPIN: Span = Span::from_microseconds(50);

/// The points in time at which datagrams are due: `start + k * size / rate`, exact to the
/// nanosecond for every k.
pub(crate) struct DatagramSchedule {
    line: Serializer,
    size: Bytes,
    due: Time,
    end: Time,
}

impl DatagramSchedule {
    /// A schedule of datagrams of `size` at `rate`, from `start` on for `duration`.
    pub(crate) fn new(start: Time, rate: BitRate, size: Bytes, duration: Span) -> Self {
        Self { line: Serializer::new(rate), size, due: start, end: start + duration }
    }

    /// When the next datagram is due; `None` when the schedule is over.
    pub(crate) fn next(&self) -> Option<Time> {
        (self.due < self.end).then_some(self.due)
    }

    /// When the datagram after the last would be due: the sent data fill the time until then.
    pub(crate) fn reached(&self) -> Time {
        self.due
    }

    /// From the next datagram on at another rate.
    pub(crate) fn change(&mut self, rate: BitRate) {
        self.line = Serializer::new(rate);
    }

    /// Goes on to the datagram after.
    pub(crate) fn advance(&mut self) {
        self.due += self.line.transmit(self.size);
    }
}

/// Waits until `due` and returns the time it is then, which is never before.
pub(crate) fn wait_until(due: Time) -> Time {
    let mut time = now();
    while due.since(time) > SPIN {
        sleep_until(Time::from_nanoseconds(due.nanoseconds() - SPIN.nanoseconds()));
        time = now();
    }
    while time < due {
        std::hint::spin_loop();
        time = now();
    }
    time
}

fn sleep_until(time: Time) {
    let duration = std::time::Duration::from_nanos(time.nanoseconds());
    // The only possible error is a signal: the caller looks at the clock and sleeps again.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &duration.into(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::PreciseTimers;
    use btu_conditions::{Conditions, judge};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_schedule_has_the_number_of_points_it_must(rate in 100_000u64..100_000_000, size in 40u64..1500, duration_ns in 1u64..20_000_000) {
            let rate_bits = BitRate::from_bits_per_second(rate);
            let mut schedule = DatagramSchedule::new(Time::ZERO, rate_bits, Bytes::new(size), Span::from_nanoseconds(duration_ns));
            let (mut count, mut last) = (0u128, Time::ZERO);
            while let Some(due) = schedule.next() {
                let exact = count * u128::from(size) * 8_000_000_000 / u128::from(rate);
                prop_assert_eq!(u128::from(due.nanoseconds()), exact);
                (count, last) = (count + 1, due);
                schedule.advance();
            }
            prop_assert!(last < Time::from_nanoseconds(duration_ns));
            let bound = (u128::from(duration_ns) * u128::from(rate)).div_ceil(u128::from(size) * 8_000_000_000);
            prop_assert!(count == bound || count == bound + 1, "{count} points, bound {bound}");
        }
    }

    #[test]
    fn waiting_ends_at_its_point_and_not_before() {
        let conditions = Conditions::begin();
        let _timers = PreciseTimers::hold();
        for wait in [0, 10, 60, 500, 3000] {
            let due = now() + Span::from_microseconds(wait);
            let woken = wait_until(due);
            assert!(woken >= due);
            let late = woken.since(due);
            judge!(conditions, late < Span::from_milliseconds(100), "{wait} us: {late} late");
        }
    }
}
