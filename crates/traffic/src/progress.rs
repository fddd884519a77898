//! The course of a flow in at most two hundred points, however long it lasts.

use btu_contract::record::Moment;
use btu_units::Span;

/// The largest number of points that are kept.
pub(crate) const MOST: usize = 200;

/// The closest that two points come: 100 us.
const CLOSEST_NS: u64 = 100_000;

/// Points (nanoseconds since the start, bytes so far), strictly ascending in time. When the room is
/// full every second point is given up and the smallest distance between points grows to what is
/// left between those that stay, at least to twice what it was, so that points are spread evenly
/// over the whole flow.
pub(crate) struct ProgressPoints {
    points: Vec<(u64, u64)>,
    distance_ns: u64,
    next_ns: u64,
}

impl ProgressPoints {
    /// No points yet, and room for all there will ever be.
    pub(crate) fn new() -> Self {
        Self { points: Vec::with_capacity(MOST), distance_ns: CLOSEST_NS, next_ns: 0 }
    }

    /// Notes that `bytes` had arrived `at` after the start.
    #[inline]
    pub(crate) fn note(&mut self, at: Span, bytes: u64) {
        if at.nanoseconds() >= self.next_ns {
            self.keep(at.nanoseconds(), bytes);
        }
    }

    fn keep(&mut self, at_ns: u64, bytes: u64) {
        if self.points.len() == MOST {
            self.thin();
        }
        self.points.push((at_ns, bytes));
        self.next_ns = at_ns.saturating_add(self.distance_ns);
    }

    fn thin(&mut self) {
        let mut index = 0;
        self.points.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        let span_ns = self.points.last().map_or(0, |last| last.0)
            - self.points.first().map_or(0, |first| first.0);
        self.distance_ns = self.distance_ns.saturating_mul(2).max(span_ns / (MOST / 2) as u64);
    }

    /// The points, the last of them being the end of the flow.
    pub(crate) fn finish(mut self, at: Span, bytes: u64) -> Vec<(u64, u64)> {
        let at_ns = at.nanoseconds();
        while self.points.last().is_some_and(|&(last, _)| last >= at_ns) {
            self.points.pop();
        }
        self.keep(at_ns, bytes);
        self.points
    }
}

/// The largest number of moments that are kept: of ten seconds all.
const MOST_MOMENTS: usize = 160;

/// Moments of a flow, at most [`MOST_MOMENTS`]: where there is no room for more, every second one is given up, and only every
/// second one is kept from then on.
#[derive(Default)]
pub(crate) struct Moments {
    kept: Vec<Moment>,
    noted: usize,
    given_up: u32,
}

impl Moments {
    pub(crate) fn note(&mut self, moment: Moment) {
        if self.noted.is_multiple_of(1 << self.given_up) {
            self.kept.push(moment);
        }
        self.noted += 1;
        if self.kept.len() > MOST_MOMENTS {
            self.given_up += 1;
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }

    /// Those that are kept.
    pub(crate) fn kept(self) -> Vec<Moment> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_few_and_evenly_spread() {
        let mut moments = Moments::default();
        for at_us in 0..1000 {
            moments.note(Moment { at_us, ..Moment::default() });
        }
        let kept = moments.kept();
        assert!((MOST_MOMENTS / 2..=MOST_MOMENTS).contains(&kept.len()), "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[1].at_us - pair[0].at_us == 8), "{kept:?}");
    }

    proptest! {
        #[test]
        fn points_are_few_ascending_and_end_with_the_flow(gaps in prop::collection::vec(0u64..10_000_000, 1..5000)) {
            let mut progress = ProgressPoints::new();
            let (mut at, mut bytes) = (0, 0);
            for gap in gaps {
                at += gap;
                bytes += 100;
                progress.note(Span::from_nanoseconds(at), bytes);
            }
            let room = progress.points.capacity();
            let points = progress.finish(Span::from_nanoseconds(at), bytes);
            prop_assert!(points.len() <= MOST);
            prop_assert_eq!(points.capacity(), room, "recording must not allocate");
            prop_assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
            prop_assert_eq!(points.last(), Some(&(at, bytes)));
        }

        #[test]
        fn points_stay_spread_over_the_whole_flow(steps in 4000u64..40_000) {
            let mut progress = ProgressPoints::new();
            (1..=steps).for_each(|step| progress.note(Span::from_milliseconds(step), step));
            let points = progress.finish(Span::from_milliseconds(steps), steps);
            let widest = points.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap();
            prop_assert!(points.len() >= MOST / 3);
            prop_assert!(widest <= steps * 1_000_000 / (MOST as u64 / 4), "{widest}");
        }
    }
}
