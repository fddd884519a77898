//! A signature compared with another one over the same path.

use btu_stats::{Estimate, difference, ratio};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::verdict::{LEVEL, PipeVerdict, SizeVerdict, line};

/// The difference of a signature from its base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignatureCost {
    /// Its own latency in seconds.
    pub latency_seconds: Option<Estimate>,
    /// The difference of the latencies, in seconds: below zero if it is faster than the base.
    pub latency_more_seconds: Option<Estimate>,
    /// The latency over that of the base.
    pub latency_ratio: Option<Estimate>,
    /// The signature's own highest throughput, in bits per second; absent when nothing was
    /// measured.
    pub maximum_bits_per_second: Option<Estimate>,
    /// The highest throughput over that of the base, both among the sizes that both have: 0.79
    /// takes 21 %.
    pub maximum_ratio: Option<Estimate>,
    /// The additional cost of every large message, in seconds: the difference of t0, by the larger
    /// half of the common sizes.
    pub per_message_seconds: Option<Estimate>,
    /// The additional cost of every byte of a large message, in seconds: the difference of 1/r, by
    /// that half.
    pub per_byte_seconds: Option<Estimate>,
    /// The throughputs of common sizes over those of the base.
    pub sizes: Vec<SizeRatio>,
}

/// One size of two signatures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeRatio {
    /// The size of the messages.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Throughput over that of the base.
    pub throughput_ratio: Estimate,
}

/// Compares `one` with `base`.
pub fn cost_over(one: &PipeVerdict, base: &PipeVerdict) -> SignatureCost {
    let latency =
        |verdict: &PipeVerdict| verdict.latency.as_ref().map(|latency| latency.median_seconds);
    let latencies = latency(one).zip(latency(base));
    let (of_one, of_base) = (common(one, base), common(base, one));
    let lines = line(&of_one).zip(line(&of_base));
    let (per_message, per_byte) =
        lines.map(|((_, one), (_, base))| one.more_than(&base, LEVEL)).unzip();
    SignatureCost {
        latency_seconds: latency(one),
        latency_more_seconds: latencies.map(|(one, base)| difference(&one, &base)),
        latency_ratio: latencies.and_then(|(one, base)| ratio(&one, &base)),
        maximum_bits_per_second: one.maximum.as_ref().map(|peak| peak.bits_per_second),
        maximum_ratio: highest(&of_one)
            .zip(highest(&of_base))
            .and_then(|(one, base)| ratio(&one, &base)),
        per_message_seconds: per_message,
        per_byte_seconds: per_byte,
        sizes: of_one
            .iter()
            .zip(&of_base)
            .filter_map(|(one, base)| size_ratio(one, base))
            .collect(),
    }
}

/// The sizes of `one` that `other` has, too. Both are in rising order, and so is the result.
fn common(one: &PipeVerdict, other: &PipeVerdict) -> Vec<SizeVerdict> {
    one.sizes
        .iter()
        .filter(|size| other.sizes.iter().any(|also| also.size == size.size))
        .cloned()
        .collect()
}

fn highest(sizes: &[SizeVerdict]) -> Option<Estimate> {
    sizes
        .iter()
        .map(|size| size.throughput_bits_per_second)
        .max_by(|a, b| a.value.total_cmp(&b.value))
}

fn size_ratio(one: &SizeVerdict, base: &SizeVerdict) -> Option<SizeRatio> {
    let throughput_ratio =
        ratio(&one.throughput_bits_per_second, &base.throughput_bits_per_second)?;
    Some(SizeRatio { size: one.size, throughput_ratio })
}
