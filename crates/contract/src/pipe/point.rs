//! The result of one message size.

use btu_stats::Histogram;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{Conditions, Pattern};
use crate::surroundings::is_default;

/// One end of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The one that sends first.
    Near,
    /// The far end.
    Far,
}

/// A message size with all its observations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The size of the messages.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// The pass over all sizes to which it belongs, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pass: u32,
    /// Its trials, in the order in which they were made.
    pub trials: Vec<Trial>,
    /// The accounts of its messages.
    #[serde(alias = "books")] // retired word: runs stored before
    pub accounts: Accounts,
    /// Times of single exchanges in nanoseconds (ping-pong: round trips), if the plan requests
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Histogram>,
    /// The state of the machine and the network meanwhile; absent in runs of older versions that
    /// did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

/// A trial: repetitions of a pattern that are timed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The repetitions of the pattern; at least one.
    pub repetitions: u64,
    /// The time of all of them.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Span,
    /// The end that measured the time: the near end, or the far end if messages are streamed to it.
    pub clock: End,
    /// Messages of this trial that did not arrive.
    pub lost: u64,
    /// Messages of this trial that were sent again.
    pub repeated: u64,
}

impl Trial {
    /// The time of one message one way, in seconds: half a repetition for ping-pong, else all of
    /// it.
    pub fn one_way_seconds(&self, pattern: Pattern) -> f64 {
        self.elapsed.seconds() / self.repetitions.max(1) as f64 / pattern.one_way_parts()
    }
}

impl Point {
    /// A size of which nothing is measured yet, in the first pass.
    pub fn empty(size: Bytes) -> Self {
        Self {
            size,
            pass: 0,
            trials: Vec::new(),
            accounts: Accounts::default(),
            each: None,
            conditions: None,
        }
    }

    /// Frames that the emulator lost on its own account; 0 without one. The drawn network loses
    /// none of them, so times of a size with such a frame are not valid.
    pub fn lost_by_emulator(&self) -> u64 {
        let network = self.conditions.as_ref().and_then(|conditions| conditions.network.as_deref());
        network.map_or(0, |network| network.port_drops + network.faults().count() as u64)
    }

    /// The time for which the near end's machine slept meanwhile: its times are then not the
    /// network's.
    pub fn slept(&self) -> Option<Span> {
        self.conditions.as_ref()?.machine.slept()
    }

    /// Whether its times are the network's: the emulator carried every frame, and the machine was
    /// awake.
    pub fn is_undisturbed(&self) -> bool {
        self.lost_by_emulator() == 0 && self.slept().is_none()
    }

    /// Whether the point counts: every byte that arrived was sent, and its times are the network's.
    pub fn is_valid(&self) -> bool {
        self.accounts.wrong == 0 && self.accounts.lost().is_some() && self.is_undisturbed()
    }

    /// One-way times of its trials in seconds.
    pub fn one_way_seconds(&self, pattern: Pattern) -> Vec<f64> {
        self.trials.iter().map(|trial| trial.one_way_seconds(pattern)).collect()
    }
}

/// The accounts of the messages of a size, warm-up and all trials, both directions and all pairs
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Accounts {
    /// Messages handed to the transport, repeated ones counted each time.
    pub sent: u64,
    /// Messages taken from it, each counted once.
    pub received: u64,
    /// Messages taken from it that had arrived before.
    pub duplicates: u64,
    /// Messages with checked bytes.
    pub checked: u64,
    /// Messages of them with a wrong byte.
    pub wrong: u64,
}

impl Accounts {
    /// Messages that did not arrive; `None` where more arrived than were sent, which no transport
    /// should manage.
    pub fn lost(&self) -> Option<u64> {
        self.sent.checked_sub(self.received)?.checked_sub(self.duplicates)
    }

    /// Both accounts in one: of two ends, or of several pairs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            duplicates: self.duplicates.saturating_add(other.duplicates),
            checked: self.checked.saturating_add(other.checked),
            wrong: self.wrong.saturating_add(other.wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_two_one_way_times_and_a_bidirectional_one_moves_twice_the_bits() {
        let trial = Trial {
            repetitions: 1000,
            elapsed: Span::from_milliseconds(20),
            clock: End::Near,
            lost: 0,
            repeated: 0,
        };
        let point = Point { trials: vec![trial], ..Point::empty(Bytes::new(1000)) };
        let table = [
            (Pattern::PingPong, 10e-6, 8e3),
            (Pattern::Streaming, 20e-6, 8e3),
            (Pattern::Bidirectional, 20e-6, 16e3),
        ];
        for (pattern, seconds, bits) in table {
            assert!((point.one_way_seconds(pattern)[0] - seconds).abs() < 1e-15, "{pattern}");
            assert!((pattern.bits_at_once(point.size, 1) - bits).abs() < 1e-9, "{pattern}");
        }
        assert!((Pattern::PingPong.bits_at_once(point.size, 4) - 32e3).abs() < 1e-9);
    }

    #[test]
    fn what_was_sent_is_received_or_seen_before_or_lost() {
        let near = Accounts { sent: 110, received: 100, duplicates: 1, checked: 100, wrong: 0 };
        let far = Accounts { sent: 103, received: 100, duplicates: 4, checked: 100, wrong: 1 };
        assert_eq!(near.and(far).lost(), Some(8));
        assert_eq!(Accounts { received: 1, ..Accounts::default() }.lost(), None);
    }

    #[test]
    fn a_point_survives_storage() {
        let mut each = Histogram::new();
        each.record(12_345);
        for each in [None, Some(each)] {
            let point = Point { each, ..Point::empty(Bytes::new(3)) };
            let text = serde_json::to_string(&point).unwrap();
            assert_eq!(serde_json::from_str::<Point>(&text).unwrap(), point);
        }
    }
}
