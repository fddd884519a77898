//! The corrected ratings of the four machines, for comparison with new ratings.

use btu_stats::Interval;
use serde::Serialize;

use super::Configuration;
use super::means::three;
use super::ratings::{OverLoads, RowSource, over_components, per_size};
use super::rows::{MESSAGE_BYTES, Machine, published};
use crate::papers::ReferencePoint;

/// A machine of 1995 by the rule that today's ratings follow: geometric means throughout, from the
/// raw rows. The published ratings used this rule for two machines and another for the other two,
/// and contain misprints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Corrected {
    /// The machine that was rated.
    pub machine: Machine,
    /// The recomputed rating, in bits per second.
    pub bits_per_second: f64,
    /// The range of the rating with other components (95 %): no measurement error, because nothing
    /// was repeated.
    pub over_components_bits_per_second: Option<Interval>,
    /// As published: the geometric mean over sizes.
    pub published_bits_per_second: f64,
    /// By message size: (bytes, bits per second).
    pub per_size: Vec<(u64, f64)>,
    /// The machine's configuration, from Table 4.
    pub configuration: Configuration,
}

/// All four, the fastest first.
pub fn corrected() -> Vec<Corrected> {
    let mut machines: Vec<Corrected> = Machine::ALL.into_iter().map(correct).collect();
    machines.sort_by(|a, b| b.bits_per_second.total_cmp(&a.bits_per_second));
    machines
}

fn correct(machine: Machine) -> Corrected {
    let per_size = sizes(machine);
    let (published, configuration) = published(machine);
    let megabits = |rate: f64| rate * 1e6;
    Corrected {
        machine,
        bits_per_second: megabits(three(&per_size).geometric),
        over_components_bits_per_second: over_components(machine)
            .map(|interval| interval.map(megabits)),
        published_bits_per_second: megabits(published.geometric),
        per_size: MESSAGE_BYTES.into_iter().zip(per_size.map(megabits)).collect(),
        configuration,
    }
}

/// BTU of each message size in Mb/s by the one rule.
fn sizes(machine: Machine) -> [f64; 5] {
    per_size(machine, RowSource::RawRows, OverLoads::Geometric)
}

/// BTU by message size, one curve for each machine.
pub(crate) fn reference_points() -> Vec<ReferencePoint> {
    let point = |label, bytes: u64, megabits: f64| ReferencePoint {
        label,
        x: Some(bytes as f64),
        x_unit: "bytes",
        y: megabits * 1e6,
        unit: "bits/s",
        source: "tables A5 to A16, geometric means throughout, recomputed",
    };
    let curve = |machine: Machine| {
        let sizes = MESSAGE_BYTES.into_iter().zip(sizes(machine));
        sizes.map(move |(bytes, megabits)| point(machine.name(), bytes, megabits))
    };
    Machine::ALL.into_iter().flat_map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The raw rows with one rule for all: SPARC 10 2.481, DEC 2.546 (sizes are rounded to two
    /// decimals on the way).
    #[test]
    fn the_order_by_one_rule_for_all() {
        let expected = [
            (Machine::Dec, 2.546),
            (Machine::Sparc10, 2.481),
            (Machine::Pc, 1.957),
            (Machine::Sgi, 1.010),
        ];
        for (found, (machine, megabits)) in corrected().iter().zip(expected) {
            assert_eq!(found.machine, machine);
            assert!((found.bits_per_second / 1e6 - megabits).abs() < 2e-3, "{found:?}");
        }
    }
}
