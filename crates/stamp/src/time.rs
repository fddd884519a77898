//! Times and their errors as packets have them.

use btu_traffic::ClockState;
use btu_units::{Span, Time};

const NANOSECONDS: u64 = 1_000_000_000;

/// Seconds from 1900, where NTP begins to count, to 1970 (RFC 5905, figure 4).
const FROM_1900: u64 = 2_208_988_800;

/// A point in time as a packet has it: NTP's or PTP's format, 32 bits of seconds and 32 of a fraction.
/// Only differences between times of one clock mean anything here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// As NTP writes a time of the wall clock (RFC 5905, section 6). Seconds wrap in 2036, which
    /// no difference notices.
    pub fn of_wall(wall: Time) -> Self {
        let (seconds, rest) = (wall.nanoseconds() / NANOSECONDS, wall.nanoseconds() % NANOSECONDS);
        // The rest is below 2^30: shifted by 32 it fits.
        Self(((seconds + FROM_1900) << 32) | ((rest << 32) / NANOSECONDS))
    }

    /// The octets in a packet.
    pub const fn to_octets(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// As it stands in a packet.
    pub const fn from_octets(octets: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(octets))
    }

    /// Nanoseconds since `earlier`, which the same clock wrote in the same format; negative if it
    /// is later. At most 2^31 s, so the product is below 2^93, and the result below 2^61.
    pub fn nanoseconds_since(self, earlier: Self, format: Format) -> i64 {
        let difference = self.fixed_point(format).wrapping_sub(earlier.fixed_point(format));
        ((i128::from(difference.cast_signed()) * i128::from(NANOSECONDS)) >> 32) as i64
    }

    /// In units of 2^-32 s. A fraction of PTP is below 2^32, so shifted by 32 it fits in 64 bits;
    /// one of more than a second, which only an error can have, carries over.
    fn fixed_point(self, format: Format) -> u64 {
        match format {
            Format::Ntp => self.0,
            Format::Ptp => {
                let (seconds, nanoseconds) = (self.0 >> 32 << 32, self.0 & 0xffff_ffff);
                seconds.wrapping_add((nanoseconds << 32) / NANOSECONDS)
            }
        }
    }
}

/// How a fraction of a second is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// In units of 2^-32 s.
    Ntp,
    /// In nanoseconds (IEEE 1588, truncated: RFC 8186).
    Ptp,
}

/// How wrong a clock may be (RFC 4656, section 4.1.2; RFC 8186, section 2.3): the bits S and Z,
/// six bits of scale, and a multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEstimate(u16);

const SYNCHRONISED: u16 = 0x8000;
const PTP: u16 = 0x4000;

impl ErrorEstimate {
    /// Of this machine's wall clock: synchronised only if the kernel says so. A kernel that says
    /// nothing knows no bound, and the largest one is written.
    pub fn of_clock(state: Option<ClockState>) -> Self {
        let Some(state) = state else { return Self(0x3fff) };
        let bit = if state.is_synchronised { SYNCHRONISED } else { 0 };
        Self(bit | scaled(state.most_error))
    }

    /// Whether its clock is synchronised to UTC, as its owner says.
    pub const fn is_synchronised(self) -> bool {
        self.0 & SYNCHRONISED != 0
    }

    /// The format of the times of this packet.
    pub const fn format(self) -> Format {
        if self.0 & PTP == 0 { Format::Ntp } else { Format::Ptp }
    }

    /// The largest error: multiplier * 2^(scale - 32) seconds.
    pub fn seconds(self) -> f64 {
        let [first, multiplier] = self.to_octets();
        f64::from(multiplier) * 2f64.powi(i32::from(first & 0x3f) - 32)
    }

    /// The octets in a packet.
    pub const fn to_octets(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    /// As it stands in a packet.
    pub const fn from_octets(octets: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(octets))
    }
}

/// Scale and multiplier that are at least this error. The multiplier is never 0, which would mean
/// that the packet is invalid.
fn scaled(error: Span) -> u16 {
    let units = (u128::from(error.nanoseconds()) << 32).div_ceil(u128::from(NANOSECONDS));
    // The largest span is 2^34.1 s, which is 2^66.1 units: 59 bits are then scaled away.
    let scale = (0u16..63).find(|scale| units.div_ceil(1 << scale) <= 255).unwrap_or(63);
    let multiplier = units.div_ceil(1 << scale).clamp(1, 255) as u16;
    scale << 8 | multiplier
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_wall_clock_is_written_as_ntp_writes_it() {
        let at = |nanoseconds| Timestamp::of_wall(Time::from_nanoseconds(nanoseconds)).to_octets();
        // 2,208,988,800 is 0x83aa7e80.
        assert_eq!(at(0), [0x83, 0xaa, 0x7e, 0x80, 0, 0, 0, 0]);
        assert_eq!(at(1_750_000_000), [0x83, 0xaa, 0x7e, 0x81, 0xc0, 0, 0, 0]);
    }

    #[test]
    fn differences_cross_the_end_of_the_era() {
        let [late, early] = [0x0000_0001_8000_0000, 0xffff_ffff_0000_0000u64].map(Timestamp);
        assert_eq!(late.nanoseconds_since(early, Format::Ntp), 2_500_000_000);
        assert_eq!(early.nanoseconds_since(late, Format::Ntp), -2_500_000_000);
    }

    #[test]
    fn ptp_counts_nanoseconds() {
        let [late, early] = [(10 << 32) + 500, (9 << 32) + 999_999_000].map(Timestamp);
        assert!((late.nanoseconds_since(early, Format::Ptp) - 1500).abs() <= 1);
    }

    #[test]
    fn errors_are_those_of_rfc_4656() {
        let of = |is_synchronised, most_error| {
            ErrorEstimate::of_clock(Some(ClockState { is_synchronised, most_error }))
        };
        // 1 s is 128 * 2^(25 - 32) s.
        assert_eq!(of(true, Span::from_seconds(1)).to_octets(), [0x80 + 25, 128]);
        assert_eq!(of(false, Span::ZERO).to_octets(), [0, 1]);
        assert_eq!(ErrorEstimate::of_clock(None).to_octets(), [0x3f, 0xff]);
        let said = ErrorEstimate::from_octets([0xc0, 1]);
        assert!(said.is_synchronised() && said.format() == Format::Ptp);
    }

    proptest! {
        #[test]
        fn an_error_is_never_written_as_less(nanoseconds: u64) {
            let most_error = Span::from_nanoseconds(nanoseconds);
            let state = ClockState { is_synchronised: true, most_error };
            let written = ErrorEstimate::of_clock(Some(state)).seconds();
            prop_assert!(written >= most_error.seconds() * (1.0 - 1e-12));
            prop_assert!(written <= most_error.seconds() * 1.01 + 1e-9);
        }

        #[test]
        fn differences_are_those_of_the_clock(first in 0u64..1 << 61, later in 0u64..1 << 60) {
            let [from, to] = [first, first + later].map(Time::from_nanoseconds).map(Timestamp::of_wall);
            // Two fractions are rounded to 2^-32 s, 0.23 ns. Half an era is 68 years.
            let exact = later.cast_signed();
            prop_assert!((to.nanoseconds_since(from, Format::Ntp) - exact).abs() <= 1);
        }

        #[test]
        fn any_times_have_a_difference(a: u64, b: u64) {
            for format in [Format::Ntp, Format::Ptp] {
                let _ = Timestamp(a).nanoseconds_since(Timestamp(b), format);
            }
        }
    }
}
