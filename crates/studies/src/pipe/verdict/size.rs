//! One size: its times and its throughput.

use btu_stats::{Estimate, Histogram, Interval, mean_interval, quantile};
use btu_units::Bytes;
use serde::Serialize;

use super::LEVEL;
use btu_contract::pipe::{PipePlan, Point};

/// A size with its times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeVerdict {
    /// The size of the messages.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// How many trials there are.
    pub trials: usize,
    /// Repetitions of all trials together.
    pub repetitions: u64,
    /// Times of a message one way, over the trials.
    pub one_way: OneWay,
    /// Bits over the median time; all pairs, both directions where messages go both ways at once.
    pub throughput_bits_per_second: Estimate,
    /// Times of single exchanges, if they were measured.
    pub exchanges: Option<Exchanges>,
}

/// One-way times in seconds, each trial counting as one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneWay {
    /// The least: the machine's best (`NetPIPE` up to version 3 reports this one).
    pub least_seconds: f64,
    /// The quartile below the median.
    pub lower_quartile_seconds: Estimate,
    /// The median: a user's typical time.
    pub median_seconds: Estimate,
    /// The quartile above the median.
    pub upper_quartile_seconds: Estimate,
    /// The mean (`NetPIPE` 5 reports this one).
    pub mean_seconds: Estimate,
    /// The longest one-way time, in seconds.
    pub most_seconds: f64,
}

/// Times of single exchanges (ping-pong: round trips) in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Exchanges {
    /// How many were timed.
    pub count: u64,
    /// The median.
    pub p50_seconds: f64,
    /// The 90th percentile; absent below ten exchanges.
    pub p90_seconds: Option<f64>,
    /// The 99th percentile; absent below 100 exchanges, of which it would be the longest.
    pub p99_seconds: Option<f64>,
    /// The 99.9th percentile; absent below 1000 exchanges.
    pub p999_seconds: Option<f64>,
    /// The longest exchange, in seconds.
    pub most_seconds: f64,
}

/// The size's verdict; `None` without a trial that took any time.
pub(super) fn of(plan: &PipePlan, point: &Point) -> Option<SizeVerdict> {
    let times: Vec<f64> =
        point.one_way_seconds(plan.pattern).into_iter().filter(|seconds| *seconds > 0.0).collect();
    let part = |share| quantile(&times, share, LEVEL);
    let median = part(0.5)?;
    let bits = plan.pattern.bits_at_once(point.size, plan.pairs);
    Some(SizeVerdict {
        size: point.size,
        trials: times.len(),
        repetitions: point
            .trials
            .iter()
            .fold(0, |sum, trial| sum.saturating_add(trial.repetitions)),
        one_way: OneWay {
            least_seconds: part(0.0)?.value,
            lower_quartile_seconds: part(0.25)?,
            median_seconds: median,
            upper_quartile_seconds: part(0.75)?,
            mean_seconds: mean_interval(&times, LEVEL).unwrap_or(median),
            most_seconds: part(1.0)?.value,
        },
        throughput_bits_per_second: inverse(median, bits),
        exchanges: point.each.as_ref().and_then(exchanges),
    })
}

/// `amount` over a positive estimate.
pub(super) fn inverse(of: Estimate, amount: f64) -> Estimate {
    let interval =
        of.interval.map(|ends| Interval { low: amount / ends.high, high: amount / ends.low });
    Estimate {
        value: amount / of.value,
        interval: interval.filter(|ends| ends.high.is_finite() && ends.high >= ends.low),
    }
}

fn exchanges(each: &Histogram) -> Option<Exchanges> {
    let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    Some(Exchanges {
        count: each.count(),
        p50_seconds: seconds(each.quantile(0.5)?),
        p90_seconds: each.known_quantile(0.9).map(seconds),
        p99_seconds: each.known_quantile(0.99).map(seconds),
        p999_seconds: each.known_quantile(0.999).map(seconds),
        most_seconds: seconds(each.max()?),
    })
}
