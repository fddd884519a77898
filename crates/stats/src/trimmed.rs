//! The mean without its extremes.

use crate::arithmetic_mean;

/// The mean without the lowest and the highest value; `None` below three values or when one is not
/// finite.
///
/// Source: the CITI report (1989), which ran each copy several times and dropped both extremes.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    if values.len() < 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    arithmetic_mean(&sorted[1..sorted.len() - 1])
}

/// (Largest - smallest) / mean: the CITI report saw at most 0.2 under saturation. A warning, not a
/// filter. `None` when there is nothing, or the mean is not positive.
pub fn relative_range(values: &[f64]) -> Option<f64> {
    let mean = arithmetic_mean(values).filter(|mean| *mean > 0.0)?;
    let (least, most) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(*value), most.max(*value))
        });
    Some((most - least) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_extremes_are_dropped() {
        assert_eq!(trimmed_mean(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(trimmed_mean(&[5.0, 5.0]), None);
        assert_eq!(trimmed_mean(&[5.0, 5.0, f64::NAN]), None);
    }

    #[test]
    fn the_range_is_relative_to_the_mean() {
        assert_eq!(relative_range(&[9.0, 10.0, 11.0]), Some(0.2));
        assert_eq!(relative_range(&[]), None);
        assert_eq!(relative_range(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn it_is_sum_less_extremes_over_n_less_two(values in prop::collection::vec(0.0f64..1e6, 3..40)) {
            let sum: f64 = values.iter().sum();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            let expected = (sum - least - most) / (values.len() - 2) as f64;
            prop_assert!((trimmed_mean(&values).unwrap() - expected).abs() < 1e-6);
        }
    }
}
