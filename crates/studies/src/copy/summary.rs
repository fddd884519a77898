//! The times of one cell, summarised as the CITI report did, next to what is done today.

use btu_stats::{Estimate, Level, geometric_interval, quantile, relative_range, trimmed_mean};
use serde::Serialize;

/// (Longest - shortest) / mean above which times are flagged: the report saw no more near
/// saturation.
pub const SCATTERED: f64 = 0.2;

/// Fewest times for a trimmed mean.
const FEWEST: usize = 5;

/// Seconds of one cell's copies. Nothing is left out but from the trimmed mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// The number of copies.
    pub count: usize,
    /// Mean without the shortest and the longest; from five copies on.
    pub trimmed_mean: Option<f64>,
    /// Median, with its interval by ranks (95 %) where there are enough.
    pub median: Estimate,
    /// Geometric mean with Student's interval of the logarithms (95 %).
    pub geometric_mean: Estimate,
    /// (Longest - shortest) / mean.
    pub relative_range: f64,
    /// Whether that is above 20 %: a reason to look, not to drop anything.
    pub scattered: bool,
}

impl Summary {
    /// Summarises `seconds`; `None` without any, or where one is not positive.
    pub fn of(seconds: &[f64]) -> Option<Self> {
        let relative_range = relative_range(seconds)?;
        Some(Self {
            count: seconds.len(),
            trimmed_mean: (seconds.len() >= FEWEST).then(|| trimmed_mean(seconds)).flatten(),
            median: quantile(seconds, 0.5, Level::P95)?,
            geometric_mean: geometric_interval(seconds, Level::P95)?,
            relative_range,
            scattered: relative_range > SCATTERED,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_copies() {
        let summary = Summary::of(&[100.0, 96.0, 130.0, 98.0, 102.0]).unwrap();
        assert_eq!(summary.trimmed_mean, Some(100.0));
        assert!((summary.median.value - 100.0).abs() < 1e-12);
        assert!((summary.relative_range - 34.0 / 105.2).abs() < 1e-12);
        assert!(summary.scattered);
        assert!(summary.geometric_mean.interval.unwrap().contains(105.2));
    }

    #[test]
    fn the_flag_is_up_above_a_fifth_only() {
        assert!(!Summary::of(&[9.0, 10.0, 11.0]).unwrap().scattered);
        assert!(Summary::of(&[8.9, 10.0, 11.1]).unwrap().scattered);
    }

    #[test]
    fn four_copies_are_not_trimmed_and_none_have_no_summary() {
        assert_eq!(Summary::of(&[1.0, 2.0, 3.0, 4.0]).unwrap().trimmed_mean, None);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, 0.0]), None);
    }
}
