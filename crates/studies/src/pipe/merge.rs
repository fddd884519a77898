//! The points of several passes as one for each size.

use btu_stats::Histogram;
use btu_units::{Bytes, Span};

use btu_contract::pipe::Point;
use btu_contract::pipe::TRIALS_FOR_INTERVAL;
use btu_contract::record::{Apart, ProcessorReadings, Slowed};

/// Arithmetic that takes a tenth longer than at full speed is slow: messages then take some 3 % longer.
const SLOW: f64 = 0.1;

/// What was read of the ends' processors when they were near each other and at full speed.
pub(super) struct ReferenceReadings {
    latencies: Apart,
    slowed: Option<Slowed>,
}

impl ReferenceReadings {
    /// By the readings after these points.
    pub(super) fn of(points: &[Point]) -> Self {
        let read = || points.iter().map(readings);
        let latencies = Apart::of(read().filter_map(|one| one.core_to_core));
        let times = read().filter_map(|one| one.arithmetic);
        Self { latencies, slowed: Slowed::of(times.map(Some)) }
    }

    /// Whether the processors were far from each other.
    pub(super) fn is_far(&self, point: &Point) -> bool {
        readings(point).core_to_core.is_some_and(|latency| self.latencies.is_far(latency))
    }

    /// Whether another thread of the same core slowed them.
    pub(super) fn is_slow(&self, point: &Point) -> bool {
        let time = self.slowed.zip(readings(point).arithmetic);
        time.is_some_and(|(slowed, time)| slowed.slowness(time) > SLOW.ln_1p())
    }

    fn is_disturbed(&self, point: &Point) -> bool {
        self.is_far(point) || self.is_slow(point)
    }

    /// The times of a cache line there and back: between near processors, and the longest.
    pub(super) fn latencies(&self) -> &Apart {
        &self.latencies
    }

    /// The time of arithmetic at full speed.
    pub(super) fn quick(&self) -> Option<Span> {
        self.slowed.map(Slowed::quick)
    }
}

pub(super) fn readings(point: &Point) -> ProcessorReadings {
    let conditions = point.conditions.as_ref();
    conditions.map(|one| one.machine.processor_readings()).unwrap_or_default()
}

/// The points that count: those of a size that were measured by far or slow processors are left out where
/// the others have an interval. The rule looks at readings, never at results; a warning says how many are left out.
pub(super) fn counted(points: Vec<Point>) -> Vec<Point> {
    let reference = ReferenceReadings::of(&points);
    let others = |size: Bytes| {
        let others = points.iter().filter(|point| point.size == size);
        let others = others.filter(|point| !reference.is_disturbed(point));
        others.map(|point| point.trials.len()).sum::<usize>()
    };
    let counts = |point: &Point| {
        !reference.is_disturbed(point) || others(point.size) < TRIALS_FOR_INTERVAL as usize
    };
    let is_counted: Vec<bool> = points.iter().map(counts).collect();
    points
        .into_iter()
        .zip(is_counted)
        .filter_map(|(point, counts)| counts.then_some(point))
        .collect()
}

/// One point for each size, with the trials and the accounts of all its passes, in rising order of
/// sizes. Their conditions are left out.
pub(super) fn by_size(points: &[Point]) -> Vec<Point> {
    let mut merged: Vec<Point> = Vec::new();
    for point in points {
        match merged.iter_mut().find(|one| one.size == point.size) {
            Some(one) => add(one, point),
            None => merged.push(Point { pass: 0, conditions: None, ..point.clone() }),
        }
    }
    merged.sort_by_key(|point| point.size);
    merged
}

