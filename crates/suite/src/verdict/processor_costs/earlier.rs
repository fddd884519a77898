//! What far and slow processors cost in earlier runs of a machine: a run in which nearly all cells are alike
//! cannot tell it by itself.

use std::collections::BTreeMap;

use btu_stats::Slope;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::super::earlier::{EarlierRuns, FEWEST_RUNS};
use super::{
    Conditions, Far, Known, LEAST_FAR_WEIGHT, PlacedReading, by_row, counts, mean_of,
    weighted_mean, without_far,
};

/// A run's slope for far cells counts from this weight on, as from two near and two far cells of one row.
const LEAST_EARLIER_FAR_WEIGHT: f64 = 1.0;

/// What far, slow and distant processors cost the rated rows in earlier runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnownCosts {
    /// The cost of far ones, by message size.
    pub far: Vec<KnownFarCost>,
    /// The cost of slow ones.
    pub slow: Option<KnownSlowCost>,
    /// What goes along with the latency of near ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distant: Option<KnownDistanceCost>,
    /// The readings that others are compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<UsualReadings>,
}

/// What was read of processors on average in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsualReadings {
    /// The latency of near processors.
    pub core_to_core_ns: u64,
    /// The time for a fixed piece of arithmetic.
    pub arithmetic_ns: u64,
}

impl UsualReadings {
    pub(super) const fn core_to_core(self) -> Span {
        Span::from_nanoseconds(self.core_to_core_ns)
    }

    pub(super) const fn arithmetic(self) -> Span {
        Span::from_nanoseconds(self.arithmetic_ns)
    }
}

/// What far processors cost the rated rows of a message size in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownFarCost {
    /// The message size of the rows.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The number of runs.
    pub runs: u32,
    /// The logarithm of goodput in far cells over near ones that a further run may have.
    pub goodput: Slope,
    /// By how much far cells were slower in arithmetic, as a logarithm.
    pub slowness: f64,
}

/// What slow processors cost the rated rows in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownSlowCost {
    /// The number of runs.
    pub runs: u32,
    /// The slope of goodput on slowness, both as logarithms.
    pub goodput: Slope,
}

/// What goes along with the latency of near processors in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownDistanceCost {
    /// The number of runs.
    pub runs: u32,
    /// The slope of goodput on the latency, both as logarithms and without what goes along with slowness.
    pub goodput: Slope,
    /// By how much the latency rises with slowness, both as logarithms.
    pub with_slowness: f64,
}

impl KnownCosts {
    /// By the cells of earlier runs that did the same work between the same processors, and the near latency
    /// of these; nothing of what fewer than three runs tell.
    pub fn of(runs: &[Vec<PlacedReading>], near: Option<Span>) -> Self {
        let mut known = EarlierRuns { near, ..EarlierRuns::default() };
        let means: Vec<[f64; 2]> =
            runs.iter().filter_map(|run| mean_readings(&Conditions::of(run, &known))).collect();
        known.costs.usual = usual(&means);
        let (mut sizes, mut cells): (BTreeMap<Bytes, Vec<Far>>, Vec<_>) = Default::default();
        for run in runs {
            let conditions = Conditions::of(run, &known);
            let mut far: BTreeMap<Bytes, Far> = Far::of_sizes(&conditions.sizes).collect();
            for (size, far) in &far {
                if far.goodput.weight() >= LEAST_EARLIER_FAR_WEIGHT {
                    sizes.entry(*size).or_default().push(*far);
                }
            }
            far.retain(|_, far| counts(&far.goodput, LEAST_FAR_WEIGHT));
            cells.push(without_far(&conditions.sizes, &far));
        }
        sizes.retain(|_, found| found.len() >= FEWEST_RUNS);
        let far = of_sizes(sizes);
        let Some(usual) = known.costs.usual else { return Self { far, ..Self::default() } };
        let slow = slow_cost(&cells);
        let distant = distance_cost(&cells, slow.as_ref());
        Self { far, slow, distant, usual: Some(usual) }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn of_sizes(sizes: BTreeMap<Bytes, Vec<Far>>) -> Vec<KnownFarCost> {
    let goodputs: Vec<Vec<Slope>> =
        sizes.values().map(|found| found.iter().map(|far| far.goodput).collect()).collect();
    let known = |((message, found), goodput): ((Bytes, Vec<Far>), Option<Slope>)| {
        let slowness = weighted_mean(found.iter().map(|far| (far.goodput, far.slowness)));
        Some(KnownFarCost { message, runs: found.len() as u32, goodput: goodput?, slowness })
    };
    sizes.into_iter().zip(Slope::next_of(&goodputs)).filter_map(known).collect()
}

fn slow_cost(runs: &[Vec<Known>]) -> Option<KnownSlowCost> {
    let goodput = slope_over(runs, |cell| (cell.slowness, cell.goodput))?;
    Some(KnownSlowCost { runs: runs.len() as u32, goodput })
}

fn distance_cost(runs: &[Vec<Known>], slow: Option<&KnownSlowCost>) -> Option<KnownDistanceCost> {
    let with_slowness = slow.and_then(|_| slope_over(runs, |cell| (cell.slowness, cell.distance)));
    let with_slowness = with_slowness.map_or(0.0, |slope| slope.logarithm());
    let slow = slow.map_or(0.0, |slow| slow.goodput.logarithm());
    let goodput = slope_over(runs, |cell| {
        let [distance, goodput] = [(cell.distance, with_slowness), (cell.goodput, slow)]
            .map(|(value, slope)| value - slope * cell.slowness);
        (distance, goodput)
    })?;
    Some(KnownDistanceCost { runs: runs.len() as u32, goodput, with_slowness })
}

/// One for all runs, which did the same work.
fn slope_over(runs: &[Vec<Known>], of: impl Fn(&Known) -> (f64, f64)) -> Option<Slope> {
    Slope::over(&runs.iter().map(|run| by_row(run, &of)).collect::<Vec<_>>())
}

/// The logarithms of the times of a run in ns: of a cache line between near processors, and for arithmetic.
fn mean_readings(conditions: &Conditions) -> Option<[f64; 2]> {
    let Conditions { reference, sizes } = conditions;
    let [near, quick] = [reference.core_to_core?, reference.arithmetic?]
        .map(|time| (time.nanoseconds().max(1) as f64).ln());
    let [distance, slowness] =
        [mean_of(sizes, |cell| cell.distance)?, mean_of(sizes, |cell| cell.slowness)?];
    Some([near + distance, quick + slowness])
}

fn usual(runs: &[[f64; 2]]) -> Option<UsualReadings> {
    if runs.len() < FEWEST_RUNS {
        return None;
    }
    let mean = |which: usize| {
        let mean = runs.iter().map(|run| run[which]).sum::<f64>() / runs.len() as f64;
        mean.exp().round() as u64
    };
    Some(UsualReadings { core_to_core_ns: mean(0), arithmetic_ns: mean(1) })
}
