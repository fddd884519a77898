//! The shares of factors in a value.

use btu_stats::{Bootstrap, Effects, Estimate, Factorial, Level, mean_interval};
use serde::Serialize;

use super::plan::{RunCell, RunPlan};
use super::value::Value;
use super::verdict::blocks_of;
use btu_contract::experiment::Measured;

/// Resamples of the shares' intervals.
const RESAMPLES: u32 = 2000;

/// The largest number of factors in a reported interaction.
const ORDER: usize = 2;

/// The effects of a run's factors on a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorEffects {
    /// Shares of the variance of the logarithm: of each factor and each interaction of two.
    pub effects: Effects,
    /// The number of complete blocks, which are in it.
    pub blocks: usize,
    /// For each factor the geometric mean over all rows that have one of its levels, with its
    /// interval (95 %).
    pub levels: Vec<Vec<Option<Estimate>>>,
    /// The two factors with the largest interaction.
    pub pair: Option<FactorPair>,
    /// What the rows cannot tell apart, where they are a fraction of the combinations.
    pub fraction: Option<Fraction>,
}

/// A fraction of all combinations of levels, and what it gives up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fraction {
    /// The number of all combinations.
    pub combinations: usize,
    /// The fewest factors of an interaction that cannot be told from the mean (Box, Hunter and
    /// Hunter, 2005, chapter 6).
    pub resolution: u32,
    /// For each reported effect those with the fewest factors that it cannot be told from.
    pub aliases: Vec<Alias>,
}

/// An effect, and others that the same rows show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alias {
    /// The reported effect: its factors, by their places in the plan.
    pub factors: Vec<usize>,
    /// The other effects, by their factors.
    pub of: Vec<Vec<usize>>,
}

/// The means over two factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorPair {
    /// The two factors, by their places in the plan.
    pub factors: [usize; 2],
    /// The geometric mean over all rows that have a level of the first and one of the second.
    pub means: Vec<Vec<Option<Estimate>>>,
}

impl RunPlan {
    /// The design of its rows; `None` without factors, and if the rows form no design.
    fn design(&self) -> Option<Factorial> {
        let counts: Vec<usize> = self.factors.iter().map(|factor| factor.levels.len()).collect();
        let design = design(&counts, self.resolution)?;
        let runs = folded(&design);
        let is_so = runs.len() == self.rows.len()
            && runs.iter().zip(&self.rows).all(|(run, row)| *run == row.levels);
        is_so.then_some(design)
    }
}

/// The design of factors with so many levels: every combination, or a fraction of this resolution.
pub(super) fn design(counts: &[usize], resolution: Option<u32>) -> Option<Factorial> {
    match resolution {
        Some(resolution) if counts.iter().all(|count| *count == 2) => {
            Factorial::of_resolution(counts.len(), resolution)
        }
        Some(_) => None,
        None => Factorial::full(counts),
    }
}

/// The runs of a design, the baseline first: where a fraction leaves it out, low and high of some
/// factors change places, which changes no share.
pub(super) fn folded(design: &Factorial) -> Vec<Vec<usize>> {
    let first = design.runs().first().cloned().unwrap_or_default();
    let fold = |run: &Vec<usize>| {
        run.iter()
            .zip(&first)
            .map(|(level, first)| if *first == 0 { *level } else { 1 - *level })
            .collect()
    };
    design.runs().iter().map(fold).collect()
}

/// The effects of the factors on a value; `None` if no block is complete, or a value is not
/// positive.
pub(super) fn effects(
    plan: &RunPlan,
    value: &Value,
    cells: &[Measured<RunCell>],
) -> Option<FactorEffects> {
    let design = plan.design()?;
    let rows: Vec<Vec<(u32, f64)>> =
        plan.rows.iter().map(|row| blocks_of(value, row, cells)).collect();
    let complete = |block: u32| -> Option<Vec<f64>> {
        let of_row = |row: &Vec<(u32, f64)>| {
            row.iter()
                .find(|(own, value)| *own == block && *value > 0.0)
                .map(|(_, value)| value.ln())
        };
        rows.iter().map(of_row).collect()
    };
    let blocks: Vec<Vec<f64>> = (0..plan.frame.blocks).filter_map(complete).collect();
    let bootstrap = Bootstrap { resamples: RESAMPLES, ..Bootstrap::new(plan.frame.seed) };
    let effects = design.effects(&blocks, ORDER, &bootstrap)?;
    let mean = |has: &dyn Fn(&[usize]) -> bool| mean_of(plan, &blocks, has);
    let of_factor = |factor: usize| {
        let levels = 0..plan.factors[factor].levels.len();
        levels.map(|level| mean(&|levels: &[usize]| levels.get(factor) == Some(&level))).collect()
    };
    let levels = (0..plan.factors.len()).map(of_factor).collect();
    let pair = largest_pair(&effects).map(|[one, other]| {
        let of_cell = |first: usize, second: usize| {
            mean(&|levels: &[usize]| {
                levels.get(one) == Some(&first) && levels.get(other) == Some(&second)
            })
        };
        let line = |first| {
            (0..plan.factors[other].levels.len()).map(|second| of_cell(first, second)).collect()
        };
        let means = (0..plan.factors[one].levels.len()).map(line).collect();
        FactorPair { factors: [one, other], means }
    });
    let fraction = fraction(&design, &effects);
    Some(FactorEffects { effects, blocks: blocks.len(), levels, pair, fraction })
}

/// What a design gives up; `None` if it has every combination.
fn fraction(design: &Factorial, effects: &Effects) -> Option<Fraction> {
    let resolution = design.resolution()?;
    let alias = |factors: &Vec<usize>| {
        let mut of = design.aliases(factors);
        let least = of.first().map_or(0, Vec::len);
        of.retain(|other| other.len() == least);
        Alias { factors: factors.clone(), of }
    };
    Some(Fraction {
        combinations: design.levels().iter().product(),
        resolution,
        aliases: effects.terms.iter().map(|term| alias(&term.factors)).collect(),
    })
}

/// The two factors with the largest share of interaction.
fn largest_pair(effects: &Effects) -> Option<[usize; 2]> {
    let pairs = effects.terms.iter().filter(|term| term.factors.len() == 2);
    let largest = pairs.max_by(|a, b| a.share.value.total_cmp(&b.share.value))?;
    <[usize; 2]>::try_from(largest.factors.clone()).ok()
}

/// The geometric mean over the rows with these levels, with its interval over the blocks.
fn mean_of(
    plan: &RunPlan,
    blocks: &[Vec<f64>],
    has: &dyn Fn(&[usize]) -> bool,
) -> Option<Estimate> {
    let of_block = |block: &Vec<f64>| {
        let own: Vec<f64> = plan
            .rows
            .iter()
            .zip(block)
            .filter(|(row, _)| has(&row.levels))
            .map(|(_, value)| *value)
            .collect();
        btu_stats::arithmetic_mean(&own)
    };
    let means: Vec<f64> = blocks.iter().filter_map(of_block).collect();
    let estimate = mean_interval(&means, Level::P95)?;
    let interval = estimate.interval.map(|ends| ends.map(f64::exp));
    Some(Estimate { value: estimate.value.exp(), interval })
}
