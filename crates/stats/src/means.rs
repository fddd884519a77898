//! The three Pythagorean means.
//!
//! Which one is honest depends on what is averaged (Fleming & Wallace, CACM 1986; Smith, CACM
//! 1988): times add up, so the arithmetic mean; rates over the same work, the harmonic; ratios and
//! things that differ by orders of magnitude, the geometric. Results therefore show all three, and
//! which one is the headline.

use serde::{Deserialize, Serialize};

/// Sum over count; `None` when there is nothing or a value is not finite.
pub fn arithmetic_mean(values: &[f64]) -> Option<f64> {
    let usable = !values.is_empty() && values.iter().all(|value| value.is_finite());
    usable.then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The n-th root of the product, by logarithms; `None` when there is nothing or a value is not
/// positive and finite.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = positive(values)?.iter().map(|value| value.ln()).collect();
    arithmetic_mean(&logarithms).map(f64::exp)
}

/// Count over the sum of reciprocals; `None` when there is nothing or a value is not positive and
/// finite.
fn harmonic_mean(values: &[f64]) -> Option<f64> {
    let reciprocals: Vec<f64> = positive(values)?.iter().map(|value| value.recip()).collect();
    arithmetic_mean(&reciprocals).map(f64::recip)
}

/// `values`, if each is positive and finite.
fn positive(values: &[f64]) -> Option<&[f64]> {
    values.iter().all(|value| *value > 0.0 && value.is_finite()).then_some(values)
}

/// All three means of the same values; always `arithmetic >= geometric >= harmonic`, up to
/// rounding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// The arithmetic mean of the values, as [`arithmetic_mean`] computes it.
    pub arithmetic: f64,
    /// The geometric mean of the values, as [`geometric_mean`] computes it.
    pub geometric: f64,
    /// The harmonic mean of the values: their count over the sum of their reciprocals.
    pub harmonic: f64,
}

impl Means {
    /// The means of `values`; `None` when there is nothing or a value is not positive and finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            arithmetic: arithmetic_mean(values)?,
            geometric: geometric_mean(values)?,
            harmonic: harmonic_mean(values)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_two_four() {
        let means = Means::of(&[1.0, 2.0, 4.0]).unwrap();
        assert!((means.arithmetic - 7.0 / 3.0).abs() < 1e-12);
        assert!((means.geometric - 2.0).abs() < 1e-12);
        assert!((means.harmonic - 12.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_zero_have_no_geometric_mean() {
        assert_eq!(Means::of(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(harmonic_mean(&[1.0, -1.0]), None);
        assert_eq!(arithmetic_mean(&[1.0, f64::NAN]), None);
        assert_eq!(geometric_mean(&[1.0, f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn the_means_are_ordered(values in prop::collection::vec(1e-6f64..1e12, 1..60)) {
            let means = Means::of(&values).unwrap();
            let rounding = 1.0 + 1e-12;
            prop_assert!(means.arithmetic * rounding >= means.geometric);
            prop_assert!(means.geometric * rounding >= means.harmonic);
        }

        #[test]
        fn each_mean_lies_between_the_extremes(values in prop::collection::vec(1e-6f64..1e12, 1..60)) {
            let means = Means::of(&values).unwrap();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - 1e-9);
            let high = values.iter().copied().fold(0.0, f64::max) * (1.0 + 1e-9);
            for mean in [means.arithmetic, means.geometric, means.harmonic] {
                prop_assert!(low <= mean && mean <= high, "{mean} outside {low}..{high}");
            }
        }

        #[test]
        fn the_geometric_mean_does_not_care_for_the_unit(values in prop::collection::vec(1e-3f64..1e6, 1..30)) {
            let mega: Vec<f64> = values.iter().map(|value| value * 1e6).collect();
            let (plain, scaled) = (geometric_mean(&values).unwrap(), geometric_mean(&mega).unwrap());
            prop_assert!((scaled / plain / 1e6 - 1.0).abs() < 1e-9);
        }
    }
}
