//! Repetitions of one cell in the logarithmic domain, and everything that is a weighted sum of
//! their means.

use crate::interval::{Estimate, Interval, Level, student_quantile};
use crate::spread::sample_variance;

/// What remains of positive values for inference: how many, and mean and variance of their
/// logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogSample {
    count: usize,
    mean: f64,
    /// Unknown for a single value.
    variance: Option<f64>,
}

impl LogSample {
    /// Summarises `values`; `None` when there is nothing or a value is not positive and finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = crate::geometric_mean(values)?.ln();
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        Some(Self { count: values.len(), mean, variance: sample_variance(&logarithms) })
    }

    /// Degrees of freedom of the variance.
    const fn degrees(&self) -> f64 {
        (self.count - 1) as f64
    }
}

/// `exp` of the sum of weight times mean logarithm, with its interval.
///
/// With weights 1/C over C cells this is the geometric mean over cells that are fixed, not a sample
/// of cells: only the repetitions within a cell vary (variance sum w^2 s^2/n). With weights 1 and
/// -1 it is the ratio of two geometric means, and with 1/C and -1/C the mean ratio over C pairs.
/// Degrees of freedom by Welch (1947) and Satterthwaite (1946). A cell with one value borrows the
/// pooled variance of the others; when no cell was repeated there is no interval. `None` without
/// terms.
fn contrast(terms: &[(f64, LogSample)], level: Level) -> Option<Estimate> {
    if terms.is_empty() {
        return None;
    }
    let centre: f64 = terms.iter().map(|(weight, sample)| weight * sample.mean).sum();
    let interval =
        half_width(terms, level).map(|half| Interval::around(centre, half).map(f64::exp));
    Some(Estimate { value: centre.exp(), interval })
}

/// Half the interval in the logarithmic domain; `None` when nothing was repeated.
fn half_width(terms: &[(f64, LogSample)], level: Level) -> Option<f64> {
    let pool = Pool::of(terms)?;
    let (mut variance, mut curvature, mut borrowed) = (0.0, 0.0, 0.0);
    for (weight, sample) in terms {
        let share = weight * weight / sample.count as f64;
        match sample.variance {
            Some(own) => {
                variance += share * own;
                curvature += (share * own).powi(2) / sample.degrees();
            }
            // All borrowers lean on the same pooled variance: one term with the pool's degrees of
            // freedom.
            None => borrowed += share * pool.variance,
        }
    }
    variance += borrowed;
    curvature += borrowed.powi(2) / pool.degrees;
    let degrees = if curvature > 0.0 { variance.powi(2) / curvature } else { pool.degrees };
    student_quantile(level, degrees.max(1.0)).map(|quantile| quantile * variance.sqrt())
}

/// The common variance of all repeated cells.
struct Pool {
    variance: f64,
    degrees: f64,
}

impl Pool {
    /// `None` when no cell was repeated.
    fn of(terms: &[(f64, LogSample)]) -> Option<Self> {
        let repeated =
            || terms.iter().filter_map(|(_, sample)| Some((sample.degrees(), sample.variance?)));
        let degrees: f64 = repeated().map(|(degrees, _)| degrees).sum();
        let squares: f64 = repeated().map(|(degrees, variance)| degrees * variance).sum();
        (degrees > 0.0).then(|| Self { variance: squares / degrees, degrees })
    }
}

/// The geometric mean of positive `values` with its interval, Student's t on the logarithms.
pub fn geometric_interval(values: &[f64], level: Level) -> Option<Estimate> {
    contrast(&[(1.0, LogSample::of(values)?)], level)
}

