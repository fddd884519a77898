//! Tests whether one sample tends to be larger than another, without assuming a distribution.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// Pairs in which the first sample's value is the larger; ties count half.
    pub u: f64,
    /// Share of pairs in which it is: 0.5 when neither tends to be larger (Vargha and Delaney's A).
    pub superiority: f64,
    /// The two-sided p value of the test, from 0 to 1.
    pub p_value: f64,
}

/// The most values of both samples together for which the exact distribution is used.
const EXACT_UP_TO: usize = 60;

/// The Mann-Whitney U test of `a` against `b`; `None` when one is empty or a value is not a number.
///
/// Source: Mann and Whitney (1947). Exact without ties up to 60 values together; otherwise the
/// normal approximation with correction for ties and continuity.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
        return None;
    }
    let pairs = (a.len() * b.len()) as f64;
    let score =
        |x: f64, y: f64| if x > y { 1.0 } else { f64::from(u8::from((x - y).abs() <= 0.0)) / 2.0 };
    let u: f64 = a.iter().map(|&x| b.iter().map(|&y| score(x, y)).sum::<f64>()).sum();
    let ties = tie_term(a, b);
    let p_value = if ties <= 0.0 && a.len() + b.len() <= EXACT_UP_TO {
        exact(a.len(), b.len(), u.min(pairs - u) as usize)
    } else {
        approximate(a.len(), b.len(), u, ties)
    };
    Some(MannWhitney { u, superiority: u / pairs, p_value })
}

/// Twice the chance of a U as small as `smaller`: the number of ways by the recurrence over sizes,
/// as a share of all.
fn exact(a: usize, b: usize, smaller: usize) -> f64 {
    // ways[u] of partitions into at most `a` parts of at most `b`: the Gaussian binomial, one
    // factor at a time.
    let mut ways = vec![0.0f64; a * b + 1];
    ways[0] = 1.0;
    for part in 1..=a {
        // times (1 - q^(b+part)) / (1 - q^part)
        for u in (b + part..ways.len()).rev() {
            ways[u] -= ways[u - b - part];
        }
        for u in part..ways.len() {
            ways[u] += ways[u - part];
        }
    }
    let all: f64 = ways.iter().sum();
    let tail: f64 = ways[..=smaller].iter().sum();
    (2.0 * tail / all).min(1.0)
}

fn approximate(a: usize, b: usize, u: f64, ties: f64) -> f64 {
    let (a, b) = (a as f64, b as f64);
    let n = a + b;
    let variance = a * b / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((u - a * b / 2.0).abs() - 0.5).max(0.0);
    (2.0 * Normal::standard().sf(distance / variance.sqrt())).min(1.0)
}

/// Sum of t^3 - t over groups of t equal values.
fn tie_term(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    all.sort_by(f64::total_cmp);
    let groups = all.chunk_by(|x, y| x.total_cmp(y).is_eq());
    groups.map(|group| (group.len() as f64).powi(3) - group.len() as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::covered;
    use proptest::prelude::*;
    use rand_distr::{Distribution, Exp1};

    /// Three against three, all smaller: 1 of 20 arrangements on each side.
    #[test]
    fn three_against_three() {
        let test = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert!((test.p_value - 0.1).abs() < 1e-12, "{test:?}");
        assert_eq!((test.u, test.superiority), (0.0, 0.0));
    }

    /// Critical values of U at 5 %, two-sided, from the printed table: 23 for 10 and 10, 2 for 5
    /// and 5.
    #[test]
    fn critical_values_are_the_printed_ones() {
        for (n, critical) in [(5, 2), (10, 23)] {
            assert!(exact(n, n, critical) <= 0.05 && exact(n, n, critical + 1) > 0.05, "{n}");
        }
    }

    #[test]
    fn exact_and_approximate_agree_for_larger_samples() {
        for u in [250, 300, 350] {
            let (exactly, nearly) = (exact(30, 30, u), approximate(30, 30, u as f64, 0.0));
            assert!((exactly - nearly).abs() < 0.002, "{u}: {exactly} {nearly}");
        }
    }

    #[test]
    fn all_equal_says_nothing() {
        let test = mann_whitney(&[1.0; 8], &[1.0; 8]).unwrap();
        assert_eq!((test.superiority, test.p_value), (0.5, 1.0));
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn false_alarms_are_as_many_as_stated() {
        let share =
            covered("Mann-Whitney, 12 against 9 of one distribution, p > 0.05", 0x0111, |random| {
                let a: Vec<f64> = Exp1.sample_iter(&mut *random).take(12).collect();
                let b: Vec<f64> = Exp1.sample_iter(&mut *random).take(9).collect();
                mann_whitney(&a, &b).unwrap().p_value > 0.05
            });
        assert!((0.935..=0.97).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn turned_round_it_says_the_same(a in prop::collection::vec(0i32..50, 1..20), b in prop::collection::vec(0i32..50, 1..20)) {
            let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
            let (forth, back) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
            prop_assert!((forth.p_value - back.p_value).abs() < 1e-9);
            prop_assert!((forth.superiority + back.superiority - 1.0).abs() < 1e-9);
        }
    }
}
