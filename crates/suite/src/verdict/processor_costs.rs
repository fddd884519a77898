//! What far and slow processors cost the rated rows, taken out of them.
//!
//! A hypervisor that moves the processors of the two sides apart makes cells slower, large messages most; others that
//! work on the same cores make all cells slower. Runs have different shares of such cells, so their ratings would differ
//! by what the hypervisor did. Cells of the same rows under different conditions show what it cost: one slope for far cells
//! of each message size, and one on the slowness of arithmetic for all rows, by least squares. What earlier
//! runs found counts, too. Goodput is divided by the cost, and its error is part of each interval. No
//! cell is left out.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, Mul};

use btu_stats::{LogSample, Slope, arithmetic_mean, contrast};
use btu_units::{Bytes, Span};

pub use self::earlier::{KnownCosts, KnownFarCost, KnownProcessors, KnownSlowCost};
use super::LEVEL;
use super::warning::{FarCost, SlowCost};
use crate::cell::Row;
use crate::compare::{Reading, TakenCost, TakenOut};
use crate::record::{Apart, ProcessorReadings, Slowed};

mod earlier;

/// A size's slope counts from this weight on (see [`Slope::weight`]), as from eight near and eight far cells
/// of one row: below, its error is larger than what most cells lose.
const LEAST_FAR_WEIGHT: f64 = 4.0;

/// The slope on slowness counts from this weight on, as from eight quick cells and eight whose arithmetic took twice
/// as long, which is what another busy thread on each core does.
const LEAST_SLOW_WEIGHT: f64 = 1.9;

/// The speed of a valid cell, and what was read of the processors around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedReading {
    /// The speed.
    pub reading: Reading,
    /// Where and how quick the processors were.
    pub processors: ProcessorReadings,
}

/// Which cells are far or slow, and what it cost.
pub(super) struct ProcessorCosts {
    apart: Apart,
    far: BTreeMap<Bytes, Far>,
    slow: Option<Slow>,
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

struct Slow {
    slowed: Slowed,
    /// Of goodput on slowness, both without what they have because of far cells.
    goodput: Slope,
    /// Of the rated cells that count.
    mean_slowness: f64,
    /// The number of earlier runs that told it, too.
    earlier_runs: u32,
}

/// What a cell was exposed to, or cells on average. The two parts do not correlate within rows, so their errors add.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Exposure {
    /// The share of far cells: 0 to 1.
    far: f64,
    /// Slowness as a logarithm, without what far cells of its size have.
    slow: f64,
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
        Self { far: self.far + other.far, slow: self.slow + other.slow }
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
        Self { far: self.far * weight, slow: self.slow * weight }
    }
}

/// A cell whose conditions are known.
#[derive(Clone, Copy)]
struct Known {
    row: Row,
    far: f64,
    /// 0 where arithmetic was not timed in every such cell.
    slowness: f64,
    /// The logarithm of the goodput.
    goodput: f64,
}

/// The conditions of the cells of a run.
struct Conditions {
    apart: Apart,
    slowed: Option<Slowed>,
    /// The rated cells that count, by message size.
    sizes: BTreeMap<Bytes, Vec<Known>>,
}

impl Conditions {
    /// By the cells of a run, and the near latency of earlier runs; cells of other than rated rows do
    /// not count.
    fn of(cells: &[PlacedReading], near: Option<Span>) -> Self {
        let rated = || {
            cells.iter().filter_map(|cell| {
                Some((cell, size(cell.reading.row)?, cell.processors.core_to_core?))
            })
        };
        let apart = Apart::of(rated().map(|(.., latency)| latency)).knowing(near);
        let slowed = Slowed::of(rated().map(|(cell, ..)| cell.processors.arithmetic));
        let mut sizes: BTreeMap<Bytes, Vec<Known>> = BTreeMap::new();
        for (cell, size, latency) in rated().filter(|(cell, ..)| cell.reading.counts()) {
            let known = Known {
                row: cell.reading.row,
                far: f64::from(u8::from(apart.is_far(latency))),
                slowness: slowed
                    .zip(cell.processors.arithmetic)
                    .map_or(0.0, |(slowed, time)| slowed.slowness(time)),
                goodput: cell.reading.per_second.ln(),
            };
            sizes.entry(size).or_default().push(known);
        }
        Self { apart, slowed, sizes }
    }

