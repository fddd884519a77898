//! The time of the smallest messages, by four definitions of latency.

use std::collections::BTreeMap;

use btu_stats::{Estimate, arithmetic_mean, median, quantile};
use btu_units::Bytes;
use serde::Serialize;

use super::LEVEL;
use crate::pipe::merge::by_size;
use btu_contract::pipe::{Pattern, PipePlan, Point};

/// The time of messages up to this size is latency: no medium shows a difference of eight bytes.
const SMALL: Bytes = Bytes::new(8);

/// Latencies in seconds, one way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latencies {
    /// btu's: the median over all trials of the sizes up to 8 bytes, or of the smallest size if all
    /// are larger. Of several passes, each with connections of its own, the median of their medians.
    pub median_seconds: Estimate,
    /// The largest size that counts in it.
    #[serde(rename = "up_to_bytes")]
    pub up_to: Bytes,
    /// The 1996 paper's: the first point of the signature, which is the least time of the smallest
    /// size.
    pub netpipe_1996_seconds: f64,
    /// `NetPIPE` 3's (Turner and Chen, 2002): half the round trip of messages below 64 bytes; here
    /// the mean of their least times. Absent where no size is so small.
    pub netpipe_3_seconds: Option<f64>,
    /// `NetPIPE` 5's: the mean over all trials of the ten smallest sizes, the largest of all sizes
    /// never among them.
    pub netpipe_5_seconds: f64,
}

/// The latencies of an answered pattern; `None` for every other one.
pub(super) fn of(plan: &PipePlan, points: &[Point]) -> Option<Latencies> {
    if plan.pattern != Pattern::PingPong {
        return None;
    }
    let mut times: Vec<(Bytes, Vec<f64>)> = by_size(points)
        .iter()
        .map(|point| (point.size, point.one_way_seconds(plan.pattern)))
        .collect();
    times.retain(|(_, times)| !times.is_empty());
    let smallest = times.first()?;
    let up_to = times
        .iter()
        .map(|(size, _)| *size)
        .take_while(|size| *size <= SMALL)
        .last()
        .unwrap_or(smallest.0);
    let all = |count: usize| {
        times.iter().take(count).flat_map(|(_, times)| times).copied().collect::<Vec<f64>>()
    };
    let below_64 =
        times.iter().filter(|(size, _)| size.count() < 64).map(|(_, times)| least(times));
    Some(Latencies {
        median_seconds: typical(plan.pattern, points, up_to)?,
        up_to,
        netpipe_1996_seconds: least(&smallest.1),
        netpipe_3_seconds: arithmetic_mean(&below_64.collect::<Vec<_>>()),
        netpipe_5_seconds: arithmetic_mean(&all((times.len() - 1).clamp(1, 10)))?,
    })
}

/// The median of the sizes up to this one. Connections differ more from each other than trials of one
/// connection do, so each pass is one value where there are several.
fn typical(pattern: Pattern, points: &[Point], up_to: Bytes) -> Option<Estimate> {
    let mut passes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.size <= up_to) {
        passes.entry(point.pass).or_default().extend(point.one_way_seconds(pattern));
    }
    match passes.len() {
        0 | 1 => quantile(&passes.into_values().next()?, 0.5, LEVEL),
        _ => {
            let medians: Vec<f64> = passes.values().filter_map(|times| median(times)).collect();
            quantile(&medians, 0.5, LEVEL)
        }
    }
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}
