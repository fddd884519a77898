//! Correction of many comparisons (Holm).

/// Holm's step-down adjustment: each p value made larger so that the chance of *any* false alarm
/// among all of them stays below the level they are compared with. The order is kept.
///
/// Source: Holm (1979), "A simple sequentially rejective multiple test procedure". Needs no
/// independence.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &place) in order.iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[place] * factor).min(1.0));
        adjusted[place] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// R: `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")`.
    #[test]
    fn four_comparisons() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn nothing_becomes_surer_and_the_order_stays(values in prop::collection::vec(0.0f64..=1.0, 1..30)) {
            let adjusted = holm(&values);
            for (a, b) in values.iter().zip(&adjusted) {
                prop_assert!(a <= b && *b <= (a * values.len() as f64).min(1.0).max(*b));
            }
            for (i, j) in (0..values.len()).flat_map(|i| (0..values.len()).map(move |j| (i, j))) {
                prop_assert!(values[i] > values[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }
}
