//! Instants and lengths of time, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{self, ParseError};

/// An instant: nanoseconds since an origin that the driver chose (a monotonic clock's, or a
/// simulation's start).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A length of time in nanoseconds; 2^64 ns is 584 years.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The origin of the driver's clock, at 0 ns.
    pub const ZERO: Self = Self(0);

    /// The instant `nanoseconds` after the origin.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Nanoseconds since the origin.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Time since `earlier`, zero where `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// The span of 0 ns.
    pub const ZERO: Self = Self(0);
    /// The longest span there is: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// A span of whole nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// A span of whole microseconds.
    pub const fn from_microseconds(microseconds: u64) -> Self {
        Self(microseconds.saturating_mul(1_000))
    }

    /// A span of whole milliseconds.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(1_000_000))
    }

    /// A span of whole seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The nearest whole nanosecond to `seconds`; negative and not-a-number become zero.
    pub fn from_seconds_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round().max(0.0) as u64)
    }

    /// The length of this time as a whole number of nanoseconds.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Microseconds, with their fraction.
    pub fn microseconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Milliseconds, with their fraction.
    pub fn milliseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, with their fraction.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference, zero where `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Span> for std::time::Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl From<std::time::Duration> for Span {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// The units of a length of time.
const UNITS: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];

impl FromStr for Span {
    type Err = ParseError;

    /// Reads `1 ms`, `0.5s`, `20us`, `3 min`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a length of time", UNITS).map(Self)
    }
}

impl fmt::Display for Span {
    /// Three significant digits and the largest unit that leaves a whole part: `1.5 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let (value, unit) = match ns {
            0..1_000 => (ns as f64, "ns"),
            1_000..1_000_000 => (self.microseconds(), "us"),
            1_000_000..1_000_000_000 => (self.milliseconds(), "ms"),
            _ => (self.seconds(), "s"),
        };
        write!(f, "{} {unit}", parse::three_digits(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_spans_with_or_without_a_space() {
        assert_eq!("1 ms".parse(), Ok(Span::from_milliseconds(1)));
        assert_eq!("0.5s".parse(), Ok(Span::from_milliseconds(500)));
        assert_eq!("51.2 us".parse(), Ok(Span::from_nanoseconds(51_200)));
        assert_eq!("0 s".parse(), Ok(Span::ZERO));
    }

    #[test]
    fn a_span_without_a_unit_is_refused_with_what_is_allowed() {
        let message = "5".parse::<Span>().unwrap_err().to_string();
        assert!(message.contains("ns, us") && message.contains("ms"), "{message}");
    }

    #[test]
    fn spans_print_with_their_unit() {
        assert_eq!(Span::from_microseconds(1500).to_string(), "1.5 ms");
        assert_eq!(Span::from_nanoseconds(12).to_string(), "12 ns");
        assert_eq!(Span::from_seconds(75).to_string(), "75 s");
    }
}
