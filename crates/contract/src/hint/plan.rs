//! The schedule of HINT: the next number of intervals, its repetitions, and the end.

use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::{Bounds, Grid, ProcessShare};

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HintPlan {
    /// 1 or 2 processes.
    pub processes: u64,
    /// Trials of each number of intervals; HINT takes the fastest of 15.
    pub trials: u32,
    /// The target time of a trial (HINT: 1 s).
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// Each number of intervals is this much larger than the one before, and at least by one: a
    /// decibel.
    pub advance: f64,
    /// Stop when quality per second falls below this share of the highest.
    pub stop_share: f64,
    /// Stop when a lap takes this long (HINT: 240 s).
    #[serde(rename = "limit_ns")]
    pub limit: Span,
    /// Stop after this number of points.
    pub most_points: usize,
    /// The most intervals in one process: bounds its memory (144 bytes each).
    pub most_intervals: u64,
}

impl HintPlan {
    /// A run of a minute or two: trials of 20 ms, laps up to half a second.
    pub const fn standard(processes: u64) -> Self {
        Self {
            processes,
            trials: 15,
            target: Span::from_milliseconds(20),
            advance: 1.2589,
            stop_share: 0.1,
            limit: Span::from_milliseconds(500),
            most_points: 200,
            most_intervals: 1 << 21,
        }
    }

    /// The chunks of a process.
    pub const fn share(&self, rank: u64) -> ProcessShare {
        match self.processes {
            2 => ProcessShare::of_two(rank),
            _ => ProcessShare::WHOLE,
        }
    }

    /// The first number of intervals of each process: one per chunk, and two if there is only one
    /// chunk, because a single interval gives no bounds.
    const fn first(&self) -> u64 {
        let chunks = self.share(0).chunks;
        if chunks > 2 { chunks } else { 2 }
    }

    /// The step after `points`. `pilot` is the time of a lap of the first one.
    pub fn next(&self, points: &[HintPoint], pilot: Span) -> HintNext {
        let Some(last) = points.last() else {
            return HintNext::Measure { intervals: self.first(), laps: self.laps(pilot.seconds()) };
        };
        if let Some(reached) = self.reached(points, last) {
            return HintNext::Done(reached);
        }
        let grown = (last.intervals as f64 * self.advance.max(1.0)).floor() as u64;
        let intervals = grown.max(last.intervals + 1).min(self.most());
        // A lap never takes less for more intervals, and hardly ever more than in proportion.
        let lap = last.least_seconds() * intervals as f64 / last.intervals as f64;
        HintNext::Measure { intervals, laps: self.laps(lap) }
    }

    fn reached(&self, points: &[HintPoint], last: &HintPoint) -> Option<Reached> {
        let peak = points.iter().map(HintPoint::quips).fold(0.0, f64::max);
        match last {
            _ if last.intervals >= self.most() => Some(Reached::Intervals),
            _ if points.len() >= self.most_points => Some(Reached::Points),
            _ if last.quips() < self.stop_share * peak => Some(Reached::Share),
            _ if last.least_seconds() >= self.limit.seconds() => Some(Reached::Limit),
            _ => None,
        }
    }

    fn most(&self) -> u64 {
        self.most_intervals.min(Grid::DOUBLE.columns() / self.processes.max(1))
    }

    fn laps(&self, lap_seconds: f64) -> u64 {
        ((self.target.seconds() / lap_seconds.max(1e-8)) as u64).clamp(1, 10_000_000)
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintNext {
    /// Measure this many intervals in each process.
    Measure {
        /// Intervals of each process.
        intervals: u64,
        /// Laps of each trial.
        laps: u64,
    },
    /// The run is done.
    Done(Reached),
}

/// Why a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    /// Quality per second has fallen so far below its highest.
    Share,
    /// A lap took as long as the plan allows.
    Limit,
    /// There are as many intervals as the plan or the grid allow.
    Intervals,
    /// There are as many points as the plan allows.
    Points,
}

/// The result of one number of intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HintPoint {
    /// Intervals of each process.
    pub intervals: u64,
    /// Laps of each trial.
    pub laps: u64,
    /// The time of all laps of a trial, until both processes had finished the last.
    #[serde(rename = "trials_ns")]
    pub trials: Vec<Span>,
    /// The time of one process's share of these laps without the exchange; empty if it was not
    /// measured.
    #[serde(rename = "alone_ns", default)]
    pub alone: Vec<Span>,
    /// The area from below.
    pub lower: f64,
    /// The area from above.
    pub upper: f64,
}

