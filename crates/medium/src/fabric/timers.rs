//! The times at which the nodes must be polled again: finds the earliest of many times at low cost.
//!
//! A tournament tree (Knuth, The Art of Computer Programming, volume 3, section 5.4.1): each inner
//! node holds the winner of the match between its two subtrees. Setting a time replays the matches
//! up to the root, so it costs at most the logarithm of the number of entries and never allocates;
//! among equal times the lowest number wins.

use btu_units::Time;

/// A time that never comes.
const NEVER: u64 = u64::MAX;

/// A time for each of a fixed number of entries.
#[derive(Debug)]
pub(crate) struct TimerHeap {
    /// In nanoseconds, by entry; as many as a power of two.
    times: Vec<u64>,
    /// The tree in the usual layout: the root at 1, the children of `n` at `2n` and `2n + 1`, the
    /// entries last.
    winners: Vec<u32>,
}

impl TimerHeap {
    /// Timers for `entries` entries, none set.
    pub(crate) fn new(entries: usize) -> Self {
        let places = entries.next_power_of_two();
        let mut winners: Vec<u32> =
            std::iter::repeat_n(0, places).chain(0..places as u32).collect();
        for place in (1..places).rev() {
            winners[place] = winners[2 * place];
        }
        Self { times: vec![NEVER; places], winners }
    }

    /// Sets the timer of `entry`.
    pub(crate) fn set(&mut self, entry: u32, time: Time) {
        self.enter(entry, time.nanoseconds());
    }

    /// Clears the timer of `entry`.
    pub(crate) fn clear(&mut self, entry: u32) {
        self.enter(entry, NEVER);
    }

    /// The earliest timer and its entry.
    pub(crate) fn earliest(&self) -> Option<(Time, u32)> {
        let first = self.winners[1];
        let time = self.times[first as usize];
        (time != NEVER).then_some((Time::from_nanoseconds(time), first))
    }

    fn enter(&mut self, entry: u32, time: u64) {
        self.times[entry as usize] = time;
        let mut place = self.times.len() + entry as usize;
        while place > 1 {
            place /= 2;
            let winner = self.play(place);
            let before = std::mem::replace(&mut self.winners[place], winner);
            // A match that this entry has neither won before nor wins now changes nothing further
            // up.
            if winner == before && winner != entry {
                break;
            }
        }
    }

    fn play(&self, place: usize) -> u32 {
        let (left, right) = (self.winners[2 * place], self.winners[2 * place + 1]);
        if self.times[right as usize] < self.times[left as usize] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_alarm_is_no_alarm() {
        assert_eq!(TimerHeap::new(0).earliest(), None);
        assert_eq!(TimerHeap::new(5).earliest(), None);
    }

    #[test]
    fn the_lowest_number_wins_a_tie() {
        let mut timers = TimerHeap::new(5);
        for entry in [4, 2, 3] {
            timers.set(entry, Time::from_nanoseconds(7));
        }
        assert_eq!(timers.earliest(), Some((Time::from_nanoseconds(7), 2)));
    }

    proptest! {
        #[test]
        fn it_answers_as_a_search_through_all_does(
            entries in 1usize..20,
            script in prop::collection::vec((any::<u32>(), prop::option::of(0u64..10)), 0..200),
        ) {
            let mut timers = TimerHeap::new(entries);
            let mut plain = vec![None; entries];
            for (entry, time) in script {
                let entry = entry % entries as u32;
                plain[entry as usize] = time;
                match time {
                    Some(time) => timers.set(entry, Time::from_nanoseconds(time)),
                    None => timers.clear(entry),
                }
                let set = (0u32..).zip(&plain).filter_map(|(entry, time)| time.map(|time| (time, entry)));
                let expected = set.min().map(|(time, entry)| (Time::from_nanoseconds(time), entry));
                prop_assert_eq!(timers.earliest(), expected);
            }
        }
    }
}
