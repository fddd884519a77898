//! What far and slow processors cost the rated rows, taken out of them.
//!
//! A hypervisor that moves the processors of the two sides apart makes cells slower, large messages most; others that
//! work on the same cores make all cells slower. Runs have different shares of such cells, so their ratings would differ
//! by what the hypervisor did. Cells of the same rows under different conditions show what it cost: one slope for far cells
//! of each message size, and one on the slowness of arithmetic for all rows, by least squares. What earlier
//! runs found counts, too: they tell the readings that are usual, to which results are then brought, and what goes along with
//! the latency of near processors. Goodput is divided by the cost, and its error is part of each interval. No
//! cell is left out.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, Mul};

use btu_stats::{Estimate, LogSample, Slope, arithmetic_mean, contrast};
use btu_units::Bytes;

use self::conditions::{Conditions, Known, Reference, Sizes};
pub use self::earlier::{
    KnownCosts, KnownDistanceCost, KnownFarCost, KnownSlowCost, UsualReadings,
};
pub use self::placed::PlacedReading;
use super::LEVEL;
use super::earlier::EarlierRuns;
use super::warning::{DistanceCost, FarCost, SlowCost};
use crate::cell::Row;
use crate::compare::{TakenCost, TakenOut};

mod conditions;
mod earlier;
mod placed;

/// A size's slope counts from this weight on (see [`Slope::weight`]), as from eight near and eight far cells
/// of one row: below, its error is larger than what most cells lose.
const LEAST_FAR_WEIGHT: f64 = 4.0;

/// The slope on slowness counts from this weight on, as from eight quick cells and eight whose arithmetic took twice
/// as long, which is what another busy thread on each core does.
const LEAST_SLOW_WEIGHT: f64 = 1.9;

/// Which cells are far or slow, and what it cost.
pub(super) struct ProcessorCosts {
    reference: Reference,
    far: BTreeMap<Bytes, Far>,
    slow: Option<Trend>,
    distant: Option<Distant>,
}

/// Of one message size.
#[derive(Clone, Copy)]
struct Far {
    /// Of goodput, in far cells over near ones.
    goodput: Slope,
    /// By how much far cells were slower in arithmetic, too: that part of their slowness is in the slope of
    /// goodput already.
    slowness: f64,
    /// The number of earlier runs that told it, too.
    earlier_runs: u32,
}

/// What goes along with slowness or distance.
struct Trend {
    /// Of goodput, without what it has because of far cells.
    goodput: Slope,
    /// The slowness or distance of the rated cells that count.
    mean: f64,
    /// The number of earlier runs that told it.
    earlier_runs: u32,
}

/// What goes along with the latency of near processors, without what goes along with slowness.
struct Distant {
    trend: Trend,
    /// By how much distance rises with slowness: that part is in the slope on slowness already.
    with_slowness: f64,
}

/// What a cell was exposed to, or cells on average. The parts do not correlate within rows, so their errors add.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Exposure {
    /// The share of far cells: 0 to 1.
    far: f64,
    /// Slowness as a logarithm, without what far cells of its size have.
    slow: f64,
    /// Distance as a logarithm, without what goes along with slowness.
    distant: f64,
}

impl Exposure {
    /// The mean of several cells; none where there are no cells.
    pub(super) fn mean(cells: impl ExactSizeIterator<Item = Self>) -> Self {
        let count = cells.len().max(1) as f64;
        cells.sum::<Self>() * count.recip()
    }
}

impl Add for Exposure {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            far: self.far + other.far,
            slow: self.slow + other.slow,
            distant: self.distant + other.distant,
        }
    }
}

impl Sum for Exposure {
    fn sum<I: Iterator<Item = Self>>(exposures: I) -> Self {
        exposures.fold(Self::default(), Add::add)
    }
}

impl Mul<f64> for Exposure {
    type Output = Self;

    fn mul(self, weight: f64) -> Self {
        Self { far: self.far * weight, slow: self.slow * weight, distant: self.distant * weight }
    }
}

impl ProcessorCosts {
    /// By the cells of a run, and what earlier runs tell; cells of other than rated rows do not count.
    pub(super) fn of(cells: &[PlacedReading], known: &EarlierRuns) -> Self {
        let Conditions { reference, sizes } = Conditions::of(cells, known);
        let mut far: BTreeMap<Bytes, Far> = Far::of_sizes(&sizes).collect();
        for cost in &known.costs.far {
            let earlier = Far::earlier(cost);
            let both = far.get(&cost.message).map_or(earlier, |own| own.and(earlier));
            far.insert(cost.message, both);
        }
        far.retain(|_, far| counts(&far.goodput, LEAST_FAR_WEIGHT));
        let slow = if reference.is_usual {
            known.costs.slow.and_then(|known| {
                Trend::told(known.goodput, known.runs, mean_of(&sizes, |cell| cell.slowness)?)
            })
        } else {
            reference.arithmetic.and_then(|_| Trend::of_slowness(&sizes, &far))
        };
        let distant = known.costs.distant.and_then(|known| {
            let mean = mean_of(&sizes, |cell| cell.distance)?;
            let trend = Trend::told(known.goodput, known.runs, mean)?;
            let with_slowness = slow.as_ref().map_or(0.0, |_| known.with_slowness);
            Some(Distant { trend, with_slowness })
        });
        Self { reference, far, slow, distant }
    }

