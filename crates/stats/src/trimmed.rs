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

/// The mean without the highest tenth of the values, at least one: for times in some of which a
/// machine did something else, which only adds. `None` below two values or when one is not finite.
///
/// It estimates the mean of the lower nine tenths of the distribution: of n values that are spread
/// evenly over a range, of which k are left out, k / (2 (n + 1)) of the range below the mean; of many
/// normal ones, 0.195 standard deviations.
pub fn mean_without_highest_tenth(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.truncate(sorted.len() - sorted.len().div_ceil(10));
    arithmetic_mean(&sorted)
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
    use rand::{RngExt, SeedableRng};
    use rand_distr::Distribution;
    use rand_pcg::Pcg64;

    #[test]
    fn both_extremes_are_dropped() {
        assert_eq!(trimmed_mean(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(trimmed_mean(&[5.0, 5.0]), None);
        assert_eq!(trimmed_mean(&[5.0, 5.0, f64::NAN]), None);
    }

    #[test]
    fn the_highest_tenth_is_dropped() {
        let one_to = |last: u32| (1..=last).map(f64::from).collect::<Vec<_>>();
        assert_eq!(mean_without_highest_tenth(&[9.0, 1.0, 2.0]), Some(1.5));
        assert_eq!(mean_without_highest_tenth(&one_to(10)), Some(5.0), "one of ten");
        assert_eq!(mean_without_highest_tenth(&one_to(11)), Some(5.0), "two of eleven");
        assert_eq!(mean_without_highest_tenth(&[5.0]), None);
        assert_eq!(mean_without_highest_tenth(&[5.0, 5.0, f64::NAN]), None);
    }

    /// The mean of many estimates from `count` values each, and its standard error.
    fn simulated(seed: u64, count: usize, mut value: impl FnMut(&mut Pcg64) -> f64) -> [f64; 2] {
        println!("seed {seed:#x}");
        let mut random = Pcg64::seed_from_u64(seed);
        let mut estimates = crate::Welford::default();
        for _ in 0..400_000 / count {
            let values: Vec<f64> = (0..count).map(|_| value(&mut random)).collect();
            estimates.push(mean_without_highest_tenth(&values).unwrap());
        }
        let deviation = estimates.deviation().unwrap();
        [estimates.mean().unwrap(), deviation / (estimates.count() as f64).sqrt()]
    }

    /// The order statistics of n values between 0 and 1 have the means i / (n + 1). Of a normal
    /// distribution below its quantile of 0.9, z = 1.28155, the mean is -phi(z) / 0.9 = -0.19500.
    #[test]
    fn its_bias_is_as_documented() {
        for (seed, count, left_out) in [(0x7a1, 3, 1.0), (0x7a2, 20, 2.0), (0x7a3, 55, 6.0)] {
            let [mean, error] = simulated(seed, count, |random| random.random_range(0.0..1.0));
            let bias = -left_out / (2.0 * (count as f64 + 1.0));
            assert!((mean - 0.5 - bias).abs() < 4.0 * error, "{count}: {mean}, bias {bias}");
        }
        let normal = |random: &mut Pcg64| rand_distr::StandardNormal.sample(random);
        let [mean, error] = simulated(0x7a4, 1000, normal);
        // Of finite n, the bias is smaller by about 1 / n.
        assert!((mean + 0.195).abs() < 4.0 * error + 1e-3, "{mean}");
    }

    /// Twenty round trips of 1 ms +- 0.05, one in twenty 5 ms longer: the plain mean is 0.25 ms too
    /// large.
    #[test]
    fn what_disturbs_one_value_in_twenty_counts_little() {
        let disturbed = |random: &mut Pcg64| {
            let normal: f64 = rand_distr::StandardNormal.sample(random);
            1.0 + 0.05 * normal + if random.random_bool(0.05) { 5.0 } else { 0.0 }
        };
        let [mean, _] = simulated(0x7a5, 20, disturbed);
        // More than two of twenty are disturbed in 7.5 % of the samples.
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
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
