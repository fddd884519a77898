//! Intervals of shares of variance, by a bootstrap over blocks.
//!
//! Every block is a whole experiment with effects of its own. Their scatter shows how well their
//! mean is known. To draw three blocks from three with replacement has ten outcomes, and holds the
//! truth in three cases of four instead of in 95 of 100. Here a draw gives each block a normal
//! weight (the multiplier bootstrap: van der Vaart and Wellner, "Weak Convergence and Empirical
//! Processes", 1996, section 2.9) and divides by a chi deviate with one degree of freedom less than
//! there are blocks, so that for a single effect the interval is Student's.
//!
//! A share is the square of a length: that of the term's effects, where all effects together have
//! length one. Drawn effects lie at some distance from the found ones. The interval of the length
//! is the found one plus and minus the distance that 95 of 100 draws keep below (the lengths of two
//! vectors differ by no more than they lie apart), so it reaches 0 when a term may have no effect.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use statrs::distribution::{ContinuousCDF, Normal};

use super::Set;
use crate::interval::{Estimate, Interval};
use crate::{Bootstrap, arithmetic_mean, quantile};

/// How far the combinations of a term's levels lie from what fewer factors explain.
pub(super) struct Departures {
    pub(super) term: Set,
    /// Block by block, combination by combination.
    pub(super) of_blocks: Vec<Vec<f64>>,
}

impl Departures {
    /// The mean over the blocks, combination by combination.
    fn means(&self) -> Vec<f64> {
        self.by_combination().iter().filter_map(|values| arithmetic_mean(values)).collect()
    }

    /// The values of all blocks, combination by combination.
    pub(super) fn by_combination(&self) -> Vec<Vec<f64>> {
        let combinations = self.of_blocks.first().map_or(0, Vec::len);
        (0..combinations)
            .map(|index| self.of_blocks.iter().map(|block| block[index]).collect())
            .collect()
    }

    /// The part of the variance between runs that this term makes: combinations are equally
    /// frequent.
    pub(super) fn variance(&self) -> f64 {
        square(&self.means()) / self.of_blocks.first().map_or(1, Vec::len) as f64
    }
}

/// The share of each term in the sum of all and of `rest`.
pub(super) fn shares(terms: &[Departures], rest: f64, bootstrap: &Bootstrap) -> Vec<Estimate> {
    let found: Vec<Vec<f64>> = terms.iter().map(scaled_means).collect();
    let blocks = terms.first().map_or(0, |term| term.of_blocks.len());
    let lengths = fractions(&found, rest);
    let distances = if blocks < 2 { Vec::new() } else { distances(terms, &found, rest, bootstrap) };
    let interval = |term: usize, length: f64| {
        let ends = Interval::around(length, *distances.get(term)?);
        Some(Interval { low: ends.low.max(0.0).powi(2), high: ends.high.min(1.0).powi(2) })
    };
    let lengths = lengths.iter().map(|fraction| square(fraction).sqrt()).enumerate();
    lengths
        .map(|(term, length)| Estimate { value: length.powi(2), interval: interval(term, length) })
        .collect()
}

/// Departures with squares that add up to the term's variance.
fn scaled_means(term: &Departures) -> Vec<f64> {
    let means = term.means();
    let scale = (means.len() as f64).sqrt();
    means.into_iter().map(|mean| mean / scale).collect()
}

/// Each term's departures as parts of the root of the whole variance.
fn fractions(terms: &[Vec<f64>], rest: f64) -> Vec<Vec<f64>> {
    let whole = (terms.iter().map(|term| square(term)).sum::<f64>() + rest).sqrt();
    terms.iter().map(|term| term.iter().map(|value| value / whole).collect()).collect()
}

/// For each term the distance from the found fractions that a draw stays within at the bootstrap's
/// level.
fn distances(
    terms: &[Departures],
    found: &[Vec<f64>],
    rest: f64,
    bootstrap: &Bootstrap,
) -> Vec<f64> {
    let deviations: Vec<Vec<Vec<f64>>> = terms.iter().map(deviations).collect();
    let at = fractions(found, rest);
    let mut random = Pcg64::seed_from_u64(bootstrap.seed);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); terms.len()];
    for _ in 0..bootstrap.resamples.max(1) {
        let weights = weights(&mut random, deviations[0].len());
        let moved: Vec<Vec<f64>> = found
            .iter()
            .zip(&deviations)
            .map(|(found, apart)| shifted(found, apart, &weights))
            .collect();
        for ((distances, moved), found) in drawn.iter_mut().zip(fractions(&moved, rest)).zip(&at) {
            distances
                .push(moved.iter().zip(found).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt());
        }
    }
    let level = bootstrap.level;
    drawn
        .into_iter()
        .filter_map(|distances| Some(quantile(&distances, level.share(), level)?.value))
        .collect()
}

/// How far each block's departures lie from their mean, scaled as [`scaled_means`].
fn deviations(term: &Departures) -> Vec<Vec<f64>> {
    let means = term.means();
    let scale = (means.len() as f64).sqrt();
    let apart = |block: &Vec<f64>| {
        block.iter().zip(&means).map(|(value, mean)| (value - mean) / scale).collect()
    };
    term.of_blocks.iter().map(apart).collect()
}

/// The weight of each block in one draw: with these the weighted sum of deviations is distributed
/// as the mean's error, by Student's law.
fn weights(random: &mut Pcg64, blocks: usize) -> Vec<f64> {
    let degrees = (blocks - 1) as f64;
    let chi_square: f64 = (1..blocks).map(|_| normal(random).powi(2)).sum();
    let scale = (degrees / chi_square).sqrt() / (blocks as f64 * degrees).sqrt();
    (0..blocks).map(|_| normal(random) * scale).collect()
}

fn normal(random: &mut Pcg64) -> f64 {
    // Never 0 or 1, because their quantiles are infinite.
    Normal::standard().inverse_cdf((f64::from(random.random::<u32>()) + 0.5) / 2f64.powi(32))
}

fn shifted(found: &[f64], deviations: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut moved = found.to_vec();
    for (block, weight) in deviations.iter().zip(weights) {
        moved.iter_mut().zip(block).for_each(|(value, apart)| *value += weight * apart);
    }
    moved
}

fn square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}
