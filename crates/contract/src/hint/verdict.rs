//! The verdict over a run of HINT.

use btu_stats::{Estimate, Level, quantile};
use serde::{Deserialize, Serialize};

use super::{AREA, HintPlan, HintPoint};

/// The level of every interval.
pub(super) const LEVEL: Level = Level::P95;

/// Up to this number Q = P n - 1 is checked; beyond, the grid has an effect.
const LAW_UP_TO: u64 = 256;

/// How far a quality may be from P n - 1: where neighbours are not split in both processes alike,
/// the rule itself is off by up to 0.7 %.
const LAW: f64 = 0.007;

/// An exchange should take as long as two messages of 16 bytes, within this share.
const ALIKE: f64 = 0.20;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HintVerdict {
    /// The level of every interval: 0.95.
    pub level: Level,
    /// Processes that took part.
    pub processes: u64,
    /// One step for each number of intervals.
    pub steps: Vec<HintStep>,
    /// The highest QUIPS (quality improvements per second) of all steps.
    pub peak_quips: f64,
    /// Net QUIPS: the area under QUIPS against the logarithm of time.
    pub net_quips: f64,
    /// Steps with bounds that do not hold the exact area: must be none.
    pub outside: usize,
    /// Steps up to 256 intervals with a quality that differs from P n - 1 by more than 0.7 %: must
    /// be none.
    pub off_law: usize,
    /// The time of a 16-byte message one way over the same transport, in seconds, where it is
    /// known.
    pub message_seconds: Option<f64>,
    /// The time of an exchange in seconds: the lap less the work, the median over the steps with
    /// laps that are mostly exchange (over all if there are none). If laps are mostly work, the
    /// rest of them is the wait of the two processes for each other.
    pub exchange_seconds: Option<Estimate>,
    /// The exchange over two messages: 1 if the exchange is only the network's time.
    pub exchange_ratio: Option<f64>,
    /// Whether it is 1 within 20 %.
    pub exchange_is_the_network: Option<bool>,
}

/// One number of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HintStep {
    /// Intervals of each process.
    pub intervals: u64,
    /// Quality of the bounds.
    pub quality: f64,
    /// HINT's time of a lap, that of the fastest trial, in seconds.
    pub least_seconds: f64,
    /// The median time of a lap, in seconds.
    pub median_seconds: Estimate,
    /// Quality over the least time.
    pub quips: f64,
    /// The share of the median lap that is not the exchange; absent where the work alone was not
    /// measured.
    pub work_share: Option<f64>,
}

/// The verdict; `message_seconds` is the one-way time of 16 bytes over the same transport, if it
/// was measured. `None` without a point that took any time.
pub fn judge(
    plan: &HintPlan,
    points: &[HintPoint],
    message_seconds: Option<f64>,
) -> Option<HintVerdict> {
    let points: Vec<&HintPoint> =
        points.iter().filter(|point| point.least_seconds() > 0.0).collect();
    let steps: Vec<HintStep> = points.iter().filter_map(|point| step(point)).collect();
    let exchanges = exchanges(&points);
    let exchange_seconds = quantile(&exchanges, 0.5, LEVEL);
    let exchange_ratio = exchange_seconds
        .zip(message_seconds)
        .map(|(exchange, message)| exchange.value / (2.0 * message));
    let off_law = |point: &&&HintPoint| {
        let law = (plan.processes * point.intervals) as f64 - 1.0;
        point.intervals <= LAW_UP_TO && (point.bounds().quality() / law - 1.0).abs() > LAW
    };
    Some(HintVerdict {
        level: LEVEL,
        processes: plan.processes,
        peak_quips: steps.iter().map(|step| step.quips).fold(0.0, f64::max),
        net_quips: net_quips(&steps)?,
        outside: points.iter().filter(|point| !point.bounds().hold()).count(),
        off_law: points.iter().filter(off_law).count(),
        message_seconds,
        exchange_seconds,
        exchange_ratio,
        exchange_is_the_network: exchange_ratio.map(|ratio| (ratio - 1.0).abs() <= ALIKE),
        steps,
    })
}

fn step(point: &HintPoint) -> Option<HintStep> {
    let median_seconds = quantile(&point.lap_seconds(), 0.5, LEVEL)?;
    let alone = quantile(&point.alone_seconds(), 0.5, LEVEL);
    Some(HintStep {
        intervals: point.intervals,
        quality: point.bounds().quality(),
        least_seconds: point.least_seconds(),
        median_seconds,
        quips: point.quips(),
        work_share: alone.map(|alone| alone.value / median_seconds.value),
    })
}

