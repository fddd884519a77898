//! Intervals by resampling, for statistics that have no formula.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::{Estimate, Interval, Level};

/// How the resampled statistics become an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Between their quantiles (Efron 1979).
    Percentile,
    /// Bias-corrected and accelerated (Efron 1987): the quantiles moved for bias and for a spread
    /// that depends on the value. Needs at least two values in some stratum that differ; falls back
    /// to the percentiles where they do not.
    Bca,
}

/// The settings of a bootstrap: method, confidence level, number of resamples and seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// How the interval is made.
    pub method: Method,
    /// The confidence level of the interval, strictly between 0 and 1.
    pub level: Level,
    /// Resamples; 10 000 make the ends of a 95 % interval good to about 1 % of its width.
    pub resamples: u32,
    /// Seed of the resampling, so that a report that is made again has equal numbers.
    pub seed: u64,
}

impl Bootstrap {
    /// `BCa` at 95 % with 10 000 resamples.
    pub const fn new(seed: u64) -> Self {
        Self { method: Method::Bca, level: Level::P95, resamples: 10_000, seed }
    }

    /// `statistic` of `values` and its interval; see [`Self::of_strata`].
    pub fn of(&self, values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
        self.of_strata(&[values.to_vec()], |strata| statistic(&strata[0]))
    }

    /// `statistic` of all strata and its interval. Each stratum is resampled by itself, to its own
    /// size: strata (cells) are fixed, their values (repetitions) vary. With few values in every
    /// stratum (below about ten) such an interval is too narrow, because it cannot see what was not
    /// drawn; use Student's there. `None` when there is nothing, a stratum is empty, or the
    /// statistic is not finite; the interval is absent when nothing was repeated.
    pub fn of_strata(
        &self,
        strata: &[Vec<f64>],
        statistic: impl Fn(&[Vec<f64>]) -> f64,
    ) -> Option<Estimate> {
        if strata.is_empty() || strata.iter().any(Vec::is_empty) {
            return None;
        }
        let value = Some(statistic(strata)).filter(|value| value.is_finite())?;
        if strata.iter().all(|stratum| stratum.len() == 1) {
            return Some(Estimate { value, interval: None });
        }
        let drawn = self.resample(strata, &statistic);
        let shift = match self.method {
            Method::Percentile => None,
            Method::Bca => Shift::of(value, &drawn, strata, &statistic),
        };
        let tail = (1.0 - self.level.share()) / 2.0;
        let end = |share: f64| at(&drawn, shift.as_ref().map_or(share, |shift| shift.apply(share)));
        Some(Estimate { value, interval: Some(Interval { low: end(tail), high: end(1.0 - tail) }) })
    }

    /// The statistic of each resample, ascending.
    fn resample(&self, strata: &[Vec<f64>], statistic: &impl Fn(&[Vec<f64>]) -> f64) -> Vec<f64> {
        let mut random = Pcg64::seed_from_u64(self.seed);
        let mut copy = strata.to_vec();
        let mut drawn: Vec<f64> = (0..self.resamples.max(1))
            .map(|_| {
                for (to, from) in copy.iter_mut().zip(strata) {
                    draw(&mut random, from, to);
                }
                statistic(&copy)
            })
            .collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }
}

fn draw(random: &mut impl Rng, from: &[f64], to: &mut [f64]) {
    for place in to {
        *place = from[random.random_range(0..from.len())];
    }
}

/// The value below which `share` of the ascending `drawn` lie.
fn at(drawn: &[f64], share: f64) -> f64 {
    let place = (share * drawn.len() as f64).floor() as usize;
    drawn[place.min(drawn.len() - 1)]
}

/// The two corrections of `BCa`.
struct Shift {
    bias: f64,
    acceleration: f64,
}

impl Shift {
    /// `None` when the statistic does not move: then there is nothing to correct.
    fn of(
        value: f64,
        drawn: &[f64],
        strata: &[Vec<f64>],
        statistic: &impl Fn(&[Vec<f64>]) -> f64,
    ) -> Option<Self> {
        // Half of those that equal the value count as below, or a statistic with few values would
        // look biased.
        let below = drawn.partition_point(|&other| other < value) as f64;
        let not_above = drawn.partition_point(|&other| other <= value) as f64;
        let share = f64::midpoint(below, not_above) / drawn.len() as f64;
        if share <= 0.0 || share >= 1.0 {
            return None;
        }
        let acceleration = acceleration(strata, statistic)?;
        Some(Self { bias: Normal::standard().inverse_cdf(share), acceleration })
    }