fn add(to: &mut Point, point: &Point) {
    to.trials.extend(&point.trials);
    to.accounts = to.accounts.and(point.accounts);
    if let Some(each) = &point.each {
        to.each.get_or_insert_with(Histogram::new).merge(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::verdict::tests::{plan, point};
    use crate::pipe::{PipeCause, judge};
    use btu_contract::pipe::{Conditions, Pattern, PipePlan};
    use btu_contract::record::MachineCpu;

    /// A trial of 1 byte and one of 64 KiB in each of seven passes, with these latencies between the processors. Messages
    /// take twice as long where they are far.
    fn passes(latencies: [u64; 7], near: u64) -> (PipePlan, Vec<Point>) {
        let plan = plan("1,65536", Pattern::PingPong);
        let one = |(pass, core_to_core_ns): (u32, u64), size: u64, seconds: f64| {
            let seconds = if core_to_core_ns > 2 * near { 2.0 * seconds } else { seconds };
            let mut point = point(&plan, Bytes::new(size), seconds + f64::from(pass) * 1e-8);
            point.trials.truncate(1);
            let machine =
                MachineCpu { core_to_core_ns: Some(core_to_core_ns), ..MachineCpu::default() };
            Point { pass, conditions: Some(Conditions::of(machine)), ..point }
        };
        let points =
            (0..).zip(latencies).flat_map(|pass| [one(pass, 1, 5e-6), one(pass, 65_536, 40e-6)]);
        let points = points.collect();
        (plan, points)
    }

    #[test]
    fn a_size_has_the_trials_of_all_its_passes() {
        let (plan, points) = passes([50; 7], 50);
        let verdict = judge(&plan, &points);
        let trials: Vec<usize> = verdict.sizes.iter().map(|size| size.trials).collect();
        assert_eq!((trials, &verdict.warnings), (vec![7, 7], &Vec::new()));
        assert_eq!(
            verdict.accounts.sent,
            points.iter().map(|point| point.accounts.sent).sum::<u64>()
        );
        // The median is that of the fourth pass, the interval reaches from the first to the last.
        let latency = verdict.latency.unwrap().median_seconds;
        let interval = latency.interval.unwrap();
        for (found, expected) in
            [(latency.value, 5.03e-6), (interval.low, 5e-6), (interval.high, 5.06e-6)]
        {
            assert!((found - expected).abs() < 2e-9, "{found}, not {expected}");
        }
    }

    #[test]
    fn far_passes_are_left_out_where_six_are_near() {
        let (plan, points) = passes([50, 50, 300, 50, 50, 50, 50], 50);
        let verdict = judge(&plan, &points);
        assert_eq!(verdict.sizes[0].trials, 6);
        let far =
            PipeCause::ProcessorsApart { far: 2, counted: 0, of: 14, near_ns: 50, most_ns: 300 };
        assert_eq!(verdict.warnings[0].cause, far);
        let (plan, points) = passes([50, 300, 300, 50, 50, 50, 50], 50);
        let verdict = judge(&plan, &points);
        assert_eq!(verdict.sizes[0].trials, 7);
        assert!(matches!(verdict.warnings[0].cause, PipeCause::ProcessorsApart { counted: 4, .. }));
    }

    #[test]
    fn slow_passes_are_left_out_where_six_are_quick() {
        let slowed = |pass: u32| {
            let (plan, mut points) = passes([50; 7], 50);
            for point in &mut points {
                let is_slow = point.pass < pass;
                let arithmetic_ns = Some(if is_slow { 40_000 } else { 28_000 });
                point.conditions.as_mut().unwrap().machine.arithmetic_ns = arithmetic_ns;
            }
            judge(&plan, &points)
        };
        let one = slowed(1);
        let left_out = |slow, counted| PipeCause::ProcessorsSlowed {
            slow,
            counted,
            of: 14,
            quick_ns: 28_000,
            most_ns: 40_000,
        };
        assert_eq!((one.sizes[1].trials, &one.warnings[0].cause), (6, &left_out(2, 0)));
        let two = slowed(2);
        assert_eq!((two.sizes[1].trials, &two.warnings[0].cause), (7, &left_out(4, 4)));
    }
}
