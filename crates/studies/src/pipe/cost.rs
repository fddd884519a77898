//! A signature compared with another one over the same path.

use btu_contract::pipe::Kind;
use btu_stats::{Estimate, difference, ratio};
use btu_units::Bytes;
use serde::Serialize;

use super::verdict::{LEVEL, PipeVerdict, SizeVerdict, line};

/// The difference of a signature from its base.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

/// The cost of a layer, compared with the path without it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerCost {
    /// The kind of pipe that has this cost.
    pub kind: Kind,
    /// The kind with which it is compared.
    pub base: Kind,
    /// The cost.
    #[serde(flatten)]
    pub cost: SignatureCost,
}

/// The costs of every layer of a stack over one path but the lowest, which is what the others are
/// compared with. The 1996 paper does this once (figure 8, MPI on top of TCP over ATM): 661 us more
/// latency and 21 % less throughput.
pub fn layer_costs(stack: &[PipeVerdict]) -> Vec<LayerCost> {
    let Some((base, layers)) = stack.split_first() else { return Vec::new() };
    layers
        .iter()
        .map(|layer| LayerCost { kind: layer.kind, base: base.kind, cost: cost_over(layer, base) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::judge;
    use crate::pipe::verdict::tests::{plan, points};
    use btu_contract::pipe::{Pattern, PipePlan};

    fn signature(kind: Kind, sizes: &str, fixed: f64, rate: f64) -> PipeVerdict {
        let plan = PipePlan { kind, ..plan(sizes, Pattern::PingPong) };
        judge(&plan, &points(&plan, |bytes| fixed + bytes * 8.0 / rate))
    }

    fn near(found: Option<Estimate>, expected: f64, tolerance: f64) {
        let found = found.unwrap();
        assert!((found.value - expected).abs() <= tolerance, "{found:?}, not {expected}");
        assert!(found.interval.unwrap().contains(expected), "{found:?} around {expected}");
    }

    /// 1996, figure 8: TCP over ATM 840.6 us and 50.28 Mb/s of 2^20, MPI on top of it 1501.3 us and
    /// 39.71: 660.7 us more, 1.79 times as much, and 21 % less.
    #[test]
    fn mpi_over_atm_in_1996() {
        let mebibit = 1_048_576.0;
        let tcp = signature(Kind::Tcp, "1..10MB", 840.6e-6, 50.28 * mebibit);
        let mpi = signature(Kind::Mpi, "1..10MB", 1501.3e-6, 39.71 * mebibit);
        let costs = layer_costs(&[tcp, mpi]);
        let [cost] = &costs[..] else { panic!("{costs:?}") };
        assert_eq!((cost.kind, cost.base), (Kind::Mpi, Kind::Tcp));
        // All times are 0.3 % above the model's.
        near(cost.cost.latency_more_seconds, 660.7e-6 * 1.003, 1e-6);
        near(cost.cost.latency_ratio, 1.786, 2e-3);
        near(cost.cost.maximum_ratio, 0.79, 1e-3);
        near(cost.cost.per_message_seconds, 660.7e-6 * 1.003, 1e-7);
        near(
            cost.cost.per_byte_seconds,
            8.0 / mebibit * (1.0 / 39.71 - 1.0 / 50.28) * 1.003,
            1e-12,
        );
        assert_eq!(cost.cost.sizes.len(), 124);
    }

    /// A layer that moves no large messages is compared by small ones.
    #[test]
    fn a_layer_with_fewer_sizes_is_compared_by_those() {
        let stack = [
            signature(Kind::Udp, "1..64KB", 1e-5, 1e9),
            signature(Kind::Tcp, "1..10MB", 1e-5, 1e9),
        ];
        let costs = layer_costs(&stack);
        let SignatureCost { maximum_ratio, per_message_seconds, per_byte_seconds, .. } =
            costs[0].cost;
        near(maximum_ratio, 1.0, 1e-6);
        near(per_message_seconds, 0.0, 1e-9);
        near(per_byte_seconds, 0.0, 1e-13);
    }

    #[test]
    fn only_common_sizes_are_compared_and_a_lonely_layer_costs_nothing() {
        let few = signature(Kind::Tls, "1,5,1000", 1e-5, 1e9);
        let costs = layer_costs(&[signature(Kind::Tcp, "1,4,1000", 1e-5, 1e9), few.clone()]);
        assert_eq!(
            costs[0].cost.sizes.iter().map(|size| size.size.count()).collect::<Vec<_>>(),
            [1, 1000]
        );
        assert_eq!(layer_costs(&[few]), []);
        assert_eq!(layer_costs(&[]), []);
    }
}
