//! Lengths of cable.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::parse::{self, ParseError};

/// A length in whole millimetres.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Length(u64);

/// The speed of light in vacuum, metres per second (exact since 1983).
const LIGHT: f64 = 299_792_458.0;

impl Length {
    /// The length of 0 m.
    pub const ZERO: Self = Self(0);

    /// A length of whole metres.
    pub const fn from_metres(metres: u64) -> Self {
        Self(metres.saturating_mul(1000))
    }

    /// A length of whole millimetres.
    pub const fn from_millimetres(millimetres: u64) -> Self {
        Self(millimetres)
    }

    /// The length in metres, with millimetres as the fraction.
    pub fn metres(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The length as a whole number of millimetres.
    pub const fn millimetres(self) -> u64 {
        self.0
    }

    /// The distance between two places on one cable.
    #[must_use]
    pub const fn apart(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// How long a signal takes at `velocity` times the speed of light, to the nearest nanosecond.
    pub fn propagation(self, velocity: f64) -> Span {
        Span::from_seconds_f64(self.metres() / (velocity * LIGHT))
    }
}

/// The units of a length.
const UNITS: &[(&str, f64)] = &[("mm", 1.0), ("cm", 10.0), ("m", 1e3), ("km", 1e6)];

impl FromStr for Length {
    type Err = ParseError;

    /// Reads `500 m`, `2.5 km`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a length", UNITS).map(Self)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1_000_000 {
            write!(f, "{} km", self.0 as f64 / 1e6)
        } else {
            write!(f, "{} m", self.metres())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_written() {
        assert_eq!("500 m".parse(), Ok(Length::from_metres(500)));
        assert_eq!("2.5km".parse(), Ok(Length::from_metres(2500)));
        assert!("500".parse::<Length>().is_err());
        assert_eq!(Length::from_metres(2500).to_string(), "2.5 km");
    }

    #[test]
    fn a_kilometre_of_coaxial_cable() {
        assert_eq!(Length::from_metres(1000).propagation(0.77), Span::from_nanoseconds(4332));
    }
}