    /// What the far cells of each size tell.
    fn far(&self) -> impl Iterator<Item = (Bytes, Far)> + '_ {
        self.sizes.iter().filter_map(|(size, cells)| Some((*size, Far::of(cells)?)))
    }

    /// What the slow cells tell, without what far ones lose.
    fn slow(&self, mut far: BTreeMap<Bytes, Far>) -> Option<Slope> {
        far.retain(|_, far| counts(&far.goodput, LEAST_FAR_WEIGHT));
        self.slowed.and_then(|_| slow_slope(&self.sizes, &far))
    }
}

impl ProcessorCosts {
    /// By the cells of a run, and what earlier runs tell; cells of other than rated rows do not count.
    pub(super) fn of(cells: &[PlacedReading], known: &KnownProcessors) -> Self {
        let conditions = Conditions::of(cells, known.near);
        let mut far: BTreeMap<Bytes, Far> = conditions.far().collect();
        for cost in &known.costs.far {
            let earlier = Far::earlier(cost);
            let both = far.get(&cost.message).map_or(earlier, |own| own.and(earlier));
            far.insert(cost.message, both);
        }
        far.retain(|_, far| counts(&far.goodput, LEAST_FAR_WEIGHT));
        let Conditions { apart, slowed, sizes } = conditions;
        let slow = slowed.and_then(|slowed| Slow::of(slowed, &sizes, &far, known.costs.slow));
        Self { apart, far, slow }
    }

    /// What a cell was exposed to, of what is known to cost something.
    pub(super) fn exposure(&self, row: Row, processors: ProcessorReadings) -> Exposure {
        let Some(size) = size(row) else { return Exposure::default() };
        let of_size = self.far.get(&size);
        let is_far = processors.core_to_core.is_some_and(|latency| self.apart.is_far(latency));
        let far = of_size.filter(|_| is_far);
        let slowness = self.slow.as_ref().zip(processors.arithmetic).map_or(0.0, |(slow, time)| {
            slow.slowed.slowness(time) - far.map_or(0.0, |far| far.slowness)
        });
        Exposure { far: f64::from(u8::from(far.is_some())), slow: slowness }
    }

    /// What a cell's speed is divided by because of its exposure; 1 for near and quick ones.
    pub(super) fn factor(&self, row: Row, exposure: Exposure) -> f64 {
        let far = size(row).and_then(|size| self.far.get(&size));
        let far = far.map_or(0.0, |far| far.goodput.logarithm() * exposure.far);
        let slow = self.slow.as_ref().map_or(0.0, |slow| slow.goodput.logarithm() * exposure.slow);
        (far + slow).exp()
    }

    /// The errors of the slopes in a weighted sum over rows: each row with its weight times its mean
    /// exposure.
    pub(super) fn errors(
        &self,
        rows: impl Iterator<Item = (Row, Exposure)>,
    ) -> Vec<(f64, LogSample)> {
        let (mut far, mut slow): (BTreeMap<Bytes, f64>, f64) = (BTreeMap::new(), 0.0);
        for (row, exposure) in rows {
            if let Some(size) = size(row) {
                *far.entry(size).or_default() += exposure.far;
                slow += exposure.slow;
            }
        }
        let far = far
            .into_iter()
            .filter_map(|(size, weight)| Some((weight, self.far.get(&size)?.goodput.error())));
        let slow = self.slow.as_ref().map(|of| (slow, of.goodput.error()));
        far.chain(slow).filter(|(weight, _)| *weight != 0.0).collect()
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

    /// The speed of cells as quick as the mean one over that of the quickest.
    pub(super) fn slow_cost(&self) -> Option<SlowCost> {
        let Slow { goodput, mean_slowness, earlier_runs, .. } = *self.slow.as_ref()?;
        let ratio = contrast(&[(mean_slowness, goodput.sample())], LEVEL)?;
        Some(SlowCost { arithmetic_ratio: mean_slowness.exp(), ratio, earlier_runs })
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
        self.far.iter().filter_map(far).chain(slow()).collect()
    }
}

impl Far {
    /// `None` if cells of this size cannot tell it.
    fn of(cells: &[Known]) -> Option<Self> {
        let goodput = by_row(cells.iter().map(|cell| (cell.row, (cell.far, cell.goodput))));
        let slowness = by_row(cells.iter().map(|cell| (cell.row, (cell.far, cell.slowness))));
        Some(Self {
            goodput: Slope::within(&goodput)?,
            slowness: Slope::within(&slowness).map_or(0.0, |slope| slope.logarithm()),
            earlier_runs: 0,
        })
    }

