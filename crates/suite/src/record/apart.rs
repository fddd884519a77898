//! Tells whether two processors are farther from each other than at other times.

use std::fmt;

use btu_units::Span;

/// Farther than this many times the least latency is far. Within one part of a chip the latency
/// varies by less than half of itself, with the clock of the processors; between parts of a chip
/// or between sockets it is four to ten times as much.
const FAR: u64 = 2;

/// The latencies between two processors, seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Apart {
    least: Option<Span>,
    most: Span,
}

impl Apart {
    /// Those of these readings.
    pub fn of(latencies: impl IntoIterator<Item = Span>) -> Self {
        let mut apart = Self::default();
        for latency in latencies {
            apart.note(latency);
        }
        apart
    }

    /// Takes a reading; whether the processors were far from each other, as far as is known yet.
    pub fn note(&mut self, latency: Span) -> bool {
        self.least = Some(self.least.map_or(latency, |least| least.min(latency)));
        self.most = self.most.max(latency);
        self.is_far(latency)
    }

    /// Whether the processors were far from each other.
    pub fn is_far(&self, latency: Span) -> bool {
        self.least
            .is_some_and(|least| latency.nanoseconds() > least.nanoseconds().saturating_mul(FAR))
    }

    /// The least latency; `None` before the first reading.
    pub const fn least(&self) -> Option<Span> {
        self.least
    }

    /// The largest latency.
    pub const fn most(&self) -> Span {
        self.most
    }
}

/// Both ends of the range, in words.
impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = self.least.unwrap_or_default();
        write!(f, "a cache line took up to {} there and back instead of {least}", self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_is_more_than_twice_the_least() {
        let ns = Span::from_nanoseconds;
        let mut apart = Apart::default();
        assert!(!apart.is_far(ns(900)), "nothing to compare with");
        assert!(!apart.note(ns(500)), "the first is the nearest so far");
        assert!(!apart.note(ns(52)) && !apart.note(ns(71)) && !apart.note(ns(104)));
        assert!(apart.note(ns(105)) && apart.is_far(ns(500)));
        assert_eq!(apart, Apart::of([500, 52, 104, 105].map(ns)));
        assert_eq!(
            apart.to_string(),
            "a cache line took up to 500 ns there and back instead of 52 ns"
        );
    }
}
