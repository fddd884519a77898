//! When to stop repeating.

use serde::{Deserialize, Serialize};

use crate::interval::Level;
use crate::log_sample::geometric_interval;

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
        #[test]
        fn the_cap_always_ends_it(values in prop::collection::vec(1.0f64..100.0, 10..20)) {
            prop_assert_ne!(RULE.judge(&values), Decision::More);
        }
    }
}