    fn earlier(cost: &KnownFarCost) -> Self {
        let KnownFarCost { goodput, slowness, runs, .. } = *cost;
        Self { goodput, slowness, earlier_runs: runs }
    }

    /// What both tell, by their weights.
    fn and(self, other: Self) -> Self {
        let [weight, more] = [self, other].map(|far| far.goodput.weight());
        Self {
            goodput: self.goodput.and(other.goodput),
            slowness: (self.slowness * weight + other.slowness * more) / (weight + more),
            earlier_runs: self.earlier_runs + other.earlier_runs,
        }
    }
}

impl Slow {
    /// `None` if neither the cells nor earlier runs can tell it.
    fn of(
        slowed: Slowed,
        sizes: &BTreeMap<Bytes, Vec<Known>>,
        far: &BTreeMap<Bytes, Far>,
        known: Option<KnownSlowCost>,
    ) -> Option<Self> {
        let earlier = known.map(|cost| cost.goodput);
        let both = slow_slope(sizes, far).into_iter().chain(earlier).reduce(Slope::and);
        let goodput = both.filter(|slope| counts(slope, LEAST_SLOW_WEIGHT))?;
        let slowness: Vec<f64> = sizes.values().flatten().map(|cell| cell.slowness).collect();
        let mean_slowness = arithmetic_mean(&slowness)?;
        let earlier_runs = known.map_or(0, |cost| cost.runs);
        Some(Self { slowed, goodput, mean_slowness, earlier_runs })
    }
}

/// Of goodput on slowness, both without what far cells lose.
fn slow_slope(sizes: &BTreeMap<Bytes, Vec<Known>>, far: &BTreeMap<Bytes, Far>) -> Option<Slope> {
    let without_far = |size: &Bytes, cell: &Known| {
        let [lost, slowness] = far.get(size).map_or([0.0; 2], |far| {
            [far.goodput.logarithm(), far.slowness].map(|of| of * cell.far)
        });
        (cell.row, (cell.slowness - slowness, cell.goodput - lost))
    };
    let cells = sizes.iter().flat_map(|(size, cells)| cells.iter().map(move |cell| (size, cell)));
    Slope::within(&by_row(cells.map(|(size, cell)| without_far(size, cell))))
}

fn counts(slope: &Slope, least_weight: f64) -> bool {
    slope.weight() >= least_weight && slope.logarithm().exp().is_normal()
}

fn by_row(cells: impl Iterator<Item = (Row, (f64, f64))>) -> Vec<Vec<(f64, f64)>> {
    let mut rows: BTreeMap<Row, Vec<(f64, f64)>> = BTreeMap::new();
    for (row, of_cell) in cells {
        rows.entry(row).or_default().push(of_cell);
    }
    rows.into_values().collect()
}

/// The message size of a rated row.
fn size(row: Row) -> Option<Bytes> {
    match row {
        Row::Network { component, message, .. } if component.is_rated() => Some(message),
        Row::Network { .. } | Row::Host { .. } => None,
    }
}
