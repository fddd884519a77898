//! Probabilities, and how users write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A probability: a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

/// A number that is not a probability.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("{0} is not a probability: it must be between 0 and 1")]
pub struct NotAProbability(f64);

/// A text that is not a probability.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "`{text}` is not a probability: write a percentage between `0 %` and `100 %`, for example `0.5 %`"
)]
pub struct NotAPercentage {
    /// The text that was written.
    text: String,
}

impl Probability {
    /// The probability 0 of an event that never happens.
    pub const NEVER: Self = Self(0.0);
    /// The probability 1 of an event that always happens.
    pub const ALWAYS: Self = Self(1.0);

    /// `share` as a probability.
    ///
    /// # Errors
    /// When it is not a number, negative, or more than 1.
    pub fn new(share: f64) -> Result<Self, NotAProbability> {
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(NotAProbability(share)) }
    }

    /// As a number from 0 to 1.
    pub const fn share(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = NotAProbability;
    fn try_from(share: f64) -> Result<Self, NotAProbability> {
        Self::new(share)
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> Self {
        probability.0
    }
}

impl FromStr for Probability {
    type Err = NotAPercentage;

    /// Reads `1 %`, `0.5%`; a bare number is refused, because 1 could be one per cent or all.
    fn from_str(text: &str) -> Result<Self, NotAPercentage> {
        let refused = || NotAPercentage { text: text.to_owned() };
        let number = text.trim().strip_suffix('%').ok_or_else(refused)?.trim_end();
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let percent: f64 = number.parse().map_err(|_| refused())?;
        if plain { Self::new(percent / 100.0).map_err(|_| refused()) } else { Err(refused()) }
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Six decimals of a per cent, without the noise of a binary fraction.
        let text = format!("{:.6}", self.0 * 100.0);
        write!(f, "{} %", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentages_are_read_as_written() {
        assert_eq!("1 %".parse(), Ok(Probability(0.01)));
        assert_eq!("100%".parse(), Ok(Probability::ALWAYS));
        for wrong in ["1", "", "%", "101 %", "-1 %", "1e1 %", "inf %", "1 percent"] {
            assert!(wrong.parse::<Probability>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(millionths in 0u32..=1_000_000) {
            let share = Probability(f64::from(millionths) / 1e6);
            let back: Probability = share.to_string().parse().unwrap();
            prop_assert!((back.0 - share.0).abs() < 1e-9);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _: Result<Probability, _> = text.parse();
        }
    }
}
