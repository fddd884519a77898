//! The estimate of a rating during its measurement.

use std::collections::BTreeMap;

use btu_stats::geometric_mean;
use btu_units::{Bytes, written_rate};

use btu_contract::load::Load;
use btu_contract::text::count;

use super::record::CellRecord;
use super::row::{Component, Row};

/// Goodput without load over the rows that were measured, and how much longer they take under each
/// load: each compared with the same rows only, because the order is random. Empty until a rated
/// row was measured.
pub fn so_far(records: &[CellRecord]) -> String {
    let mut rates: BTreeMap<(Load, Component, Bytes), Vec<f64>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.is_valid()) {
        if let (Row::Network { component, message, load }, Some(network)) =
            (record.row, &record.network)
            && component.is_rated()
        {
            rates
                .entry((load, component, message))
                .or_default()
                .push(network.goodput_bits_per_second);
        }
    }
    let means: BTreeMap<(Load, Component, Bytes), f64> =
        rates.into_iter().filter_map(|(row, rates)| Some((row, geometric_mean(&rates)?))).collect();
    let alone: Vec<f64> =
        means.iter().filter(|((load, ..), _)| *load == Load::Idle).map(|(_, mean)| *mean).collect();
    let Some(mean) = geometric_mean(&alone) else { return String::new() };
    let under = |load: Load| {
        let pairs = means.iter().filter(|((of, ..), _)| *of == load);
        let ratios: Vec<f64> = pairs
            .filter_map(|(&(_, component, message), loaded)| {
                Some(means.get(&(Load::Idle, component, message))? / loaded)
            })
            .collect();
        Some(format!("+ {load} {:.2} times as long ({})", geometric_mean(&ratios)?, ratios.len()))
    };
    let loads = Load::HOST.into_iter().filter_map(under);
    let first =
        format!("so far: alone {} ({})", written_rate(mean), count(alone.len() as u64, "row"));
    std::iter::once(first).chain(loads).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::network_cell;
    use super::*;

    #[test]
    fn loads_are_compared_with_the_same_rows() {
        assert_eq!(so_far(&[]), "");
        let cell = |component, load, seconds| {
            let row = Row::Network { component, message: Bytes::new(1024), load };
            network_cell(row, 0, Bytes::new(1_000_000), seconds, None)
        };
        let records = [
            cell(Component::Send, Load::Idle, 2.0),
            cell(Component::Recv, Load::Idle, 8.0),
            cell(Component::Send, Load::Cpu, 4.0),
        ];
        assert_eq!(
            so_far(&records),
            "so far: alone 2.00 Mb/s (2 rows); + cpu 2.00 times as long (1)"
        );
        assert_eq!(so_far(&records[2..]), "", "nothing to compare with yet");
    }
}
