//! Warnings about the certainty of a number.

use btu_stats::median;
use serde::Serialize;

use btu_contract::load::Load;

use super::super::cells::Cells;
use super::super::context::Context;
use super::super::rates::RateRow;
use super::{Explanation, count, percent};
use crate::rate::plan::Plan;
use crate::rate::record::CellRecord;
use crate::rate::row::Row;

/// Rows of the rating have an interval that is wider than wanted, or none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LowConfidence {
    /// The number of rows with an interval that is wider than wanted, or absent.
    pub rows: u64,
    /// The number of measured rows.
    pub of: u64,
    /// The wanted half width as a share of the value.
    pub wanted_half_width: f64,
    /// The row with the widest interval; absent when no row was repeated.
    pub worst: Option<WideRow>,
}

/// A row and half the width of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WideRow {
    /// The row of the rating.
    pub row: Row,
    /// As a share of its value.
    pub relative_half_width: f64,
}

impl LowConfidence {
    pub(super) fn check(context: &Context, rates: &[RateRow]) -> Option<Self> {
        // Rows without any repetition are missing, not uncertain: other warnings name them.
        let measured = || rates.iter().filter(|rate| rate.repetitions > 0);
        let rows = measured().filter(|rate| rate.low_confidence).count();
        let width = |rate: &RateRow| {
            let row =
                Row::Network { component: rate.component, message: rate.message, load: rate.load };
            Some(WideRow { row, relative_half_width: rate.relative_half_width? })
        };
        let worst = measured()
            .filter_map(width)
            .max_by(|a, b| a.relative_half_width.total_cmp(&b.relative_half_width));
        let wanted_half_width = context.plan.profile.wanted_half_width;
        (rows > 0).then(|| Self {
            rows: rows as u64,
            of: measured().count() as u64,
            wanted_half_width,
            worst,
        })
    }
}

impl Explanation for LowConfidence {
    fn observed(&self) -> String {
        let verb = if self.rows == 1 { "is" } else { "are" };
        let (of, wanted) = (count(self.of, "rate"), percent(self.wanted_half_width));
        let rows = format!("{} of {of} {verb} not known to ±{wanted}", self.rows);
        match self.worst.filter(|worst| worst.relative_half_width > self.wanted_half_width) {
            Some(worst) => format!(
                "{rows}; the widest: {}, ±{}",
                worst.row,
                percent(worst.relative_half_width)
            ),
            None => format!("{rows}: an interval takes three repetitions"),
        }
    }

    fn advice(&self, plan: &Plan) -> String {
        match plan.profile.name.as_str() {
            "quick" => "`--profile standard` measures longer and repeats more often",
            "standard" => "a quieter machine, or `--profile full`",
            _ => "a quieter machine: stop other programs, fix the processors' frequency",
        }
        .to_owned()
    }
}

/// Outlying repetitions of a row; they are part of every mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outliers {
    /// The number of repetitions that are unlike the others.
    pub repetitions: u64,
    /// The number of rows concerned.
    pub rows: u64,
}

impl Outliers {
    pub(super) fn check(rates: &[RateRow]) -> Option<Self> {
        let repetitions = rates.iter().map(|rate| rate.outliers.len() as u64).sum();
        let rows = rates.iter().filter(|rate| !rate.outliers.is_empty()).count() as u64;
        (rows > 0).then_some(Self { repetitions, rows })
    }
}

impl Explanation for Outliers {
    fn observed(&self) -> String {
        let (repetitions, rows) = (count(self.repetitions, "repetition"), count(self.rows, "row"));
        format!(
            "{repetitions} in {rows} unlike the others of the row; flagged, and part of every mean"
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "look for what else ran at that time; `btu show RUN --cells` names the blocks".to_owned()
    }
}

/// The host and the network activity of loaded rows ran together for only a part of their time, so
/// the time alone dilutes penalties.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmallOverlap {
    /// The number of rows in which both activities ran together for less than half of the longer
    /// one.
    pub rows: u64,
    /// The total number of loaded rows.
    pub of: u64,
    /// The row with the least time together.
    pub worst: Row,
    /// Its time together as a share of the longer activity: 0 to 1.
    pub least_share: f64,
}

/// Below this share of time together a penalty is mostly that of running alone.
const LEAST_OVERLAP: f64 = 0.5;

impl SmallOverlap {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let shares: Vec<(Row, f64)> = context
            .rated_rows(|_, load| load != Load::Idle)
            .into_iter()
            .filter_map(|row| Some((row, median(&overlaps(cells.of(row)))?)))
            .collect();
        let small = || shares.iter().copied().filter(|(_, share)| *share < LEAST_OVERLAP);
        let (worst, least_share) = small().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Self { rows: small().count() as u64, of: shares.len() as u64, worst, least_share })
    }
}

/// Of each repetition, the time together as a share of the longer of the two activities.
fn overlaps(repetitions: &[&CellRecord]) -> Vec<f64> {
    let share = |record: &&CellRecord| {
        let (host, network) = (record.host.as_ref()?, record.network.as_ref()?);
        let longer = host.duration.max(network.duration).seconds();
        (longer > 0.0).then(|| host.overlap * host.duration.seconds() / longer)
    };
    repetitions.iter().filter_map(share).collect()
}

impl Explanation for SmallOverlap {
    fn observed(&self) -> String {
        let (of, least) = (count(self.of, "loaded row"), percent(self.least_share));
        format!(
            "in {} of {of} both activities ran together for less than half of the time; least in {}: {least}",
            self.rows, self.worst
        )
    }

    fn advice(&self, plan: &Plan) -> String {
        match plan.volume {
            Some(volume) => {
                format!("a `--volume` other than {volume}, or none: then all activities are calibrated to last alike")
            }
            None => {
                "take the penalties of these rows as lower bounds: the more one side slows down, the less they meet"
                    .to_owned()
            }
        }
    }
}