    /// What a cell was exposed to, of what is known to cost something.
    pub(super) fn exposure(&self, cell: &PlacedReading) -> Exposure {
        let Some(size) = size(cell.reading.row) else { return Exposure::default() };
        let far = self.far.get(&size).filter(|_| self.reference.is_far(cell.processors));
        let slowness = self
            .slow
            .as_ref()
            .map_or(0.0, |_| self.reference.slowness(cell) - far.map_or(0.0, |far| far.slowness));
        let distance = self.distant.as_ref().map_or(0.0, |distant| {
            self.reference.distance(cell) - distant.with_slowness * slowness
        });
        Exposure { far: f64::from(u8::from(far.is_some())), slow: slowness, distant: distance }
    }

    /// What a cell's speed is divided by because of its exposure; 1 under the conditions of reference.
    pub(super) fn factor(&self, row: Row, exposure: Exposure) -> f64 {
        let far = size(row).and_then(|size| self.far.get(&size)).map(|far| far.goodput);
        let slow = self.slow.as_ref().map(|slow| slow.goodput);
        let distant = self.distant.as_ref().map(|distant| distant.trend.goodput);
        let Exposure { far: share, slow: slowness, distant: distance } = exposure;
        [(far, share), (slow, slowness), (distant, distance)]
            .into_iter()
            .map(|(slope, exposure)| slope.map_or(0.0, |slope| slope.logarithm() * exposure))
            .sum::<f64>()
            .exp()
    }

    /// The errors of the slopes in a weighted sum over rows: each row with its weight times its mean
    /// exposure.
    pub(super) fn errors(
        &self,
        rows: impl Iterator<Item = (Row, Exposure)>,
    ) -> Vec<(f64, LogSample)> {
        let (mut far, mut sum): (BTreeMap<Bytes, f64>, Exposure) = Default::default();
        for (row, exposure) in rows {
            if let Some(size) = size(row) {
                *far.entry(size).or_default() += exposure.far;
                sum = sum + exposure;
            }
        }
        let far = far
            .into_iter()
            .filter_map(|(size, weight)| Some((weight, self.far.get(&size)?.goodput.error())));
        let slow = self.slow.as_ref().map(|of| (sum.slow, of.goodput.error()));
        let distant = self.distant.as_ref().map(|of| (sum.distant, of.trend.goodput.error()));
        far.chain(slow).chain(distant).filter(|(weight, _)| *weight != 0.0).collect()
    }

    /// The speed of far cells over that of near ones, by message size.
    pub(super) fn far_costs(&self) -> Vec<FarCost> {
        self.far.iter().filter_map(|(message, far)| self.far_cost(*message, far)).collect()
    }

    fn far_cost(&self, message: Bytes, far: &Far) -> Option<FarCost> {
        let slower = self.slow.as_ref().map(|slow| (-far.slowness, slow.goodput.sample()));
        let terms: Vec<_> = [(1.0, far.goodput.sample())].into_iter().chain(slower).collect();
        let ratio = contrast(&terms, LEVEL)?;
        Some(FarCost { message, ratio, earlier_runs: far.earlier_runs })
    }

    /// The speed of cells as quick as the mean one over that of reference.
    pub(super) fn slow_cost(&self) -> Option<SlowCost> {
        let slow = self.slow.as_ref()?;
        let usual_ns = self.reference.is_usual.then_some(self.reference.arithmetic?.nanoseconds());
        Some(SlowCost {
            arithmetic_ratio: slow.mean.exp(),
            usual_ns,
            ratio: slow.ratio()?,
            earlier_runs: slow.earlier_runs,
        })
    }

    /// The speed of cells at the mean distance over that of reference.
    pub(super) fn distance_cost(&self) -> Option<DistanceCost> {
        let distant = &self.distant.as_ref()?.trend;
        Some(DistanceCost {
            latency_ratio: distant.mean.exp(),
            usual_ns: self.reference.core_to_core?.nanoseconds(),
            ratio: distant.ratio()?,
            earlier_runs: distant.earlier_runs,
        })
    }

    /// The costs with their errors, for a comparison; each row has a mean exposure.
    pub(super) fn taken_out(&self, rows: &BTreeMap<Row, Exposure>) -> Vec<TakenOut> {
        let far = |(&message, far): (&Bytes, &Far)| {
            let is_own = |(row, _): &(&Row, &Exposure)| size(**row) == Some(message);
            let exposure = rows.iter().filter(is_own).map(|(row, of)| (*row, of.far)).collect();
            let cost = TakenCost::Far(self.far_cost(message, far)?);
            Some(TakenOut { cost, error: far.goodput.error(), exposure })
        };
        let slow = || {
            let exposure = rows.iter().map(|(row, of)| (*row, of.slow)).collect();
            let cost = TakenCost::Slow(self.slow_cost()?);
            Some(TakenOut { cost, error: self.slow.as_ref()?.goodput.error(), exposure })
        };
        let distant = || {
            let exposure = rows.iter().map(|(row, of)| (*row, of.distant)).collect();
            let cost = TakenCost::Distance(self.distance_cost()?);
            Some(TakenOut { cost, error: self.distant.as_ref()?.trend.goodput.error(), exposure })
        };
        self.far.iter().filter_map(far).chain(slow()).chain(distant()).collect()
    }
}

