//! The next size and its repetitions: they depend only on the plan and on what was measured.

mod times;
mod within;

use btu_stats::median;
use btu_units::{Bytes, Span};

use super::{Pattern, PipePlan, Point, Precision, Sizes};
use times::Times;

/// Exchanges of the first size before anything is measured, to know about how long one takes
/// (`NetPIPE` 3: a hundred).
const PILOT: u64 = 20;

/// The order of a run.
#[derive(Debug, Clone)]
pub struct Schedule {
    precision: Precision,
    pattern: Pattern,
    sizes: Vec<Bytes>,
}

/// What is known at a moment of a run.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// The measured points, in the order of their measurement.
    pub points: Vec<Point>,
    /// Sizes and one-way times, in seconds, of pilots.
    pub pilots: Vec<(Bytes, f64)>,
    /// Sizes without a point whose warm-up took so long that no trial fitted into the time.
    pub abandoned: Vec<Bytes>,
    /// The time so far, with pilots, warm-up, and what the ends tell each other between trials.
    pub spent: Span,
    /// The least time that the ends took to tell each other what a trial needs.
    pub around: Option<Span>,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next step is to time a few messages that are not part of the result.
    Pilot {
        /// The size of the message.
        size: Bytes,
        /// Their number.
        repetitions: u64,
    },
    /// The next step is to measure this size.
    Measure {
        /// The size of the message.
        size: Bytes,
        /// Exchanges before its trials, not counted.
        warm_up: u64,
        /// The number of its trials, as far as the time allows.
        trials: u32,
        /// Repetitions of each of its trials.
        repetitions: u64,
    },
    /// The end: all sizes are measured, except those beyond the one that took as long as the plan's
    /// limit, and those that did not fit into the plan's time.
    Done {
        /// Sizes that were left out.
        left_out: usize,
    },
}

impl Progress {
    /// Adds a round that took `elapsed` and, with what the ends told each other, `whole`.
    pub fn spend(&mut self, whole: Span, elapsed: Span) {
        self.spent += whole;
        let around = whole - elapsed;
        self.around = Some(self.around.map_or(around, |least| least.min(around)));
    }
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

    /// The step after `progress`.
    pub fn next(&self, progress: &Progress) -> Next {
        let next = match self.precision.time {
            None => self.in_order(progress),
            Some(time) => self.within(time, progress),
        };
        next.unwrap_or_else(|| Next::Done {
            left_out: self.without_point(&progress.points).count(),
        })
    }

    /// Whether the time, if it is limited, is long enough for another round like this one.
    pub fn has_time(&self, progress: &Progress, round: Span) -> bool {
        self.precision.time.is_none_or(|time| progress.spent + round <= time)
    }

    /// Sizes beyond one that took as long as the plan's limit: they are never measured.
    pub fn left_out(&self, points: &[Point]) -> usize {
        self.missing(points, true).count()
    }

    /// Sizes that are not measured, without those beyond the limit: neighbours in the plan
    /// together.
    pub fn gaps(&self, points: &[Point]) -> Vec<&[Bytes]> {
        let open: Vec<Bytes> = self.missing(points, false).collect();
        let gaps = self.sizes.chunk_by(|a, b| open.contains(a) == open.contains(b));
        gaps.filter(|gap| open.contains(&gap[0])).collect()
    }

    /// Sizes without a point: those that are too slow, or those that are not.
    fn missing(&self, points: &[Point], slow: bool) -> impl Iterator<Item = Bytes> {
        let limit = self.too_slow(points);
        self.without_point(points)
            .filter(move |size| limit.is_some_and(|limit| *size >= limit) == slow)
    }

    fn without_point(&self, points: &[Point]) -> impl Iterator<Item = Bytes> {
        self.sizes.iter().copied().filter(|size| points.iter().all(|point| point.size != *size))
    }

    /// The smallest size that reached the plan's limit.
    fn too_slow(&self, points: &[Point]) -> Option<Bytes> {
        let limit = self.precision.limit.seconds();
        let slow = points
            .iter()
            .filter(|point| self.typical(point).is_some_and(|seconds| seconds >= limit));
        slow.map(|point| point.size).min()
    }

    /// The next size in the plan's order.
    fn in_order(&self, progress: &Progress) -> Option<Next> {
        let size = self.missing(&progress.points, false).next()?;
        if progress.pilots.is_empty() {
            return Some(Next::Pilot { size, repetitions: PILOT });
        }
        let Precision { warm_up, trials, .. } = self.precision;
        let repetitions = self.repetitions(self.times(progress).expected(size));
        Some(Next::Measure { size, warm_up, trials, repetitions })
    }

