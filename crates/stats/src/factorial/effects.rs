//! What each factor and each interaction does to a value, and how much of the values' variance it
//! makes.

use serde::Serialize;

use super::share::{self, Departures};
use super::{Factorial, Set, combinations, factors_of};
use crate::interval::{Estimate, Level};
use crate::spread::mean_interval;
use crate::{Bootstrap, arithmetic_mean};

/// The values of an experiment, divided between its factors. Everything is in the unit of the
/// values; give logarithms where effects multiply, and shares are those of the variance of the
/// logarithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effects {
    /// The mean of all values; its interval is Student's over the blocks.
    pub mean: Estimate,
    /// Mean square distance of the runs' means over the blocks from the mean of all.
    pub variance: f64,
    /// Factors first, then their interactions, as far as the design can tell them apart.
    pub terms: Vec<Term>,
    /// Share of the variance that no listed term makes: interactions of more factors.
    pub rest: f64,
    /// Variance of one value around the sum of its run's and its block's effects; `None` for a
    /// single block.
    pub error_variance: Option<f64>,
}

/// What one factor, or several together, do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// Indices of the factors: one for a factor's own effect, several for what they do beyond their
    /// own effects.
    pub factors: Vec<usize>,
    /// What the design cannot tell from this term.
    pub aliases: Vec<Vec<usize>>,
    /// How far each combination of these factors' levels lies from what fewer of them explain.
    pub effects: Vec<Effect>,
    /// Share of the variance, between 0 and 1. The interval holds the true share at the level of
    /// the analysis; it is absent for a single block.
    pub share: Estimate,
}

/// The effect of one combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Index of the level of each factor of the term.
    pub levels: Vec<usize>,
    /// The effect; its interval is Student's over the blocks.
    pub value: Estimate,
}

impl Term {
    /// High minus low of a factor with two levels; half the difference of such differences for an
    /// interaction of two (Box, Hunter and Hunter 2005, section 5.6). `None` where a factor has
    /// more levels.
    pub fn contrast(&self) -> Option<Estimate> {
        let highest = self.effects.last()?;
        let two_levels = highest.levels.iter().all(|&level| level == 1);
        two_levels.then(|| highest.value.scaled(2.0))
    }
}

impl Effects {
    /// The term of exactly these factors, in ascending order.
    pub fn term(&self, factors: &[usize]) -> Option<&Term> {
        self.terms.iter().find(|term| term.factors == factors)
    }

    /// Share of the variance that the scatter of single values would make by itself: a share of all
    /// terms together is significant only above it. `None` for a single block.
    pub fn noise(&self, blocks: usize) -> Option<f64> {
        Some(self.error_variance? / blocks as f64 / self.variance).filter(|noise| noise.is_finite())
    }
}

impl Factorial {
    /// Divides the values of complete blocks, each with one value for every run, between the terms
    /// of up to `order` factors. Block means are no part of the variance: machines may drift from
    /// block to block. Intervals are those of `bootstrap`'s level and seed; see [`Term::share`].
    /// `None` without blocks, with a block of another length, with a value that is not finite, or
    /// where all runs have the same mean.
    pub fn effects(
        &self,
        blocks: &[Vec<f64>],
        order: usize,
        bootstrap: &Bootstrap,
    ) -> Option<Effects> {
        let complete = |block: &Vec<f64>| {
            block.len() == self.runs.len() && block.iter().all(|value| value.is_finite())
        };
        if blocks.is_empty() || !blocks.iter().all(complete) {
            return None;
        }
        let block_means: Vec<f64> =
            blocks.iter().filter_map(|block| arithmetic_mean(block)).collect();
        let run_means: Vec<f64> = (0..self.runs.len()).map(|run| mean_of(blocks, run)).collect();
        let mean = mean_interval(&block_means, bootstrap.level)?;
        let variance = mean_square(run_means.iter().map(|run| run - mean.value));
        if variance <= 0.0 {
            return None;
        }
        let departures: Vec<Departures> = self
            .terms(order)
            .into_iter()
            .map(|term| Departures { term, of_blocks: self.departures(term, blocks) })
            .collect();
        let listed: f64 = departures.iter().map(Departures::variance).sum();
        let rest = (variance - listed).max(0.0);
        let shares = share::shares(&departures, rest, bootstrap);
        let terms = departures
            .iter()
            .zip(shares)
            .map(|(departures, share)| self.term(departures, share, bootstrap.level));
        Some(Effects {
            mean,
            variance,
            terms: terms.collect(),
            rest: rest / variance,
            error_variance: error_variance(blocks, &run_means, &block_means, mean.value),
        })
    }

