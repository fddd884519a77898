//! The next size and its repetitions: they depend only on the plan and on the measured points.

use btu_stats::median;
use btu_units::Bytes;

use super::{Pattern, PipePlan, Point, Precision};

/// Sizes closer together than this ratio show noise rather than the cost of a byte.
const FAR_ENOUGH: f64 = 1.25;

/// The order of a run.
#[derive(Debug, Clone)]
pub struct Schedule {
    precision: Precision,
    pattern: Pattern,
    sizes: Vec<Bytes>,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next step is to measure this size.
    Measure {
        /// The size of the message.
        size: Bytes,
        /// Repetitions of each of its trials.
        repetitions: u64,
    },
    /// The end: all sizes are measured, except those beyond the one that took as long as the plan's
    /// limit.
    Done {
        /// Sizes that were left out.
        left_out: usize,
    },
}

impl Schedule {
    /// The schedule of `plan`.
    pub fn of(plan: &PipePlan) -> Self {
        Self { precision: plan.precision.clone(), pattern: plan.pattern, sizes: plan.sizes.list() }
    }

    /// All sizes of the plan.
    pub fn sizes(&self) -> &[Bytes] {
        &self.sizes
    }

    /// The step after `points`. `pilot_seconds` is the one-way time of a few exchanges of the first
    /// size before the measurement (`NetPIPE` 3: a hundred).
    pub fn next(&self, points: &[Point], pilot_seconds: f64) -> Next {
        match self.missing(points, false).next() {
            Some(size) => {
                Next::Measure { size, repetitions: self.repetitions(size, points, pilot_seconds) }
            }
            None => Next::Done { left_out: self.left_out(points) },
        }
    }

    /// The sizes after `points`, as far as they are known now: the rest of an interrupted run.
    pub fn open(&self, points: &[Point]) -> Vec<Bytes> {
        self.missing(points, false).collect()
    }

    /// Sizes beyond one that took as long as the plan's limit: they are never measured.
    pub fn left_out(&self, points: &[Point]) -> usize {
        self.missing(points, true).count()
    }

    /// Sizes without a point: those that are too slow, or those that are not.
    fn missing(&self, points: &[Point], slow: bool) -> impl Iterator<Item = Bytes> {
        let limit = self.too_slow(points);
        let missing = self
            .sizes
            .iter()
            .copied()
            .filter(|size| points.iter().all(|point| point.size != *size));
        missing.filter(move |size| limit.is_some_and(|limit| *size >= limit) == slow)
    }

    /// The smallest size that reached the plan's limit.
    fn too_slow(&self, points: &[Point]) -> Option<Bytes> {
        let limit = self.precision.limit.seconds();
        let slow = points
            .iter()
            .filter(|point| self.typical(point).is_some_and(|seconds| seconds >= limit));
        slow.map(|point| point.size).min()
    }

    /// Repetitions that fill the target time, estimated from the points before.
    ///
    /// `NetPIPE` 5 divides the target by the last time, as if the next size took as long; 1996's
    /// took it to grow as the size does. The truth lies between, and the two sizes before give an
    /// estimate.
    fn repetitions(&self, size: Bytes, points: &[Point], pilot_seconds: f64) -> u64 {
        let one_way = self.expected(size, points).unwrap_or(pilot_seconds).max(1e-9);
        let wanted = self.precision.target.seconds() / (one_way * self.pattern.one_way_parts());
        let least = self.precision.least_repetitions.max(1);
        // A float that is too large, or not-a-number, becomes the nearest whole number.
        (wanted as u64).clamp(least, self.precision.most_repetitions.max(least))
    }

    /// The expected one-way time of a message, in seconds.
    fn expected(&self, size: Bytes, points: &[Point]) -> Option<f64> {
        let mut known = points
            .iter()
            .rev()
            .filter_map(|point| Some((point.size.count() as f64, self.typical(point)?)));
        let (last_size, last) = known.next()?;
        let apart = |other: f64| other * FAR_ENOUGH <= last_size || other >= last_size * FAR_ENOUGH;
        let slope = known
            .find(|(other, _)| apart(*other))
            .map(|(other, time)| (last - time) / (last_size - other));
        let growth = slope.unwrap_or(0.0) * (size.count() as f64 - last_size);
        let in_proportion = last * size.count() as f64 / last_size;
        Some((last + growth).clamp(last.min(in_proportion), last.max(in_proportion)))
    }

