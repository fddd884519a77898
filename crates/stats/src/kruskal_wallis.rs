//! Tests whether several samples differ in location, without assuming a distribution.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KruskalWallis {
    /// How far the samples' mean ranks lie apart, corrected for ties.
    pub h: f64,
    /// Probability of as large an `h` when all samples come from one distribution.
    pub p_value: f64,
}

/// The test of Kruskal and Wallis; `None` for fewer than two samples, an empty one, a value that is
/// not a number, or when all values are equal.
///
/// Source: Kruskal and Wallis, "Use of ranks in one-criterion variance analysis", 1952. The p value
/// is that of chi-squared with one degree of freedom less than there are samples: good from about
/// five values in each on.
pub fn kruskal_wallis(samples: &[Vec<f64>]) -> Option<KruskalWallis> {
    let broken = |sample: &Vec<f64>| sample.is_empty() || sample.iter().any(|value| value.is_nan());
    if samples.len() < 2 || samples.iter().any(broken) {
        return None;
    }
    let numbered = samples.iter().enumerate();
    let mut all: Vec<(f64, usize)> = numbered
        .flat_map(|(sample, values)| values.iter().map(move |&value| (value, sample)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sums, mut ties, mut below) = (vec![0.0; samples.len()], 0.0, 0);
    for equal in all.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        // Equal values share the mean of their ranks, which count from 1.
        let rank = below as f64 + f64::midpoint(1.0, equal.len() as f64);
        for &(_, sample) in equal {
            sums[sample] += rank;
        }
        ties += (equal.len() as f64).powi(3) - equal.len() as f64;
        below += equal.len();
    }
    let count = all.len() as f64;
    let squares: f64 =
        sums.iter().zip(samples).map(|(sum, sample)| sum * sum / sample.len() as f64).sum();
    let correction = 1.0 - ties / (count.powi(3) - count);
    if correction <= 0.0 {
        return None;
    }
    let h = (12.0 / (count * (count + 1.0)) * squares - 3.0 * (count + 1.0)) / correction;
    let p_value = ChiSquared::new(samples.len() as f64 - 1.0).ok()?.sf(h.max(0.0));
    Some(KruskalWallis { h, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    /// Three samples one above the other: rank sums 6, 15, 24, so h = 12 / 90 x 279 - 30 = 7.2 and
    /// p = e^-3.6.
    #[test]
    fn samples_one_above_the_other() {
        let found =
            kruskal_wallis(&[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0], vec![7.0, 8.0, 9.0]])
                .unwrap();
        assert!((found.h - 7.2).abs() < 1e-9, "{found:?}");
        assert!((found.p_value - (-3.6f64).exp()).abs() < 1e-9, "{found:?}");
    }

    /// Ranks 1, 3, 3 and 3, 5, 6 by hand: sums 7 and 14, uncorrected 12 / 42 x 81.6667 - 21 =
    /// 2.3333; one tie of three takes 24 / 210, so h = 2.6344.
    #[test]
    fn ties_are_corrected() {
        let found = kruskal_wallis(&[vec![1.0, 2.0, 2.0], vec![2.0, 3.0, 4.0]]).unwrap();
        assert!((found.h - 7.0 / 3.0 / (1.0 - 24.0 / 210.0)).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_cannot_be_tested_has_no_answer() {
        assert_eq!(kruskal_wallis(&[vec![1.0, 2.0]]), None);
        assert_eq!(kruskal_wallis(&[vec![1.0], vec![]]), None);
        assert_eq!(kruskal_wallis(&[vec![1.0], vec![f64::NAN]]), None);
        assert_eq!(kruskal_wallis(&[vec![2.0, 2.0], vec![2.0]]), None);
    }

    /// Of 2000 tests of ten equal samples, 5 % are below 0.05: 100, standard deviation below 10;
    /// five of them.
    #[test]
    fn equal_samples_are_rarely_told_apart() {
        let mut random = Pcg64::seed_from_u64(3);
        let mut below = 0;
        for _ in 0..2000 {
            let samples: Vec<Vec<f64>> =
                (0..10).map(|_| (0..20).map(|_| random.random()).collect()).collect();
            below += u32::from(kruskal_wallis(&samples).unwrap().p_value < 0.05);
        }
        assert!(below.abs_diff(100) < 50, "{below}");
    }

    proptest! {
        #[test]
        fn only_the_order_of_values_matters(
            samples in prop::collection::vec(prop::collection::vec(0.1f64..100.0, 1..9), 2..6),
        ) {
            let logarithms: Vec<Vec<f64>> =
                samples.iter().map(|sample| sample.iter().map(|value| value.ln()).collect()).collect();
            let (plain, changed) = (kruskal_wallis(&samples), kruskal_wallis(&logarithms));
            prop_assert_eq!(plain.is_some(), changed.is_some());
            if let (Some(plain), Some(changed)) = (plain, changed) {
                prop_assert!((plain.h - changed.h).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&plain.p_value));
            }
        }
    }
}