    /// Which share to look up instead of `share`.
    fn apply(&self, share: f64) -> f64 {
        let moved = self.bias + Normal::standard().inverse_cdf(share);
        Normal::standard().cdf(self.bias + moved / (1.0 - self.acceleration * moved))
    }
}

/// Skewness of the statistic's jackknife influence over six (Efron and Tibshirani 1993, chapter 14;
/// for several strata as in Davison and Hinkley 1997, 5.3.2: influences divided by their stratum's
/// size). `None` when it never moves.
fn acceleration(strata: &[Vec<f64>], statistic: &impl Fn(&[Vec<f64>]) -> f64) -> Option<f64> {
    let (mut squares, mut cubes) = (0.0, 0.0);
    let mut copy = strata.to_vec();
    for (place, stratum) in strata.iter().enumerate().filter(|(_, stratum)| stratum.len() > 1) {
        let without: Vec<f64> = (0..stratum.len())
            .map(|index| {
                copy[place] = stratum
                    .iter()
                    .enumerate()
                    .filter(|(n, _)| *n != index)
                    .map(|(_, value)| *value)
                    .collect();
                statistic(&copy)
            })
            .collect();
        copy[place].clone_from(stratum);
        let count = stratum.len() as f64;
        let mean = without.iter().sum::<f64>() / count;
        for value in without {
            let influence = (count - 1.0) * (mean - value) / count;
            squares += influence.powi(2);
            cubes += influence.powi(3);
        }
    }
    (squares > 0.0).then(|| cubes / (6.0 * squares.powf(1.5)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::covered;
    use proptest::prelude::*;
    use rand_distr::{Distribution, Exp1};

    /// Few resamples keep thousands of trials quick; the ends are then good to some per cent of the
    /// width.
    fn quick(method: Method, seed: u64) -> Bootstrap {
        Bootstrap { method, level: Level::P95, resamples: 400, seed }
    }

    #[test]
    fn the_mean_of_skewed_values_is_covered_nearly_as_stated() {
        // Efron and Tibshirani (1993), 14.3: percentiles fall short of skewed data, BCa less so. 40
        // values.
        let share = |method| {
            covered(&format!("{method:?}, mean of 40 exponential values"), 0x0121, |random| {
                let values: Vec<f64> = Exp1.sample_iter(&mut *random).take(40).collect();
                let bootstrap = quick(method, random.random());
                let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
                bootstrap.of(&values, mean).unwrap().interval.unwrap().contains(1.0)
            })
        };
        let (percentile, bca) = (share(Method::Percentile), share(Method::Bca));
        assert!((0.90..=0.96).contains(&percentile), "{percentile}");
        assert!((0.915..=0.965).contains(&bca), "{bca}");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values = [1.03, 5.14, 2.15, 9.92, 3.65, 3.58];
        let interval = |seed| quick(Method::Bca, seed).of(&values, |values| values.iter().sum());
        assert_eq!(interval(7), interval(7));
        assert_ne!(interval(7), interval(8));
    }

    #[test]
    fn what_cannot_be_resampled_has_no_interval() {
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        assert_eq!(Bootstrap::new(1).of(&[], sum), None);
        assert_eq!(
            Bootstrap::new(1).of(&[2.0], sum),
            Some(Estimate { value: 2.0, interval: None })
        );
        assert_eq!(Bootstrap::new(1).of(&[f64::NAN, 1.0], sum), None);
        let still = Bootstrap::new(1).of(&[3.0; 5], |values| values[0]).unwrap();
        assert_eq!(still.interval, Some(Interval { low: 3.0, high: 3.0 }));
    }

    proptest! {
        #[test]
        fn a_change_of_unit_changes_nothing_else(values in prop::collection::vec(0.1f64..100.0, 2..15)) {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let scaled: Vec<f64> = values.iter().map(|value| value * 8.0).collect();
            let plain = quick(Method::Bca, 5).of(&values, mean).unwrap().scaled(8.0);
            let found = quick(Method::Bca, 5).of(&scaled, mean).unwrap();
            prop_assert!((plain.value - found.value).abs() < 1e-9);
            let (plain, found) = (plain.interval.unwrap(), found.interval.unwrap());
            prop_assert!((plain.low - found.low).abs() < 1e-9 && (plain.high - found.high).abs() < 1e-9);
        }
    }
}
