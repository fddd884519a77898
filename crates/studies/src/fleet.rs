//! `btu fleet`: which of many hosts, or which link between them, is slow.

mod groups;
mod model;
mod plan;
mod suspects;

#[cfg(test)]
mod tests;

use btu_stats::median;

pub use groups::{Apart, Quicker};
pub use model::{Fleet, HostSpeed, LEAST_TELLING, SlowPair, USUAL_SPREAD};
pub use plan::{
    AtOnce, BrokenPair, FleetCell, FleetPlan, FleetVerdict, MOST_HOSTS, PairResult, blocks_of,
};
pub use suspects::MOST_REPETITIONS;

/// How many marks chance makes in a run, in the mean: a hundredth, a third of them for hosts and for pairs each.
pub const FALSE_MARKS: f64 = 0.01;

/// A part that keeps more of the rate than this is no reason to look for a fault.
const WORTH_MARKING: f64 = 0.9;

/// Logarithms of rates from each host, by line, to each host, by column.
type LogRates = Vec<Vec<Option<f64>>>;

/// The median of each pair's rates.
fn medians(whole: &[LogRates]) -> LogRates {
    let hosts = whole.first().map_or(0, Vec::len);
    let of = |from: usize, to: usize| {
        median(&whole.iter().filter_map(|block| block[from][to]).collect::<Vec<_>>())
    };
    (0..hosts).map(|from| (0..hosts).map(|to| of(from, to)).collect()).collect()
}