/// The laps less the work of the steps that count.
fn exchanges(points: &[&HintPoint]) -> Vec<f64> {
    let all: Vec<(f64, f64)> = points.iter().filter_map(|point| exchange(point)).collect();
    let mostly: Vec<f64> = all
        .iter()
        .filter(|(exchange, work)| exchange > work)
        .map(|(exchange, _)| *exchange)
        .collect();
    if mostly.is_empty() { all.into_iter().map(|(exchange, _)| exchange).collect() } else { mostly }
}

/// The lap less the work, and the work, by the least times: the difference is the network's time,
/// and least times have the least noise.
fn exchange(point: &HintPoint) -> Option<(f64, f64)> {
    let alone = point.alone_seconds().into_iter().fold(f64::INFINITY, f64::min);
    alone.is_finite().then(|| (point.least_seconds() - alone, alone))
}

/// The last QUIPS and, for each step before, its QUIPS times 1 less its time over the next one's
/// (HINT's hint.c).
fn net_quips(steps: &[HintStep]) -> Option<f64> {
    let before = steps
        .windows(2)
        .map(|pair| pair[0].quips * (1.0 - pair[0].least_seconds / pair[1].least_seconds));
    Some(steps.last()?.quips + before.sum::<f64>())
}

impl HintVerdict {
    /// Whether every bound holds and every quality agrees with the intervals.
    pub const fn is_valid(&self) -> bool {
        self.outside == 0 && self.off_law == 0
    }

    /// The exact area, to be shown next to the bounds.
    pub const fn area() -> f64 {
        AREA
    }
}

#[cfg(test)]
mod tests {
    use btu_units::Span;

    use super::*;
    use crate::hint::plan::tests::run;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() <= tolerance, "{found}, not {expected}");
    }

    /// 1996's model of its figure 6: a lap is one exchange, two 16-byte messages of 746.1 us over
    /// Ethernet, and the work. The first point is 4414 QUIPS at 1.5915 ms.
    #[test]
    fn two_processes_over_the_ethernet_of_1996() {
        let plan = HintPlan { most_points: 20, ..HintPlan::standard(2) };
        let (message, each) = (746.1e-6, (1.5915e-3 - 2.0 * 746.1e-6) / 4.0);
        let (points, _) = run(&plan, 2.0 * message, each);
        let verdict = judge(&plan, &points, Some(message)).unwrap();
        near(verdict.steps[0].quips, 4414.0, 0.004);
        near(verdict.exchange_seconds.unwrap().value, 2.0 * message, 1e-4);
        assert_eq!(verdict.exchange_is_the_network, Some(true));
        near(verdict.steps[0].work_share.unwrap(), 0.0993 / 1.5915, 0.002);
        assert!(verdict.is_valid());
    }

    /// If laps are mostly work, one process waits for the other, which is not part of the exchange.
    #[test]
    fn steps_of_mostly_work_do_not_count_in_the_exchange() {
        let plan = HintPlan { most_points: 40, ..HintPlan::standard(2) };
        let (message, each) = (746.1e-6, 25e-6);
        let (mut points, _) = run(&plan, 2.0 * message, each);
        for point in points.iter_mut().filter(|point| each * point.intervals as f64 > 2.0 * message)
        {
            point
                .trials
                .iter_mut()
                .for_each(|trial| *trial = Span::from_seconds_f64(trial.seconds() * 1.5));
        }
        near(judge(&plan, &points, Some(message)).unwrap().exchange_ratio.unwrap(), 1.0, 1e-3);
    }

    #[test]
    fn net_quips_is_the_area_under_quips_against_the_logarithm_of_time() {
        let step = |seconds: f64, quips: f64| HintStep {
            intervals: 4,
            quality: 7.0,
            least_seconds: seconds,
            median_seconds: Estimate { value: seconds, interval: None },
            quips,
            work_share: None,
        };
        // 100 (1 - 1/2) + 300 (1 - 2/4) + 200.
        near(
            net_quips(&[step(1.0, 100.0), step(2.0, 300.0), step(4.0, 200.0)]).unwrap(),
            400.0,
            1e-12,
        );
        assert_eq!(net_quips(&[]), None);
    }

    #[test]
    fn wrong_bounds_are_found() {
        let plan = HintPlan { most_points: 5, ..HintPlan::standard(1) };
        let (mut points, _) = run(&plan, 0.0, 1e-8);
        points[1].lower = 0.39;
        let verdict = judge(&plan, &points, None).unwrap();
        assert_eq!((verdict.outside, verdict.is_valid()), (1, false));
        assert_eq!(judge(&plan, &[], None), None);
    }
}
