//! Bit rates, and how long a frame takes at one of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{self, ParseError};
use crate::{Bytes, Span, rate_unit};

/// A rate in whole bits per second (Mb/s is 10^6 of them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BitRate(u64);

impl BitRate {
    /// A rate of `bits` bits per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// `megabits` per second, 10^6 bits each.
    pub const fn from_megabits_per_second(megabits: u64) -> Self {
        Self(megabits.saturating_mul(1_000_000))
    }

    /// The rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Megabits (10^6) per second, with their fraction.
    pub fn megabits_per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Turns frame sizes into transmission times without ever losing a fraction of a nanosecond: what
/// one frame's time leaves over is carried into the next, so the mean rate is exact.
#[derive(Debug, Clone)]
pub struct Serializer {
    rate: BitRate,
    /// Left over, in units of 1/rate nanoseconds; always less than `rate`.
    remainder: u64,
}

impl Serializer {
    /// A serializer for a line of `rate`; a rate of zero is treated as 1 b/s.
    pub fn new(rate: BitRate) -> Self {
        Self { rate: BitRate(rate.0.max(1)), remainder: 0 }
    }

    /// The rate of the line; it is at least 1 b/s.
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// The time the line is busy with `size`.
    pub fn transmit(&mut self, size: Bytes) -> Span {
        self.transmit_pieces(size.count(), 8_000_000_000)
    }

    /// The time the line is busy with so many bits: for framings that do not end on whole octets.
    pub fn transmit_bits(&mut self, bits: u64) -> Span {
        self.transmit_pieces(bits, 1_000_000_000)
    }

    /// `count` pieces that take `nanoseconds` each at 1 b/s.
    fn transmit_pieces(&mut self, count: u64, nanoseconds: u64) -> Span {
        // Worst case: 2^64 bytes * 8e9 < 2^97, so u128 cannot overflow.
        let scaled = u128::from(count) * u128::from(nanoseconds) + u128::from(self.remainder);
        let rate = u128::from(self.rate.0);
        self.remainder = (scaled % rate) as u64;
        Span::from_nanoseconds(u64::try_from(scaled / rate).unwrap_or(u64::MAX))
    }
}

/// The units of a bit rate.
const UNITS: &[(&str, f64)] =
    &[("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9), ("Tb/s", 1e12)];

impl FromStr for BitRate {
    type Err = ParseError;

    /// Reads `10 Mb/s`, `56kb/s`, `1 Gb/s`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a bit rate", UNITS).map(Self)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = rate_unit(self.0 as f64);
        write!(f, "{} {}", parse::three_digits(self.0 as f64 / unit.worth), unit.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_read_as_written() {
        assert_eq!("10 Mb/s".parse(), Ok(BitRate::from_megabits_per_second(10)));
        assert_eq!("56kb/s".parse(), Ok(BitRate::from_bits_per_second(56_000)));
        assert!("10 MB/s".parse::<BitRate>().is_err());
        assert!("10".parse::<BitRate>().is_err());
    }

    #[test]
    fn a_full_ethernet_frame_at_ten_megabits() {
        let mut line = Serializer::new(BitRate::from_megabits_per_second(10));
        assert_eq!(line.transmit(Bytes::new(1538)), Span::from_nanoseconds(1_230_400));
    }

    #[test]
    fn bits_and_bytes_take_the_same_time() {
        let mut line = Serializer::new(BitRate::from_bits_per_second(1200));
        // A character with start and stop bit at 1200 b/s, four times: 8 1/3 ms each.
        let total: Span = (0..4).map(|_| line.transmit_bits(10)).sum();
        assert_eq!(total, Span::from_nanoseconds(33_333_333));
        assert_eq!(line.transmit(Bytes::new(5)) + total, Span::from_nanoseconds(66_666_666));
    }

    proptest! {
        /// The remainder is carried: n frames take exactly the time of one frame n times as long,
        /// to the nanosecond.
        #[test]
        fn no_fraction_is_lost(rate in 1u64..200_000_000_000, sizes in prop::collection::vec(1u64..65_536, 1..200)) {
            let mut line = Serializer::new(BitRate(rate));
            let total: Span = sizes.iter().map(|&size| line.transmit(Bytes::new(size))).sum();
            let bytes: u64 = sizes.iter().sum();
            let exact = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
            prop_assert_eq!(u128::from(total.nanoseconds()), exact);
        }
    }
}
