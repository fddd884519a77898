//! Finds the place where a series has settled.

/// Values in each batch mean: what White and Spratt recommend.
const BATCH: usize = 5;

/// How many of the first values belong to the warm-up, a multiple of 5: without them the mean of
/// the rest has the smallest error. `None` when the series is shorter than 20 values, or when its
/// best cut lies in its second half: then it has not settled, and must be made longer.
///
/// Source: MSER-5 (White 1997; White, Cobb and Spratt 2000): over batch means of 5, the cut d that
/// minimises variance(d..n) / (n - d).
pub fn warm_up(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> =
        values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < 4 {
        return None;
    }
    // From the end backwards, so that each cut costs one step of Welford's recurrence. The last
    // batches by themselves always look steady, so a cut leaves at least a tenth, and two.
    let fewest = (batches.len() / 10).max(2);
    let mut rest = crate::Welford::default();
    let mut best = (f64::INFINITY, 0);
    for (cut, &batch) in batches.iter().enumerate().rev() {
        rest.push(batch);
        let count = (batches.len() - cut) as f64;
        if batches.len() - cut < fewest {
            continue;
        }
        let error = rest.variance()? * (count - 1.0) / (count * count);
        // On a tie the earlier cut: it keeps more.
        if error <= best.0 {
            best = (error, cut);
        }
    }
    (best.1 <= batches.len() / 2).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        Normal::new(0.0, 1.0).unwrap().sample_iter(Pcg64::seed_from_u64(seed)).take(count).collect()
    }

    #[test]
    fn a_slow_start_is_cut_off() {
        let series: Vec<f64> = (0u32..)
            .zip(noise(500, 0x0161))
            .map(|(n, noise)| 100.0 - 40.0 * (-f64::from(n) / 20.0).exp() + noise)
            .collect();
        let cut = warm_up(&series).unwrap();
        // After 60 values what is left of the start is 2 units, after 100 a quarter of one.
        assert!((50..=150).contains(&cut), "{cut}");
    }

    #[test]
    fn a_steady_series_keeps_nearly_all() {
        let cuts: Vec<usize> =
            (0..20).map(|seed| warm_up(&noise(400, seed)).unwrap_or(400)).collect();
        let small = cuts.iter().filter(|&&cut| cut <= 100).count();
        assert!(small >= 15, "{cuts:?}");
        assert_eq!(warm_up(&[5.0; 40]), Some(0));
    }

    #[test]
    fn a_drift_to_the_end_has_not_settled() {
        let series: Vec<f64> =
            (0u32..).zip(noise(300, 0x0171)).map(|(n, noise)| f64::from(n) + noise).collect();
        assert_eq!(warm_up(&series), None);
        assert_eq!(warm_up(&[1.0; 19]), None);
    }

    proptest! {
        #[test]
        fn a_cut_is_a_multiple_of_five_in_the_first_half(values in prop::collection::vec(0.0f64..1.0, 0..200)) {
            if let Some(cut) = warm_up(&values) {
                prop_assert!(cut % 5 == 0 && cut <= values.len() / 2);
            }
        }
    }
}