    /// Repetitions that fill the target time if a message takes `one_way` seconds.
    fn repetitions(&self, one_way: f64) -> u64 {
        let wanted = self.precision.target.seconds() / (one_way * self.pattern.one_way_parts());
        let least = self.least_repetitions();
        // A float that is too large, or not-a-number, becomes the nearest whole number.
        (wanted as u64).clamp(least, self.precision.most_repetitions.max(least))
    }

    fn least_repetitions(&self) -> u64 {
        self.precision.least_repetitions.max(1)
    }

    /// The one-way times of what was measured, and of larger pilots.
    fn times(&self, progress: &Progress) -> Times {
        let measured = progress.points.iter().filter_map(|p| Some((p.size, self.typical(p)?)));
        let mut known: Vec<(Bytes, f64)> = measured.collect();
        let largest = known.iter().map(|(size, _)| *size).max();
        known.extend(progress.pilots.iter().filter(|(size, _)| Some(*size) > largest));
        Times::of(&known)
    }

    /// The median of a point's one-way times in seconds.
    fn typical(&self, point: &Point) -> Option<f64> {
        median(&point.one_way_seconds(self.pattern)).filter(|seconds| seconds.is_finite())
    }
}

impl PipePlan {
    /// The plan of the sizes that are missing after `known`; `None` if there are none. A limited
    /// time is shorter by that of the known trials.
    pub fn after(&self, known: &[Point]) -> Option<Self> {
        if known.is_empty() {
            return Some(self.clone());
        }
        let trials = known.iter().flat_map(|point| &point.trials);
        let spent: Span = trials.map(|trial| trial.elapsed).sum();
        let time = self.precision.time.map(|time| time - spent);
        let missing = Schedule::of(self).missing(known, false).collect();
        let sizes = Sizes::of(missing).ok().filter(|_| time != Some(Span::ZERO))?;
        let precision = Precision { time, ..self.precision.clone() };
        Some(Self { sizes, precision, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use btu_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::pipe::{End, Kind, Place, Trial};

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
        Point { trials: vec![trial; 3], ..Point::empty(Bytes::new(size)) }
    }

    fn after(points: Vec<Point>, pilot_seconds: f64) -> Progress {
        Progress { points, pilots: vec![(Bytes::new(1), pilot_seconds)], ..Progress::default() }
    }

    /// Walks through all sizes on a path where a message takes t0 + n/r.
    fn walk(schedule: &Schedule, latency: f64, seconds_per_byte: f64) -> (Vec<(u64, u64)>, usize) {
        let (mut progress, mut steps) = (Progress::default(), Vec::new());
        let time = |size: Bytes| latency + size.count() as f64 * seconds_per_byte;
        loop {
            match schedule.next(&progress) {
                Next::Pilot { size, repetitions } => {
                    assert_eq!((size, repetitions), (schedule.sizes[0], PILOT));
                    progress.pilots.push((size, time(size)));
                }
                Next::Measure { size, repetitions, warm_up, trials } => {
                    let Precision { warm_up: planned, trials: all, .. } = schedule.precision;
                    assert_eq!((warm_up, trials), (planned, all));
                    steps.push((size.count(), repetitions));
                    progress.points.push(point(size.count(), time(size), schedule.pattern));
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
            matches!(schedule.next(&after(slow.into(), 1e-6)), Next::Measure { size, .. } if size.count() == 2_000_000)
        );
    }

    #[test]
    fn a_long_message_is_still_sent_once() {
        let schedule = schedule("1,8MB", Pattern::PingPong);
        let next = schedule.next(&after(vec![point(1, 0.4, Pattern::PingPong)], 0.4));
        let Next::Measure { size, repetitions, .. } = next else { panic!("{next:?}") };
        assert_eq!((size, repetitions), (Bytes::new(8_000_000), 1));
    }

    proptest! {
        #[test]
        fn any_times_lead_to_the_end(times in prop::collection::vec(0f64..2.0, 46)) {
            let schedule = Schedule { sizes: Sizes::default().perturbed(Bytes::ZERO).unwrap().list(), ..schedule("1", Pattern::PingPong) };
            let mut progress = after(Vec::new(), f64::NAN);
            for time in times {
                let Next::Measure { size, repetitions, .. } = schedule.next(&progress) else { break };
                prop_assert!((1..=1_000_000).contains(&repetitions));
                progress.points.push(point(size.count(), time, Pattern::PingPong));
            }
            let Next::Done { left_out } = schedule.next(&progress) else { panic!("a size is missing") };
            prop_assert_eq!(left_out + progress.points.len(), 46);
        }
    }
}
