//! What each layer costs: signatures of a stack over the same path, held against the lowest of them.
//!
//! The 1996 paper does this once (figure 8, MPI on top of TCP over ATM): 661 us more latency and 21 % less throughput.

use btu_stats::{Estimate, difference, ratio};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::Kind;
use super::verdict::{LEVEL, PipeVerdict, SizeVerdict, line};

/// What a layer adds and takes, beside the same path without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerCost {
    /// The layer.
    pub kind: Kind,
    /// What it is compared with.
    pub base: Kind,
    /// Its own latency in seconds.
    pub latency_seconds: Option<Estimate>,
    /// How much more that is, in seconds. Below zero where the layer is faster.
    pub latency_more_seconds: Option<Estimate>,
    /// The latency over that of the base.
    pub latency_ratio: Option<Estimate>,
    /// Its own maximum.
    pub maximum_bits_per_second: Option<Estimate>,
    /// The maximum over that of the base: 0.79 takes 21 %.
    pub maximum_ratio: Option<Estimate>,
    /// What every large message costs more, in seconds: the difference of t0.
    pub per_message_seconds: Option<Estimate>,
    /// What every byte of a large message costs more, in seconds: the difference of 1/r.
    pub per_byte_seconds: Option<Estimate>,
    /// The throughputs of common sizes over those of the base.
    pub sizes: Vec<SizeRatio>,
}

/// One size of two signatures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeRatio {
    /// The size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Throughput over that of the base.
    pub throughput_ratio: Estimate,
}

/// The costs of every layer but the first, which is what the others are held against.
pub fn layer_costs(stack: &[PipeVerdict]) -> Vec<LayerCost> {
    let Some((base, layers)) = stack.split_first() else { return Vec::new() };
    layers.iter().map(|layer| cost(layer, base)).collect()
}

fn cost(layer: &PipeVerdict, base: &PipeVerdict) -> LayerCost {
    let latency = |verdict: &PipeVerdict| verdict.latency.as_ref().map(|latency| latency.median_seconds);
    let maximum = |verdict: &PipeVerdict| verdict.maximum.as_ref().map(|peak| peak.bits_per_second);
    let (latencies, maxima) = (latency(layer).zip(latency(base)), maximum(layer).zip(maximum(base)));
    let lines = line(&layer.sizes).zip(line(&base.sizes));
    let (per_message, per_byte) = lines.map(|((_, layer), (_, base))| layer.more_than(&base, LEVEL)).unzip();
    LayerCost {
        kind: layer.kind,
        base: base.kind,
        latency_seconds: latency(layer),
        latency_more_seconds: latencies.map(|(layer, base)| difference(&layer, &base)),
        latency_ratio: latencies.and_then(|(layer, base)| ratio(&layer, &base)),
        maximum_bits_per_second: maximum(layer),
        maximum_ratio: maxima.and_then(|(layer, base)| ratio(&layer, &base)),
        per_message_seconds: per_message,
        per_byte_seconds: per_byte,
        sizes: layer.sizes.iter().filter_map(|size| common(size, base)).collect(),
    }
}

fn common(size: &SizeVerdict, base: &PipeVerdict) -> Option<SizeRatio> {
    let other = base.sizes.iter().find(|other| other.size == size.size)?;
    let throughput_ratio = ratio(&size.throughput_bits_per_second, &other.throughput_bits_per_second)?;
    Some(SizeRatio { size: size.size, throughput_ratio })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::verdict::tests::{plan, points};
    use crate::pipe::{Pattern, PipePlan, judge};

    fn signature(kind: Kind, sizes: &str, fixed: f64, rate: f64) -> PipeVerdict {
        let plan = PipePlan { kind, ..plan(sizes, Pattern::PingPong) };
        judge(&plan, &points(&plan, |bytes| fixed + bytes * 8.0 / rate))
    }

    fn near(found: Option<Estimate>, expected: f64, tolerance: f64) {
        let found = found.unwrap();
        assert!((found.value - expected).abs() <= tolerance, "{found:?}, not {expected}");
        assert!(found.interval.unwrap().contains(expected), "{found:?} around {expected}");
    }

    /// 1996, figure 8: TCP over ATM 840.6 us and 50.28 Mb/s of 2^20, MPI on top of it 1501.3 us and 39.71: 660.7 us more,
    /// 1.79 times as much, and 21 % less.
    #[test]
    fn mpi_over_atm_in_1996() {
        let mebibit = 1_048_576.0;
        let tcp = signature(Kind::Tcp, "1..10MB", 840.6e-6, 50.28 * mebibit);
        let mpi = signature(Kind::Mpi, "1..10MB", 1501.3e-6, 39.71 * mebibit);
        let costs = layer_costs(&[tcp, mpi]);
        let [cost] = &costs[..] else { panic!("{costs:?}") };
        assert_eq!((cost.kind, cost.base), (Kind::Mpi, Kind::Tcp));
        // All times are 0.3 % above the model's.
        near(cost.latency_more_seconds, 660.7e-6 * 1.003, 1e-6);
        near(cost.latency_ratio, 1.786, 2e-3);
        near(cost.maximum_ratio, 0.79, 1e-3);
        near(cost.per_message_seconds, 660.7e-6 * 1.003, 1e-7);
        near(cost.per_byte_seconds, 8.0 / mebibit * (1.0 / 39.71 - 1.0 / 50.28) * 1.003, 1e-12);
        assert_eq!(cost.sizes.len(), 124);
    }

    #[test]
    fn only_common_sizes_are_compared_and_a_lonely_layer_costs_nothing() {
        let few = signature(Kind::Tls, "1,5,1000", 1e-5, 1e9);
        let costs = layer_costs(&[signature(Kind::Tcp, "1,4,1000", 1e-5, 1e9), few.clone()]);
        assert_eq!(costs[0].sizes.iter().map(|size| size.size.count()).collect::<Vec<_>>(), [1, 1000]);
        assert_eq!(layer_costs(&[few]), []);
        assert_eq!(layer_costs(&[]), []);
    }
}
