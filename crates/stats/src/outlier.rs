//! Values that differ much from their neighbours. They are flagged and never removed.

use crate::{arithmetic_mean, median};

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
    use proptest::prelude::*;

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