    fn term(&self, departures: &Departures, share: Estimate, level: Level) -> Term {
        let factors = factors_of(departures.term);
        let combinations = self.combinations_of(departures.term).into_iter();
        let effects =
            combinations.zip(departures.by_combination()).filter_map(|(levels, values)| {
                Some(Effect { levels, value: mean_interval(&values, level)? })
            });
        Term { aliases: self.aliases(&factors), effects: effects.collect(), factors, share }
    }

    fn combinations_of(&self, term: Set) -> Vec<Vec<usize>> {
        combinations(
            &factors_of(term).into_iter().map(|factor| self.levels[factor]).collect::<Vec<_>>(),
        )
    }

    /// For each block, how far each combination of the term's levels lies from what its subsets
    /// explain.
    fn departures(&self, term: Set, blocks: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let factors = factors_of(term);
        let weights: Vec<Vec<f64>> = self
            .combinations_of(term)
            .iter()
            .map(|levels| self.weights(&factors, levels))
            .collect();
        let of = |block: &Vec<f64>, weights: &Vec<f64>| {
            block.iter().zip(weights).map(|(value, weight)| value * weight).sum()
        };
        blocks
            .iter()
            .map(|block| weights.iter().map(|weights| of(block, weights)).collect())
            .collect()
    }

    /// What each run's value counts for in the departure of one combination: the mean of the runs
    /// that have these levels, minus the means of those that have all but one of them, plus all but
    /// two, and so on.
    fn weights(&self, factors: &[usize], levels: &[usize]) -> Vec<f64> {
        let mut weights = vec![0.0; self.runs.len()];
        for subset in 0..1u32 << factors.len() {
            let fixed = |n: &usize| subset >> n & 1 == 1;
            let has_them = |run: &Vec<usize>| {
                (0..factors.len()).filter(fixed).all(|n| run[factors[n]] == levels[n])
            };
            let count = self.runs.iter().filter(|run| has_them(run)).count() as f64;
            let sign = if (factors.len() as u32 - subset.count_ones()).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            };
            for (weight, _) in weights.iter_mut().zip(&self.runs).filter(|(_, run)| has_them(run)) {
                *weight += sign / count;
            }
        }
        weights
    }
}

fn mean_of(blocks: &[Vec<f64>], run: usize) -> f64 {
    blocks.iter().map(|block| block[run]).sum::<f64>() / blocks.len() as f64
}

fn mean_square(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.map(|value| value * value).sum::<f64>() / count
}

/// Residual mean square of runs and blocks that add up (Jain 1991, section 18.4, with blocks taken
/// out).
fn error_variance(
    blocks: &[Vec<f64>],
    run_means: &[f64],
    block_means: &[f64],
    mean: f64,
) -> Option<f64> {
    let degrees = (blocks.len() - 1) * (run_means.len() - 1);
    let rows = blocks.iter().zip(block_means);
    let residuals = rows.flat_map(|(block, block_mean)| {
        block
            .iter()
            .zip(run_means)
            .map(move |(value, run_mean)| value - run_mean - block_mean + mean)
    });
    (degrees > 0)
        .then(|| residuals.map(|residual| residual * residual).sum::<f64>() / degrees as f64)
}
