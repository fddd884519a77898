//! The answer of a closed form: a number, or the reason why there is none, and a warning about it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The answer of a closed form; the function that gives it documents the unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number: finite and not negative. `None` if the formula gives none.
    pub value: Option<f64>,
    /// A warning about the number; always present when the number is missing.
    pub warning: Option<Warning>,
}

/// A warning about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// More is offered than can be carried: queues grow for ever, so there is no mean.
    Saturated,
    /// The arguments are outside the range in which the formula is valid.
    OutOfRange,
    /// A real network is slower than the formula there.
    Optimistic,
}

impl Answer {
    /// There is no steady state.
    pub const SATURATED: Self = Self { value: None, warning: Some(Warning::Saturated) };
    /// An argument is impossible.
    pub const OUT_OF_RANGE: Self = Self { value: None, warning: Some(Warning::OutOfRange) };

    /// The answer `value` without a warning; a value that is negative or not finite is out of
    /// range.
    pub fn of(value: f64) -> Self {
        if value.is_finite() && value >= 0.0 {
            Self { value: Some(value), warning: None }
        } else {
            Self::OUT_OF_RANGE
        }
    }

    /// Returns this answer with `warning`, unless it has a warning already.
    #[must_use]
    pub fn but(self, warning: Warning) -> Self {
        Self { warning: self.warning.or(Some(warning)), ..self }
    }

    /// Whether more is offered than can be carried.
    pub fn is_saturated(&self) -> bool {
        self.warning == Some(Warning::Saturated)
    }

    /// The answer with a change that keeps its warning valid.
    #[must_use]
    pub fn map(self, change: impl FnOnce(f64) -> f64) -> Self {
        match self.value.map(|value| Self::of(change(value))) {
            Some(changed) => Self { warning: changed.warning.or(self.warning), ..changed },
            None => self,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Saturated => "saturated: more is offered than can be carried",
            Self::OutOfRange => "out of the formula's range",
            Self::Optimistic => "optimistic: a real network does worse under this load",
        })
    }
}

/// Whether all of these can be rates, times or sizes: finite and not negative.
pub(crate) fn sensible(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite() && *value >= 0.0)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Answer;

    /// The answer is within `tolerance` of `expected`.
    pub(crate) fn is(answer: Answer, expected: f64, tolerance: f64) {
        let value = answer.value.unwrap_or(f64::NAN);
        assert!(
            (value - expected).abs() <= tolerance,
            "{answer:?} instead of {expected} +- {tolerance}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_quantity_is_no_answer() {
        for value in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Answer::of(value), Answer::OUT_OF_RANGE);
        }
        assert_eq!(Answer::of(0.0).value, Some(0.0));
    }

    #[test]
    fn a_graver_warning_stays() {
        assert!(Answer::SATURATED.but(Warning::Optimistic).is_saturated());
        assert!(Answer::SATURATED.map(|value| value + 1.0).is_saturated());
        assert_eq!(Answer::of(1.0).map(|value| value - 2.0), Answer::OUT_OF_RANGE);
    }
}
