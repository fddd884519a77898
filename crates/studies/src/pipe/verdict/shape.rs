//! The shape of a signature: its highest point, the places where it turns back in time, and its
//! dips.

use btu_stats::{Estimate, arithmetic_mean};
use btu_units::Bytes;
use serde::Serialize;

use super::size::SizeVerdict;
use btu_contract::pipe::PipePlan;

/// A fall of throughput by less than this share of the maximum of smaller messages is no dip.
const DIP: f64 = 0.10;

/// The highest throughput, by three rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peak {
    /// The size that reached it.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// btu's: the highest of the throughputs from median times.
    pub bits_per_second: Estimate,
    /// The 1996 paper's and `NetPIPE` 3's: the highest of the throughputs from least times.
    pub netpipe_1996_bits_per_second: f64,
    /// `NetPIPE` 5's: the mean of the ten highest throughputs from mean times (of the five highest
    /// without perturbation; of all where there are fewer).
    pub netpipe_5_bits_per_second: f64,
}

/// A larger message that took less time than the next smaller one, by intervals that do not meet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Turn {
    /// The size of the smaller message.
    #[serde(rename = "from_bytes")]
    pub from: Bytes,
    /// The size of the larger message.
    #[serde(rename = "to_bytes")]
    pub to: Bytes,
    /// The difference of their times, by the medians.
    pub less_seconds: f64,
}

/// A range of sizes with throughput below a value that smaller and larger sizes reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dip {
    /// The smallest size in it.
    #[serde(rename = "from_bytes")]
    pub from: Bytes,
    /// The largest size in it.
    #[serde(rename = "to_bytes")]
    pub to: Bytes,
    /// The size with the lowest throughput.
    #[serde(rename = "deepest_bytes")]
    pub deepest: Bytes,
    /// That throughput as a share of the highest of all smaller sizes.
    pub share: f64,
}

/// The highest throughput of `sizes`.
pub(super) fn peak(plan: &PipePlan, sizes: &[SizeVerdict]) -> Option<Peak> {
    let highest = sizes.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let bits = |size: &SizeVerdict| rate(size) * size.one_way.median_seconds.value;
    let of_least =
        sizes.iter().map(|size| bits(size) / size.one_way.least_seconds).fold(0.0, f64::max);
    let mut of_mean: Vec<f64> =
        sizes.iter().map(|size| bits(size) / size.one_way.mean_seconds.value).collect();
    of_mean.sort_by(|a, b| b.total_cmp(a));
    let counted = if plan.sizes.is_perturbed() { 10 } else { 5 };
    Some(Peak {
        size: highest.size,
        bits_per_second: highest.throughput_bits_per_second,
        netpipe_1996_bits_per_second: of_least,
        netpipe_5_bits_per_second: arithmetic_mean(&of_mean[..of_mean.len().min(counted)])?,
    })
}

fn rate(size: &SizeVerdict) -> f64 {
    size.throughput_bits_per_second.value
}

/// Pairs of neighbours in which the larger took less time.
pub(super) fn turns(sizes: &[SizeVerdict]) -> Vec<Turn> {
    let back = |pair: &[SizeVerdict]| {
        let [smaller, larger] = [&pair[0], &pair[1]].map(|size| size.one_way.median_seconds);
        let apart = larger.interval?.high < smaller.interval?.low;
        let less_seconds = smaller.value - larger.value;
        apart.then_some(Turn { from: pair[0].size, to: pair[1].size, less_seconds })
    };
    sizes.windows(2).filter_map(back).collect()
}

/// Falls of throughput that do not last.
pub(super) fn dips(sizes: &[SizeVerdict]) -> Vec<Dip> {
    let mut dips = Vec::new();
    let mut open: Option<Dip> = None;
    let mut highest = 0.0;
    for size in sizes {
        let share = rate(size) / f64::max(highest, rate(size));
        if share < 1.0 - DIP {
            let dip = open.get_or_insert(Dip {
                from: size.size,
                to: size.size,
                deepest: size.size,
                share,
            });
            dip.to = size.size;
            if share < dip.share {
                (dip.deepest, dip.share) = (size.size, share);
            }
        } else {
            dips.extend(open.take());
        }
        highest = f64::max(highest, rate(size));
    }
    dips
}
