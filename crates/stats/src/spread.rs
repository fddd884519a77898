//! How far values lie apart.

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
}