    /// The median of a point's one-way times in seconds.
    fn typical(&self, point: &Point) -> Option<f64> {
        median(&point.one_way_seconds(self.pattern)).filter(|seconds| seconds.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use btu_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::pipe::{Accounts, End, Kind, Place, Sizes, Trial};

    fn schedule(sizes: &str, pattern: Pattern) -> Schedule {
        let plan = PipePlan {
            pattern,
            sizes: sizes.parse().unwrap(),
            ..PipePlan::new(1, Kind::Tcp, Place::Here)
        };
        Schedule::of(&plan)
    }

    fn point(size: u64, one_way_seconds: f64, pattern: Pattern) -> Point {
        let elapsed = Span::from_seconds_f64(one_way_seconds * pattern.one_way_parts() * 1000.0);
        let trial = Trial { repetitions: 1000, elapsed, clock: End::Near, lost: 0, repeated: 0 };
        Point {
            size: Bytes::new(size),
            trials: vec![trial; 3],
            accounts: Accounts::default(),
            each: None,
            conditions: None,
        }
    }

    /// Walks through all sizes on a path where a message takes t0 + n/r.
    fn walk(schedule: &Schedule, latency: f64, seconds_per_byte: f64) -> (Vec<(u64, u64)>, usize) {
        let (mut points, mut steps) = (Vec::new(), Vec::new());
        loop {
            match schedule.next(&points, latency) {
                Next::Measure { size, repetitions } => {
                    steps.push((size.count(), repetitions));
                    let time = latency + size.count() as f64 * seconds_per_byte;
                    points.push(point(size.count(), time, schedule.pattern));
                }
                Next::Done { left_out } => return (steps, left_out),
            }
        }
    }

    #[test]
    fn a_trial_lasts_its_target_whatever_the_size() {
        let schedule = schedule("1..10MB", Pattern::PingPong);
        let (latency, per_byte) = (10e-6, 1e-9);
        let (steps, left_out) = walk(&schedule, latency, per_byte);
        assert_eq!((steps.len(), left_out), (124, 0));
        for (size, repetitions) in steps {
            let lasts = repetitions as f64 * 2.0 * (latency + size as f64 * per_byte);
            // Below the fourth size the cost of a byte is unknown; a whole repetition may be
            // missing.
            let whole = 2.0 * (latency + size as f64 * per_byte);
            assert!(
                (lasts - 0.050).abs() <= whole + 0.0005,
                "{size} B: {repetitions} repetitions last {lasts} s"
            );
        }
    }

    #[test]
    fn sizes_that_would_take_too_long_are_left_out() {
        // 1996's Ethernet: 0.734 ms and 6.816 Mb/s.
        let schedule = schedule("1996", Pattern::PingPong);
        let (steps, left_out) = walk(&schedule, 0.734e-3, 8.0 / 6.816e6);
        assert_eq!((steps.len(), left_out), (37, 0));
        let (steps, left_out) = walk(&schedule, 0.734e-3, 8.0 / 1e6);
        assert_eq!((steps.last().unwrap().0, left_out), (131_072, 6), "1.05 s at 131072 B");
    }

    #[test]
    fn a_list_that_falls_is_measured_beyond_a_slow_size() {
        let schedule = schedule("4MB,2MB,1000", Pattern::Streaming);
        let slow = [point(4_000_000, 2.0, Pattern::Streaming)];
        assert!(
            matches!(schedule.next(&slow, 1e-6), Next::Measure { size, .. } if size.count() == 2_000_000)
        );
    }

    #[test]
    fn a_long_message_is_still_sent_once() {
        let schedule = schedule("1,8MB", Pattern::PingPong);
        let next = schedule.next(&[point(1, 0.4, Pattern::PingPong)], 0.4);
        assert_eq!(next, Next::Measure { size: Bytes::new(8_000_000), repetitions: 1 });
    }

    proptest! {
        #[test]
        fn any_times_lead_to_the_end(times in prop::collection::vec(0f64..2.0, 46)) {
            let schedule = Schedule { sizes: Sizes::default().perturbed(Bytes::ZERO).unwrap().list(), ..schedule("1", Pattern::PingPong) };
            let mut points = Vec::new();
            for time in times {
                let Next::Measure { size, repetitions } = schedule.next(&points, f64::NAN) else { break };
                prop_assert!((1..=1_000_000).contains(&repetitions));
                points.push(point(size.count(), time, Pattern::PingPong));
            }
            let Next::Done { left_out } = schedule.next(&points, 0.0) else { panic!("a size is missing") };
            prop_assert_eq!(left_out + points.len(), 46);
        }
    }
}
