//! Changes that are known before their time.
//!
//! An element applies each change at its own time, not at the time of a poll; so the results do not
//! depend on how late polls are.

use std::collections::VecDeque;

use btu_units::Time;

/// Values to come, ascending by time.
#[derive(Debug)]
pub(crate) struct TimedQueue<T>(VecDeque<(Time, T)>);

impl<T> Default for TimedQueue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> TimedQueue<T> {
    /// Adds `value` from `at` on, after the changes that were added earlier for that time.
    pub(crate) fn note(&mut self, at: Time, value: T) {
        let place = self.0.partition_point(|&(earlier, _)| earlier <= at);
        self.0.insert(place, (at, value));
    }

    /// Takes out the next change if its time is not after `now`.
    pub(crate) fn next_by(&mut self, now: Time) -> Option<(Time, T)> {
        self.0.pop_front_if(|(at, _)| *at <= now)
    }

    /// When the next change comes.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.0.front().map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_in_the_order_of_their_times() {
        let mut schedule = TimedQueue::default();
        for (at, value) in [(5, 'b'), (3, 'a'), (5, 'c')] {
            schedule.note(Time::from_nanoseconds(at), value);
        }
        assert_eq!(schedule.next_at(), Some(Time::from_nanoseconds(3)));
        let values: String = std::iter::from_fn(|| schedule.next_by(Time::from_nanoseconds(5)))
            .map(|(_, value)| value)
            .collect();
        assert_eq!(values, "abc");
    }
}
