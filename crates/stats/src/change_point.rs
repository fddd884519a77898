//! Finds the places where a history changes its level.

use serde::{Deserialize, Serialize};

use crate::mann_whitney;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Place of the first value of the new level.
    pub at: usize,
    /// Median after over median before.
    pub ratio: f64,
    /// Two-sided p value, corrected for the number of places where it could have been.
    pub p_value: f64,
}

/// When a change counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeRule {
    /// Largest p value, after correction.
    pub alpha: f64,
    /// Smallest relative change that is reported.
    pub smallest_effect: f64,
    /// Fewest values on each side.
    pub fewest: usize,
}

impl Default for ChangeRule {
    /// p at most 0.001, at least 2 %, at least 5 values on each side.
    fn default() -> Self {
        Self { alpha: 0.001, smallest_effect: 0.02, fewest: 5 }
    }
}

/// The changes of level in a history of positive values, in order of their places.
///
/// Binary segmentation: the place that splits the values into the two most different means (least
/// squares) is a change if the Mann-Whitney test of both sides passes the rule; then each side by
/// itself. Deterministic, unlike permutation tests (Fleming et al. 2023, Hunter, for the same
/// reason); ranks instead of Student's t because benchmark results have tails. The p value is
/// multiplied by the number of places that were tried (Bonferroni), since the best of many places
/// looks good by chance.
pub fn change_points(history: &[f64], rule: &ChangeRule) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    segment(history, 0, rule, &mut found);
    found.sort_by_key(|change: &ChangePoint| change.at);
    compare_neighbours(history, &mut found);
    found
}

/// Each change's ratio between the levels next to it: when it was found, its sides may have held
/// further changes.
fn compare_neighbours(history: &[f64], changes: &mut [ChangePoint]) {
    let ends: Vec<usize> = changes.iter().map(|change| change.at).chain([history.len()]).collect();
    let mut begin = 0;
    for (change, end) in changes.iter_mut().zip(&ends[1..]) {
        let levels =
            (crate::median(&history[begin..change.at]), crate::median(&history[change.at..*end]));
        if let (Some(before), Some(after)) = levels {
            change.ratio = after / before;
        }
        begin = change.at;
    }
}

fn segment(history: &[f64], offset: usize, rule: &ChangeRule, found: &mut Vec<ChangePoint>) {
    let Some(change) = strongest(history, rule) else { return };
    found.push(ChangePoint { at: offset + change.at, ..change });
    segment(&history[..change.at], offset, rule, found);
    segment(&history[change.at..], offset + change.at, rule, found);
}

/// The place that splits best, if it passes the rule.
fn strongest(history: &[f64], rule: &ChangeRule) -> Option<ChangePoint> {
    let fewest = rule.fewest.max(1);
    let places = fewest..(history.len() + 1).checked_sub(fewest)?;
    let tried = places.len() as f64;
    let sums = running_sums(history);
    let at = places.max_by(|&a, &b| split(&sums, a).total_cmp(&split(&sums, b)))?;
    let p_value = (mann_whitney(&history[..at], &history[at..])?.p_value * tried).min(1.0);
    let ratio = crate::median(&history[at..])? / crate::median(&history[..at])?;
    let is_worth_telling = (ratio - 1.0).abs() >= rule.smallest_effect;
    (p_value <= rule.alpha && is_worth_telling).then_some(ChangePoint { at, ratio, p_value })
}

/// Sums of the first 0, 1, 2 values and so on.
fn running_sums(history: &[f64]) -> Vec<f64> {
    let later = history.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    });
    std::iter::once(0.0).chain(later).collect()
}

/// The sum of squares that a split at `at` explains.
fn split(sums: &[f64], at: usize) -> f64 {
    let count = sums.len() - 1;
    let (before, after) = (at as f64, (count - at) as f64);
    let difference = sums[at] / before - (sums[count] - sums[at]) / after;
    before * after / count as f64 * difference * difference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_sample::tests::{covered, log_normal};
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64;

    #[test]
    fn two_changes_are_found_where_they_are() {
        let mut random = Pcg64::seed_from_u64(0x0141);
        let levels = [(100.0, 20), (90.0, 25), (99.0, 20)];
        let history: Vec<f64> = levels
            .iter()
            .flat_map(|&(level, count)| log_normal(&mut random, level, 0.01, count))
            .collect();
        let changes = change_points(&history, &ChangeRule::default());
        assert_eq!(changes.iter().map(|change| change.at).collect::<Vec<_>>(), [20, 45]);
        assert!(
            (changes[0].ratio - 0.9).abs() < 0.01 && (changes[1].ratio - 1.1).abs() < 0.01,
            "{changes:?}"
        );
    }

    #[test]
    fn a_steady_history_is_left_in_peace() {
        let share = covered("no change in 30 steady values", 0x0151, |random| {
            change_points(&log_normal(random, 100.0, 0.05, 30), &ChangeRule::default()).is_empty()
        });
        // The rule promises at most one false alarm in a thousand.
        assert!(share >= 0.9975, "{share}");
    }

    #[test]
    fn small_or_short_changes_do_not_count() {
        let tiny: Vec<f64> = (0..40).map(|n| if n < 20 { 100.0 } else { 101.0 }).collect();
        assert_eq!(change_points(&tiny, &ChangeRule::default()), []);
        assert_eq!(change_points(&[1.0, 1.0, 2.0, 2.0], &ChangeRule::default()), []);
        assert_eq!(change_points(&[], &ChangeRule::default()), []);
    }

    proptest! {
        #[test]
        fn places_ascend_and_keep_their_distance(history in prop::collection::vec(1.0f64..100.0, 0..60)) {
            let rule = ChangeRule { alpha: 0.2, ..ChangeRule::default() };
            let places: Vec<usize> = change_points(&history, &rule).iter().map(|change| change.at).collect();
            prop_assert!(places.windows(2).all(|pair| pair[1] >= pair[0] + rule.fewest));
            prop_assert!(places.iter().all(|&at| at >= rule.fewest && at + rule.fewest <= history.len()));
        }
    }
}
