//! Tells whether two processors are farther from each other than at other times.

use std::fmt;

use btu_units::Span;

/// Farther than this many times the near latency is far. Within one part of a chip the latency
/// varies by less than half of itself, with the clock of the processors; between parts of a chip
/// or between sockets it is four to ten times as much.
const FAR: u64 = 2;

/// The near latency is at this part of the readings in rising order: one in so many may be an
/// outlier below it.
const BELOW_NEAR: usize = 10;

/// The latencies between two processors, seen so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Apart {
    /// In rising order.
    readings: Vec<Span>,
}

impl Apart {
    /// A larger share of cells with processors far from each other deserves a warning: one cell in a
    /// hundred, half as quick as it should be, changes a result by less than other things do.
    pub const MOST_FAR: f64 = 0.01;

    /// Those of these readings.
    pub fn of(latencies: impl IntoIterator<Item = Span>) -> Self {
        let mut readings: Vec<Span> = latencies.into_iter().collect();
        readings.sort_unstable();
        Self { readings }
    }

    /// Takes a reading; whether the processors were far from each other, as far as is known yet.
    pub fn note(&mut self, latency: Span) -> bool {
        let place = self.readings.partition_point(|reading| *reading < latency);
        self.readings.insert(place, latency);
        self.is_far(latency)
    }

    /// Whether the processors were far from each other.
    pub fn is_far(&self, latency: Span) -> bool {
        self.near()
            .is_some_and(|near| latency.nanoseconds() > near.nanoseconds().saturating_mul(FAR))
    }

    /// The latency of processors that are near each other; `None` before the first reading.
    pub fn near(&self) -> Option<Span> {
        self.readings.get(self.readings.len() / BELOW_NEAR).copied()
    }

    /// The largest latency.
    pub fn most(&self) -> Span {
        self.readings.last().copied().unwrap_or_default()
    }
}

/// Both ends of the range, in words.
impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = self.near().unwrap_or_default();
        write!(
            f,
            "a cache line took up to {} from core to core and back instead of {near}",
            self.most()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(nanoseconds: u64) -> Span {
        Span::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn far_is_more_than_twice_the_near_latency() {
        let mut apart = Apart::default();
        assert!(!apart.is_far(ns(900)), "nothing to compare with");
        assert!(!apart.note(ns(500)), "the first is the nearest so far");
        assert!(!apart.note(ns(52)) && !apart.note(ns(71)) && !apart.note(ns(104)));
        assert!(apart.note(ns(105)) && apart.is_far(ns(500)));
        assert_eq!(apart, Apart::of([500, 52, 104, 105, 71].map(ns)));
        assert_eq!(
            apart.to_string(),
            "a cache line took up to 500 ns from core to core and back instead of 52 ns"
        );
    }

    /// Such a reading was seen once in some thousands.
    #[test]
    fn one_reading_that_is_too_small_makes_no_other_far() {
        let mut apart = Apart::of([60; 20].map(ns));
        assert!(!apart.note(ns(28)) && !apart.note(ns(66)) && !apart.is_far(ns(119)));
        assert!(apart.is_far(ns(312)));
    }
}
