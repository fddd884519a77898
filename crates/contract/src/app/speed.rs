//! The speeds of the processors of both ends.

use std::fmt;
use std::str::FromStr;

use btu_units::Span;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A share of an end's own processor speed, in whole per cent from 1 to 100; [`Slowing`] says how an
/// end is made to have no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Speed(u8);

/// A number that is no share of a processor's speed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a share of a processor's speed: write per cent from 1 to 100, such as 50%")]
pub struct SpeedError(String);

impl Speed {
    /// Half of the processor's speed.
    pub const HALF: Self = Self(50);

    /// The study's 8 MHz instead of 10.
    pub const FOUR_FIFTHS: Self = Self(80);

    /// As fast as the processor is.
    pub const FULL: Self = Self(100);

    /// The share, in per cent.
    pub const fn percent(self) -> u8 {
        self.0
    }

    /// The share, from 0.01 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// The time of work of `span` at this speed.
    pub const fn dilated(self, span: Span) -> Span {
        Span::from_nanoseconds(span.nanoseconds().saturating_mul(100) / self.0 as u64)
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::FULL
    }
}

impl TryFrom<u8> for Speed {
    type Error = SpeedError;

    fn try_from(percent: u8) -> Result<Self, SpeedError> {
        if (1..=100).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err(SpeedError(percent.to_string()))
        }
    }
}

impl From<Speed> for u8 {
    fn from(speed: Speed) -> Self {
        speed.0
    }
}

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<u8>().ok());
        number
            .and_then(|percent| Self::try_from(percent).ok())
            .ok_or_else(|| SpeedError(text.to_owned()))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", self.0))
    }
}

btu_units::named! {
    /// How an end is made slower.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Slowing {
        /// The end spins after each piece of its own work until that has taken 100/share times as long.
        /// It slows the program, not the kernel's part, and works everywhere.
        #[default]
        Dilation = "dilation",
        /// The kernel stops the end's thread when it has had its share of each 2 ms (`SCHED_DEADLINE`).
        /// It slows system calls, too, but no work that is shorter than the share; only root may.
        Quota = "quota",
    }
}

impl Slowing {
    /// Whether it is the usual way.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The speeds of both ends.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Speeds {
    /// The processor speed of the application, in per cent of full speed.
    #[serde(rename = "application_percent")]
    pub application: Speed,
    /// The processor speed of the display, in per cent of full speed.
    #[serde(rename = "display_percent")]
    pub display: Speed,
}

impl Speeds {
    /// Whether neither end is slowed down.
    pub fn are_full(&self) -> bool {
        *self == Self::default()
    }
}

/// The nice value of both ends: 0, the default, to 19 (nice(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Niceness {
    /// The niceness of the application's process, from 0 to 19 (nice(2)).
    pub application: u8,
    /// The niceness of the display's process, from 0 to 19 (nice(2)).
    pub display: u8,
}

impl Niceness {
    /// Whether both are as usual.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_as_they_are_written() {
        let half: Speed = "50%".parse().unwrap();
        assert_eq!((half.to_string().as_str(), half.percent()), ("50%", 50));
        for text in ["", "50", "0%", "101%", "-1%", "half"] {
            assert!(
                text.parse::<Speed>().unwrap_err().to_string().contains("such as 50%"),
                "{text}"
            );
        }
        assert!(serde_json::from_str::<Speed>("0").is_err());
    }

    #[test]
    fn half_the_speed_takes_twice_the_time() {
        let speed = |percent| Speed::try_from(percent).unwrap();
        assert_eq!(speed(50).dilated(Span::from_microseconds(3)), Span::from_microseconds(6));
        assert_eq!(Speed::FULL.dilated(Span::from_microseconds(3)), Span::from_microseconds(3));
        assert_eq!(
            speed(1).dilated(Span::from_nanoseconds(u64::MAX)),
            Span::from_nanoseconds(u64::MAX)
        );
    }
}