impl HintPoint {
    /// The lower and the upper bound of the area.
    pub const fn bounds(&self) -> Bounds {
        Bounds { lower: self.lower, upper: self.upper }
    }

    /// Times of a lap in seconds, one for each trial.
    pub fn lap_seconds(&self) -> Vec<f64> {
        per_lap(&self.trials, self.laps)
    }

    /// Like `lap_seconds`, without the exchange.
    pub fn alone_seconds(&self) -> Vec<f64> {
        per_lap(&self.alone, self.laps)
    }

    /// The fastest trial's lap: HINT's t.
    pub fn least_seconds(&self) -> f64 {
        self.lap_seconds().into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Quality improvements per second.
    pub fn quips(&self) -> f64 {
        self.bounds().quality() / self.least_seconds()
    }
}

fn per_lap(trials: &[Span], laps: u64) -> Vec<f64> {
    trials.iter().map(|elapsed| elapsed.seconds() / laps.max(1) as f64).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::hint::Kernel;

    /// A run on a path where an exchange takes `exchange` seconds and an interval `each`, until
    /// `most` intervals.
    pub(crate) fn run(plan: &HintPlan, exchange: f64, each: f64) -> (Vec<HintPoint>, Reached) {
        let mut points: Vec<HintPoint> = Vec::new();
        loop {
            match plan.next(&points, Span::from_seconds_f64(exchange)) {
                HintNext::Done(reached) => return (points, reached),
                HintNext::Measure { intervals, laps } => {
                    let shares = (0..plan.processes).map(|rank| plan.share(rank));
                    let bounds = shares
                        .map(|share| Kernel::new(Grid::DOUBLE, share, intervals).run(intervals));
                    let bounds = bounds.reduce(Bounds::and).unwrap();
                    let alone = each * intervals as f64;
                    let times = |lap: f64| vec![Span::from_seconds_f64(lap * laps as f64); 15];
                    points.push(HintPoint {
                        intervals,
                        laps,
                        trials: times(exchange + alone),
                        alone: times(alone),
                        lower: bounds.lower,
                        upper: bounds.upper,
                    });
                }
            }
        }
    }

    /// 1996, figure 6: 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 51, 64, 80, 100, 125, 157,
    /// 197 intervals in each of two processes.
    #[test]
    fn the_intervals_of_1996() {
        let plan = HintPlan { most_points: 20, ..HintPlan::standard(2) };
        let (points, reached) = run(&plan, 1.5e-3, 1e-8);
        let intervals: Vec<u64> = points.iter().map(|point| point.intervals).collect();
        let expected =
            [4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 51, 64, 80, 100, 125, 157, 197];
        assert_eq!((intervals.as_slice(), reached), (expected.as_slice(), Reached::Points));
        for point in points {
            let lasts = point.trials[0].seconds();
            assert!(lasts <= 0.0225 && lasts > 0.012, "{} intervals: {lasts} s", point.intervals);
        }
    }

    #[test]
    fn a_run_ends_for_one_of_four_reasons() {
        let plan = HintPlan { most_intervals: 1000, ..HintPlan::standard(1) };
        let (points, reached) = run(&plan, 0.0, 1e-8);
        assert_eq!(
            (points[0].intervals, points.last().unwrap().intervals, reached),
            (2, 1000, Reached::Intervals)
        );
        let (_, reached) =
            run(&HintPlan { limit: Span::from_microseconds(1), ..plan.clone() }, 0.0, 1e-8);
        assert_eq!(reached, Reached::Limit);
        let mut slow = run(&HintPlan { most_points: 3, ..plan.clone() }, 0.0, 1e-8).0;
        slow[2].trials = vec![Span::from_seconds(1000)];
        assert_eq!(plan.next(&slow, Span::ZERO), HintNext::Done(Reached::Share));
    }
}
