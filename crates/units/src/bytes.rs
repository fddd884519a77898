//! Sizes in bytes.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{self, ParseError};

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// The size of zero bytes.
    pub const ZERO: Self = Self(0);

    /// A size of `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The size as a number of bytes.
    pub const fn count(self) -> u64 {
        self.0
    }

    /// How many bits, as a floating-point number for statistics.
    pub fn bits(self) -> f64 {
        self.0 as f64 * 8.0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

/// The units of a number of bytes; decimal and binary prefixes are different units.
const UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

impl FromStr for Bytes {
    type Err = ParseError;

    /// Reads `1460 B`, `4KB` (4000 bytes), `64KiB` (65536 bytes), `4MB`; a bare number is refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a size", UNITS).map(Self)
    }
}

impl fmt::Display for Bytes {
    /// Exact in the largest decimal unit that loses nothing at three digits, else rounded: `4 MB`,
    /// `65.5 kB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..10_000 => (self.0 as f64, "B"),
            10_000..1_000_000 => (self.0 as f64 / 1e3, "kB"),
            1_000_000..1_000_000_000 => (self.0 as f64 / 1e6, "MB"),
            1_000_000_000..1_000_000_000_000 => (self.0 as f64 / 1e9, "GB"),
            _ => (self.0 as f64 / 1e12, "TB"),
        };
        write!(f, "{} {unit}", parse::three_digits(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("4KB".parse(), Ok(Bytes::new(4000)));
        assert_eq!("4 KiB".parse(), Ok(Bytes::new(4096)));
        assert_eq!("4MB".parse(), Ok(Bytes::new(4_000_000)));
        assert_eq!("1460 B".parse(), Ok(Bytes::new(1460)));
        assert_eq!("2 TB".parse(), Ok(Bytes::new(2_000_000_000_000)));
        assert_eq!(Bytes::new(1_500_000_000_000).to_string(), "1.5 TB");
    }

    #[test]
    fn a_guess_is_refused() {
        for text in ["4K", "4", "4 mb", "4 Mb", "", "B", "-1 B", "1e99 GB", "nan B"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_print_short() {
        assert_eq!(Bytes::new(1250).to_string(), "1250 B");
        assert_eq!(Bytes::new(4_000_000).to_string(), "4 MB");
        assert_eq!(Bytes::new(65536).to_string(), "65.5 kB");
    }
}
