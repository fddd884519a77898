//! How far values lie apart, and how evenly something is shared.

use crate::arithmetic_mean;
use crate::interval::{Estimate, Interval, Level, student_quantile};

/// The unbiased sample variance by Welford's recurrence, which does not cancel; `None` below two
/// values.
pub fn sample_variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let (mut mean, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let step = value - mean;
        mean += step / (index + 1) as f64;
        squares += step * (value - mean);
    }
    Some(squares / (values.len() - 1) as f64)
}

/// The root of [`sample_variance`].
pub fn sample_deviation(values: &[f64]) -> Option<f64> {
    sample_variance(values).map(f64::sqrt)
}

/// The middle value, or the mean of the two middle ones; `None` when there is nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The arithmetic mean with Student's interval; the interval is absent for a single value.
pub fn mean_interval(values: &[f64], level: Level) -> Option<Estimate> {
    let value = crate::arithmetic_mean(values)?;
    let interval = standard_error(values).and_then(|(error, degrees)| {
        Some(Interval::around(value, student_quantile(level, degrees)? * error))
    });
    Some(Estimate { value, interval })
}

/// Standard error of the mean and its degrees of freedom; `None` below two values.
pub(crate) fn standard_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    sample_variance(values).map(|variance| ((variance / count).sqrt(), count - 1.0))
}

/// Jain's fairness index, (sum x)² / (n sum x²): 1 when all got as much, 1/n when one got all.
/// `None` when all shares are zero, or a share is not finite.
///
/// Source: Jain, Chiu and Hawe, "A quantitative measure of fairness", 1984.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0 && squares.is_finite()).then(|| sum * sum / (shares.len() as f64 * squares))
}

// Values that differ much from their neighbours. They are flagged and never removed.

/// Flag a value with a modified z score above this (Iglewicz & Hoaglin, 1993).
const OUTLIER_THRESHOLD: f64 = 3.5;

/// With fewer values than this nothing is flagged: of three values the middle two are often close
/// by chance.
const OUTLIER_MINIMUM: usize = 5;

/// The modified z score of each value: 0.6745 (x − median) / MAD.
///
/// When more than half of the values are equal the median absolute deviation is zero; the mean
/// absolute deviation takes its place, as (x − median) / (1.2533 × mean deviation) (Iglewicz &
/// Hoaglin). When all are equal every score is zero.
fn modified_z(values: &[f64]) -> Vec<f64> {
    let Some(middle) = median(values) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let by_median = median(&distances).unwrap_or(0.0) / 0.6745;
    let by_mean = arithmetic_mean(&distances).unwrap_or(0.0) * 1.253_314;
    let scale = if by_median > 0.0 { by_median } else { by_mean };
    values.iter().map(|value| if scale > 0.0 { (value - middle) / scale } else { 0.0 }).collect()
}

/// Indices and scores of the values to flag.
pub fn outliers(values: &[f64]) -> Vec<(usize, f64)> {
    if values.len() < OUTLIER_MINIMUM {
        return Vec::new();
    }
    modified_z(values)
        .into_iter()
        .enumerate()
        .filter(|(_, score)| score.abs() > OUTLIER_THRESHOLD)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::coverage;
    use proptest::prelude::*;
    use rand_distr::{Distribution, Normal};

    #[test]
    fn variance_of_one_two_four_eight() {
        assert!((sample_variance(&[1.0, 2.0, 4.0, 8.0]).unwrap() - 9.583_333_333).abs() < 1e-8);
        assert_eq!(sample_variance(&[1.0]), None);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn the_interval_of_a_mean_covers_as_it_says() {
        let normal = Normal::new(100.0, 15.0).unwrap();
        coverage("mean of 5 normal values", 0x0051, |random| {
            let values: Vec<f64> = normal.sample_iter(random).take(5).collect();
            mean_interval(&values, Level::P95).unwrap().interval.unwrap().contains(100.0)
        });
    }

    proptest! {
        #[test]
        fn variance_does_not_care_for_an_offset(values in prop::collection::vec(0.0f64..10.0, 2..40)) {
            let moved: Vec<f64> = values.iter().map(|value| value + 1e6).collect();
            let (near, far) = (sample_variance(&values).unwrap(), sample_variance(&moved).unwrap());
            prop_assert!((near - far).abs() < 1e-6 * (1.0 + near));
        }

        #[test]
        fn half_lies_on_each_side_of_the_median(values in prop::collection::vec(-1e9f64..1e9, 1..50)) {
            let middle = median(&values).unwrap();
            let below = values.iter().filter(|value| **value < middle).count();
            let above = values.iter().filter(|value| **value > middle).count();
            prop_assert!(below * 2 <= values.len() && above * 2 <= values.len());
        }
    }

    #[test]
    fn fairness_is_one_when_all_get_as_much_and_one_nth_when_one_gets_all() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 8.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_far_one_is_flagged() {
        // Median 10.05, absolute deviations' median 0.15: (22 − 10.05) × 0.6745 / 0.15.
        let found = outliers(&[10.0, 10.1, 9.9, 10.2, 9.8, 22.0]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 5);
        assert!((found[0].1 - 53.735).abs() < 0.01, "{}", found[0].1);
    }

    #[test]
    fn equal_values_have_a_zero_deviation_and_still_work() {
        assert_eq!(outliers(&[5.0; 8]), Vec::new());
        let found = outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]);
        assert_eq!(found.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn few_values_accuse_nobody() {
        assert_eq!(outliers(&[10.0, 10.01, 20.0]), Vec::new());
        assert_eq!(modified_z(&[]), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn scores_do_not_care_for_the_unit(values in prop::collection::vec(1.0f64..1e3, 1..30)) {
            let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
            for (a, b) in modified_z(&values).into_iter().zip(modified_z(&scaled)) {
                prop_assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()));
            }
        }
    }
}
