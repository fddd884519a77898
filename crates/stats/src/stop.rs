//! When to stop repeating.

use serde::{Deserialize, Serialize};

use crate::interval::{Level, student_quantile};
use crate::log_sample::geometric_interval;
use crate::{arithmetic_mean, sample_variance};

/// netperf's relative full width of the interval of a mean: 2 t √(v/(n−1)) / mean with the
/// population variance v (netlib.c), so .05 reads "plus or minus 2.5 %". `None` below two values or
/// for a mean of zero.
pub fn netperf_width(values: &[f64], level: Level) -> Option<f64> {
    let count = values.len() as f64;
    // The population variance over n−1 is the sample variance over n.
    let error = (sample_variance(values)? / count).sqrt();
    let mean = arithmetic_mean(values)?;
    (mean != 0.0).then_some(2.0 * student_quantile(level, count - 1.0)? * error / mean.abs())
}

/// Half the width of the interval of a geometric mean over that mean; `None` below two values.
pub fn student_half_width(values: &[f64], level: Level) -> Option<f64> {
    geometric_interval(values, level)?.relative_half_width()
}

/// Repeat at least `fewest` times, then until the interval is narrow enough, at most `most` times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// Fewest repetitions, before the rule is applied.
    pub fewest: usize,
    /// The highest number of repetitions: the rule stops there even if the interval is still too
    /// wide.
    pub most: usize,
    /// Wanted half width of the interval over the value: 0.05 is "plus or minus 5 %".
    pub wanted_half_width: f64,
    /// Level of the interval.
    pub level: Level,
}

/// The answer of a [`StopRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The interval is too wide; repeat.
    More,
    /// The interval is narrow enough.
    Enough,
    /// The cap is reached and the interval is still too wide: low confidence.
    Capped,
}

impl StopRule {
    /// Judges the repetitions so far.
    pub fn judge(&self, values: &[f64]) -> Decision {
        let narrow = student_half_width(values, self.level)
            .is_some_and(|half| half <= self.wanted_half_width);
        match values.len() {
            count if narrow && count >= self.fewest => Decision::Enough,
            count if count >= self.most => Decision::Capped,
            _ => Decision::More,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULE: StopRule =
        StopRule { fewest: 3, most: 10, wanted_half_width: 0.05, level: Level::P95 };

    #[test]
    fn netperf_on_ten_eleven_nine() {
        let width = netperf_width(&[10.0, 11.0, 9.0], Level::P99).unwrap();
        assert!((width - 1.146).abs() < 5e-4, "{width}");
        assert_eq!(netperf_width(&[10.0], Level::P99), None);
        assert_eq!(netperf_width(&[1.0, -1.0], Level::P99), None);
    }

    #[test]
    fn the_rule_stops_for_one_of_two_reasons() {
        assert_eq!(RULE.judge(&[100.0, 100.0]), Decision::More);
        assert_eq!(RULE.judge(&[100.0, 101.0, 100.5]), Decision::Enough);
        assert_eq!(RULE.judge(&[100.0, 50.0, 75.0]), Decision::More);
        assert_eq!(
            RULE.judge(&[1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0]),
            Decision::Capped
        );
    }

    proptest! {
        /// In the netperf form the full width is twice the half width of the ordinary interval of
        /// the mean.
        #[test]
        fn netperf_is_students_interval(values in prop::collection::vec(1.0f64..100.0, 2..20)) {
            let ours = crate::mean_interval(&values, Level::P99).unwrap().relative_half_width().unwrap();
            prop_assert!((netperf_width(&values, Level::P99).unwrap() - 2.0 * ours).abs() < 1e-9 * (1.0 + ours));
        }

        #[test]
        fn the_cap_always_ends_it(values in prop::collection::vec(1.0f64..100.0, 10..20)) {
            prop_assert_ne!(RULE.judge(&values), Decision::More);
        }
    }
}
