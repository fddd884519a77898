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
    /// The near latency of earlier runs.
    known: Option<Span>,
}

impl Apart {
    /// Those of these readings.
    pub fn of(latencies: impl IntoIterator<Item = Span>) -> Self {
        let mut readings: Vec<Span> = latencies.into_iter().collect();
        readings.sort_unstable();
        Self { readings, known: None }
    }

    /// The same readings, with the near latency that earlier runs between the same processors had: the
    /// processors may be far from each other for a whole run.
    #[must_use]
    pub fn knowing(self, near: Option<Span>) -> Self {
        Self { known: near, ..self }
    }

    /// The least near latency of these runs; of a run with few readings the least one would count,
    /// which may be an outlier, so that such a run is left out.
    pub fn near_in(runs: impl IntoIterator<Item = Self>) -> Option<Span> {
        let whole = runs.into_iter().filter(|run| run.readings.len() >= BELOW_NEAR);
        whole.filter_map(|run| run.near()).min()
    }

    /// The near latency of earlier runs.
    pub fn known(&self) -> Option<Span> {
        self.known
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

    /// The latency of processors that are near each other; `None` before the first reading if no
    /// earlier run is known.
    pub fn near(&self) -> Option<Span> {
        self.own_near().into_iter().chain(self.known).min()
    }

    /// By these readings alone.
    fn own_near(&self) -> Option<Span> {
        self.readings.get(self.readings.len() / BELOW_NEAR).copied()
    }

    /// Whether only earlier runs tell that some of these were far.
    pub fn is_known_by_earlier_runs(&self) -> bool {
        self.own_near().is_some_and(|near| self.is_far(near))
    }

    /// The latency in the middle of all; `None` before the first reading.
    pub fn median(&self) -> Option<Span> {
        self.readings.get(self.readings.len() / 2).copied()
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
        write!(f, "a cache line took up to {} there and back instead of {near}", self.most())
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
            "a cache line took up to 500 ns there and back instead of 52 ns"
        );
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(Apart::default().median(), None);
        assert_eq!(Apart::of([310, 60, 320].map(ns)).median(), Some(ns(310)));
    }

    #[test]
    fn earlier_runs_know_what_a_wholly_far_run_cannot() {
        let far = || Apart::of([310, 290, 320].map(ns));
        assert!(!far().is_far(ns(320)) && !far().is_known_by_earlier_runs());
        let knowing = far().knowing(Some(ns(55)));
        assert!(knowing.is_far(ns(290)) && knowing.is_known_by_earlier_runs());
        assert_eq!((knowing.near(), knowing.median()), (Some(ns(55)), Some(ns(310))));
        let mut from_now = Apart::default().knowing(Some(ns(55)));
        assert!(from_now.note(ns(300)) && !from_now.note(ns(60)));
        // A run that was nearer than all earlier ones knows better, and needs none of them.
        let nearer = Apart::of([40, 300, 310].map(ns)).knowing(Some(ns(55)));
        assert_eq!(nearer.near(), Some(ns(40)));
        assert!(nearer.is_far(ns(300)) && !nearer.is_known_by_earlier_runs());
    }

    #[test]
    fn the_near_latency_of_runs_is_the_least_that_many_readings_show() {
        let run = |near: u64, readings: usize| Apart::of(vec![ns(near); readings]);
        let outlier = || Apart::of([vec![ns(28)], vec![ns(60); 20]].concat());
        assert_eq!(Apart::near_in([run(310, 30), outlier(), run(70, 10)]), Some(ns(60)));
        assert_eq!(Apart::near_in([run(310, 30), run(20, 9)]), Some(ns(310)));
        assert_eq!(Apart::near_in([]), None);
    }

    /// Such a reading was seen once in some thousands.
    #[test]
    fn one_reading_that_is_too_small_makes_no_other_far() {
        let mut apart = Apart::of([60; 20].map(ns));
        assert!(!apart.note(ns(28)) && !apart.note(ns(66)) && !apart.is_far(ns(119)));
        assert!(apart.is_far(ns(312)));
    }
}