impl Far {
    /// What the far cells of each size tell.
    fn of_sizes(sizes: &Sizes) -> impl Iterator<Item = (Bytes, Self)> + '_ {
        sizes.iter().filter_map(|(size, cells)| Some((*size, Self::of(cells)?)))
    }

    /// `None` if cells of this size cannot tell it.
    fn of(cells: &[Known]) -> Option<Self> {
        let slowness = slope_within(cells, |cell| (cell.far, cell.slowness));
        Some(Self {
            goodput: slope_within(cells, |cell| (cell.far, cell.goodput))?,
            slowness: slowness.map_or(0.0, |slope| slope.logarithm()),
            earlier_runs: 0,
        })
    }

    fn earlier(cost: &KnownFarCost) -> Self {
        let KnownFarCost { goodput, slowness, runs, .. } = *cost;
        Self { goodput, slowness, earlier_runs: runs }
    }

    /// What both tell, by their weights.
    fn and(self, other: Self) -> Self {
        let slowness = [(self.goodput, self.slowness), (other.goodput, other.slowness)];
        Self {
            goodput: self.goodput.and(other.goodput),
            slowness: weighted_mean(slowness),
            earlier_runs: self.earlier_runs + other.earlier_runs,
        }
    }
}

impl Trend {
    /// Of slowness, by the cells, where nothing usual is known.
    fn of_slowness(sizes: &Sizes, far: &BTreeMap<Bytes, Far>) -> Option<Self> {
        let cells = without_far(sizes, far);
        let goodput = slope_within(&cells, |cell| (cell.slowness, cell.goodput))
            .filter(|slope| counts(slope, LEAST_SLOW_WEIGHT))?;
        Some(Self { goodput, mean: mean_of(sizes, |cell| cell.slowness)?, earlier_runs: 0 })
    }

    /// As so many earlier runs tell it; `None` for a slope that no values can have.
    fn told(goodput: Slope, runs: u32, mean: f64) -> Option<Self> {
        counts(&goodput, 0.0).then_some(Self { goodput, mean, earlier_runs: runs })
    }

    /// The goodput of the mean cell over that of reference.
    fn ratio(&self) -> Option<Estimate> {
        contrast(&[(self.mean, self.goodput.sample())], LEVEL)
    }
}

/// The cells without what far ones lose.
fn without_far(sizes: &Sizes, far: &BTreeMap<Bytes, Far>) -> Vec<Known> {
    let of_cell = |size: &Bytes, cell: &Known| {
        let [lost, slowness] = far.get(size).map_or([0.0; 2], |far| {
            [far.goodput.logarithm(), far.slowness].map(|of| of * cell.far)
        });
        Known { slowness: cell.slowness - slowness, goodput: cell.goodput - lost, ..*cell }
    };
    sizes
        .iter()
        .flat_map(|(size, cells)| cells.iter().map(move |cell| of_cell(size, cell)))
        .collect()
}

fn mean_of(sizes: &Sizes, of: impl Fn(&Known) -> f64) -> Option<f64> {
    arithmetic_mean(&sizes.values().flatten().map(of).collect::<Vec<_>>())
}

/// Of what goes along with slopes, by their weights.
fn weighted_mean(of: impl IntoIterator<Item = (Slope, f64)>) -> f64 {
    let (sum, weights) = of.into_iter().fold((0.0, 0.0), |(sum, weights), (slope, value)| {
        (sum + slope.weight() * value, weights + slope.weight())
    });
    sum / weights
}

fn counts(slope: &Slope, least_weight: f64) -> bool {
    slope.weight() >= least_weight && slope.logarithm().exp().is_normal()
}

/// With a mean of its own for each row.
fn slope_within(cells: &[Known], of: impl Fn(&Known) -> (f64, f64)) -> Option<Slope> {
    Slope::within(&by_row(cells, of).into_values().collect::<Vec<_>>())
}

fn by_row(cells: &[Known], of: impl Fn(&Known) -> (f64, f64)) -> BTreeMap<Row, Vec<(f64, f64)>> {
    let mut rows: BTreeMap<Row, Vec<(f64, f64)>> = BTreeMap::new();
    for cell in cells {
        rows.entry(cell.row).or_default().push(of(cell));
    }
    rows
}

/// The message size of a rated row.
fn size(row: Row) -> Option<Bytes> {
    match row {
        Row::Network { component, message, .. } if component.is_rated() => Some(message),
        Row::Network { .. } | Row::Host { .. } => None,
    }
}
