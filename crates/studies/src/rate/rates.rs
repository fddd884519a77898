//! The table of rates: component x message size x load.

use btu_stats::{Estimate, outliers};
use btu_units::Bytes;
use serde::Serialize;

use btu_contract::load::Load;

use super::cells::Cells;
use super::context::Context;
use super::cpu::cpu_seconds_per_gigabyte;
use super::goodputs::Goodputs;
use super::row::{Component, Row};

/// One row of the table of rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateRow {
    /// The component that is the network activity.
    pub component: Component,
    /// The message size of the network activity.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The load that ran at the same time.
    pub load: Load,
    /// Geometric mean over repetitions; absent when no repetition counts. Its interval takes three of them.
    pub goodput_bits_per_second: Option<Estimate>,
    /// Slowest and fastest repetition.
    pub range_bits_per_second: Option<[f64; 2]>,
    /// The number of valid repetitions.
    pub repetitions: usize,
    /// The number of void repetitions.
    pub invalid: usize,
    /// Half the interval over the value; absent with fewer than three repetitions.
    pub relative_half_width: Option<f64>,
    /// Whether the interval is wider than wanted, or missing.
    pub low_confidence: bool,
    /// Outlying repetitions; they are part of every mean.
    pub outliers: Vec<Outlier>,
    /// CPU time of the test station's network workers per 10^9 bytes of payload.
    pub cpu_seconds_per_gigabyte: Option<f64>,
}

/// A repetition that is flagged and kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outlier {
    /// The number of the block in which the repetition was measured, from 0.
    pub block: u32,
    /// The goodput of the repetition, in bits per second.
    pub goodput_bits_per_second: f64,
    /// Its modified z score (Iglewicz & Hoaglin): beyond 3.5 either way.
    pub modified_z: f64,
}

/// The rates of all rated rows that were planned, by component, message size and load.
pub(super) fn rates(cells: &Cells, goodputs: &Goodputs, context: &Context) -> Vec<RateRow> {
    context
        .rated_rows(|_, _| true)
        .into_iter()
        .filter_map(|row| rate(cells, goodputs, context, row))
        .collect()
}

fn rate(cells: &Cells, goodputs: &Goodputs, context: &Context, row: Row) -> Option<RateRow> {
    let Row::Network { component, message, load } = row else { return None };
    let repetitions: Vec<(u32, f64)> = goodputs.of_row(row).collect();
    let values: Vec<f64> = repetitions.iter().map(|(_, value)| *value).collect();
    let estimate = goodputs.estimate(row);
    let relative_half_width = estimate.and_then(|estimate| estimate.relative_half_width());
    let wanted = context.plan.profile.wanted_half_width;
    Some(RateRow {
        component,
        message,
        load,
        goodput_bits_per_second: estimate,
        range_bits_per_second: range(&values),
        repetitions: values.len(),
        invalid: cells.void(row).len(),
        relative_half_width,
        low_confidence: relative_half_width.is_none_or(|half| half > wanted),
        outliers: flagged(&repetitions, &values),
        cpu_seconds_per_gigabyte: cpu_seconds_per_gigabyte(cells.of(row)),
    })
}

fn range(values: &[f64]) -> Option<[f64; 2]> {
    let low = values.iter().copied().reduce(f64::min)?;
    Some([low, values.iter().copied().fold(low, f64::max)])
}

fn flagged(repetitions: &[(u32, f64)], values: &[f64]) -> Vec<Outlier> {
    let flag = |(index, modified_z): (usize, f64)| {
        let (block, goodput_bits_per_second) = repetitions[index];
        Outlier { block, goodput_bits_per_second, modified_z }
    };
    outliers(values).into_iter().map(flag).collect()
}