/// The geometric mean over pairs of (numerator's geometric mean / denominator's), samples
/// independent.
pub fn mean_ratio(pairs: &[(LogSample, LogSample)], level: Level) -> Option<Estimate> {
    let weight = 1.0 / pairs.len() as f64;
    let terms: Vec<_> = pairs
        .iter()
        .flat_map(|&(numerator, denominator)| [(weight, numerator), (-weight, denominator)])
        .collect();
    contrast(&terms, level)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, LogNormal};
    use rand_pcg::Pcg64;

    /// Trials of a coverage test: the standard error of a true 95 % is 0.49 %, so 93..97 % is four
    /// of them.
    const TRIALS: u32 = 2000;

    /// Runs `covers` on fresh random numbers and demands that a 95 % interval covers in 93 to 97 of
    /// 100 trials.
    pub(crate) fn coverage(what: &str, seed: u64, mut covers: impl FnMut(&mut Pcg64) -> bool) {
        let share = covered(what, seed, &mut covers);
        assert!(
            (0.93..=0.97).contains(&share),
            "{what}: covered {share} of {TRIALS} trials, seed {seed:#x}"
        );
    }

    /// The share of trials in which `covers` holds.
    pub(crate) fn covered(
        what: &str,
        seed: u64,
        mut covers: impl FnMut(&mut Pcg64) -> bool,
    ) -> f64 {
        let mut random = Pcg64::seed_from_u64(seed);
        let hits = (0..TRIALS).filter(|_| covers(&mut random)).count();
        let share = hits as f64 / f64::from(TRIALS);
        println!("{what}: seed {seed:#x}, {hits} of {TRIALS} covered ({share:.4})");
        share
    }

    /// `count` values around the geometric mean `centre` with relative spread `spread`.
    pub(crate) fn log_normal(
        random: &mut Pcg64,
        centre: f64,
        spread: f64,
        count: usize,
    ) -> Vec<f64> {
        LogNormal::new(f64::ln(centre), spread).unwrap().sample_iter(random).take(count).collect()
    }

    fn draw(random: &mut Pcg64, centre: f64, spread: f64, count: usize) -> LogSample {
        LogSample::of(&log_normal(random, centre, spread, count)).unwrap()
    }

    #[test]
    fn the_interval_of_a_geometric_mean_covers_as_it_says() {
        for (count, seed) in [(3, 0x0061), (5, 0x0062), (20, 0x0063)] {
            coverage(&format!("geometric mean of {count}"), seed, |random| {
                let values = log_normal(random, 250.0, 0.3, count);
                geometric_interval(&values, Level::P95).unwrap().interval.unwrap().contains(250.0)
            });
        }
    }

    #[test]
    fn the_interval_of_a_ratio_covers_as_it_says() {
        coverage("ratio, unequal counts and spreads", 0x0071, |random| {
            let pair = (draw(random, 300.0, 0.25, 8), draw(random, 100.0, 0.05, 5));
            mean_ratio(&[pair], Level::P95).unwrap().interval.unwrap().contains(3.0)
        });
    }

    #[test]
    fn the_interval_over_fixed_cells_covers_as_it_says() {
        let centres = [10.0, 100.0, 1000.0, 5.0, 50.0, 500.0];
        let truth = crate::geometric_mean(&centres).unwrap();
        coverage("geometric mean over 6 cells x 3", 0x0081, |random| {
            let cells: Vec<_> =
                centres.iter().map(|&centre| (1.0 / 6.0, draw(random, centre, 0.1, 3))).collect();
            contrast(&cells, Level::P95).unwrap().interval.unwrap().contains(truth)
        });
    }

    #[test]
    fn cells_without_repetition_borrow_a_variance() {
        let truth = crate::geometric_mean(&[10.0, 100.0, 1000.0, 40.0]).unwrap();
        coverage("4 cells, two of them once", 0x0091, |random| {
            let cells = [(10.0, 5), (100.0, 1), (1000.0, 5), (40.0, 1)];
            let cells = cells.map(|(centre, count)| (0.25, draw(random, centre, 0.2, count)));
            contrast(&cells, Level::P95).unwrap().interval.unwrap().contains(truth)
        });
    }

    #[test]
    fn nothing_repeated_means_no_interval() {
        let once = LogSample::of(&[5.0]).unwrap();
        let estimate = contrast(&[(0.5, once), (0.5, once)], Level::P95).unwrap();
        assert!((estimate.value - 5.0).abs() < 1e-12);
        assert_eq!(estimate.interval, None);
        assert_eq!(contrast(&[], Level::P95), None);
        assert_eq!(mean_ratio(&[], Level::P95), None);
        assert_eq!(LogSample::of(&[1.0, 0.0]), None);
    }

    #[test]
    fn identical_repetitions_give_a_point() {
        let interval = geometric_interval(&[7.0, 7.0, 7.0], Level::P95).unwrap().interval.unwrap();
        assert!(interval.width() < 1e-12 && (interval.low - 7.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_ratio_turned_round_is_the_reciprocal(a in prop::collection::vec(1.0f64..1e3, 2..9),
                                                  b in prop::collection::vec(1.0f64..1e3, 2..9)) {
            let (a, b) = (LogSample::of(&a).unwrap(), LogSample::of(&b).unwrap());
            let forth = mean_ratio(&[(a, b)], Level::P95).unwrap();
            let back = mean_ratio(&[(b, a)], Level::P95).unwrap();
            prop_assert!((forth.value * back.value - 1.0).abs() < 1e-9);
            prop_assert!((forth.interval.unwrap().low * back.interval.unwrap().high - 1.0).abs() < 1e-9);
        }
    }
}
