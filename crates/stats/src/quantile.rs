//! Quantiles with intervals that assume nothing about the distribution.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::interval::{Estimate, Interval, Level};

/// The `share` quantile (0.5 is the median) with its interval by ranks; `None` without values, or
/// for a share outside 0 to 1, or when a value is not a number.
///
/// The value interpolates between the two neighbours (Hyndman and Fan 1996, type 7, as R and
/// `NumPy` do). The interval's ends are order statistics: how many of n values lie below the true
/// quantile is binomial whatever the distribution (David and Nagaraja, Order Statistics, 7.1;
/// Hoefler and Belli, SC'15, rule 5 for the median). It is absent when so few values cannot hold
/// it: below 6 for a median at 95 %.
pub fn quantile(values: &[f64], share: f64, level: Level) -> Option<Estimate> {
    if values.is_empty()
        || !(0.0..=1.0).contains(&share)
        || values.iter().any(|value| value.is_nan())
    {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    // Written so that two infinities, or a place that is whole, leave no not-a-number behind.
    let value = if place.fract() == 0.0 { below } else { below + (above - below) * place.fract() };
    let interval = ranks(sorted.len(), share, level)
        .map(|(low, high)| Interval { low: sorted[low - 1], high: sorted[high - 1] });
    Some(Estimate { value, interval })
}

/// Ranks, counted from 1, between which the `share` quantile lies with at least `level`; `None`
/// when `count` values are too few on either side.
fn ranks(count: usize, share: f64, level: Level) -> Option<(usize, usize)> {
    let tail = (1.0 - level.share()) / 2.0;
    let below = Binomial::new(share, count as u64).ok()?;
    // P(quantile < x_(low)) = P(fewer than low values below it) must be at most the tail.
    let low = (1..=count).take_while(|&rank| below.cdf(rank as u64 - 1) <= tail).last()?;
    // P(quantile > x_(high)) = P(at least high values below it).
    let high = (1..=count).find(|&rank| 1.0 - below.cdf(rank as u64 - 1) <= tail)?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::covered;
    use proptest::prelude::*;
    use rand_distr::{Distribution, Exp1};

    /// Ranks of the median's 95 % interval from a printed table (Conover, Practical Nonparametric
    /// Statistics, table A3 by way of Le Boudec, Performance Evaluation, table A.1).
    #[test]
    fn ranks_of_the_median_are_the_printed_ones() {
        for (count, expected) in
            [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (30, (10, 21)), (50, (18, 33))]
        {
            assert_eq!(ranks(count, 0.5, Level::P95), Some(expected), "{count}");
        }
        assert_eq!(ranks(5, 0.5, Level::P95), None, "five values cannot hold a median at 95 %");
    }

    #[test]
    fn quantiles_interpolate() {
        for (share, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (1.0, 4.0)] {
            let found = quantile(&[4.0, 1.0, 3.0, 2.0], share, Level::P95).unwrap().value;
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5, Level::P95), None);
        assert_eq!(quantile(&[1.0], 1.5, Level::P95), None);
        assert_eq!(quantile(&[f64::NAN], 0.5, Level::P95), None);
    }

    #[test]
    fn the_interval_by_ranks_covers_at_least_as_it_says() {
        for (share, truth) in [(0.5, 2f64.ln()), (0.9, 10f64.ln())] {
            let what = format!("quantile {share} of 60 exponential values");
            let found = covered(&what, 0x0101, |random| {
                let values: Vec<f64> = Exp1.sample_iter(random).take(60).collect();
                quantile(&values, share, Level::P95).unwrap().interval.unwrap().contains(truth)
            });
            // Ranks are whole, so it covers a little more than asked; 0.94 is two standard errors
            // below.
            assert!((0.94..=0.99).contains(&found), "{found}");
        }
    }

    /// A queue that grows and halves at random losses, as TCP's does, is asked at random moments: 250 in 5 s. They see
    /// the time as it was (Wolff, Operations Research 30, 1982), so the interval holds the median of that time, however
    /// long its memory. It does not hold that of another such time.
    #[test]
    fn random_moments_know_the_median_of_their_own_time_however_long_its_memory() {
        let mut elsewhere = 0;
        let found = covered("median of 5 s of a sawtooth", 0x0103, |random| {
            let mut path = || {
                let mut wait: f64 = 10.0;
                let step = |_| {
                    wait = if random.random_bool(0.0012) { wait / 2.0 } else { wait + 0.1 };
                    wait
                };
                let path: Vec<f64> = (0..2500).map(step).collect();
                let asked: Vec<f64> =
                    path.iter().copied().filter(|_| random.random_bool(0.1)).collect();
                (quantile(&path, 0.5, Level::P95).unwrap().value, asked)
            };
            let ((truth, asked), (other, _)) = (path(), path());
            let interval = quantile(&asked, 0.5, Level::P95).unwrap().interval.unwrap();
            elsewhere += u32::from(interval.contains(other));
            interval.contains(truth)
        });
        assert!((0.94..=0.99).contains(&found), "{found}");
        assert!(elsewhere < 1000, "{elsewhere} of 2000");
    }

    proptest! {
        #[test]
        fn a_quantile_lies_within_its_interval_and_the_sample(
            values in prop::collection::vec(-1e6f64..1e6, 1..80), share in 0.0f64..=1.0) {
            let estimate = quantile(&values, share, Level::P95).unwrap();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(low <= estimate.value && estimate.value <= high);
            if let Some(interval) = estimate.interval {
                prop_assert!(interval.contains(estimate.value));
            }
        }
    }
}
