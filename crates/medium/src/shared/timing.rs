//! The standard's bit counts as times.
//!
//! Source: IEEE 802.3-2018, 4.4.2 (parameters): slot 512 bits up to 100 Mb/s and 4096 bits at 1
//! Gb/s, gap 96 bits of which the first 64 listen for a carrier (4.2.3.2.2), jam 32 bits, shortest
//! frame 64 octets; 3.1.1 for preamble and start delimiter, 64 bits; 4.2.3.4 for the extension of a
//! carrier to one slot at 1 Gb/s. Deviations: rates between and beyond the standard's take the slot
//! of the nearest standard rate below them; the times that do not depend on a frame are rounded to
//! whole nanoseconds, and decisions are not aligned to bits.

use btu_units::{BitRate, Span};

use crate::frame::Frame;

const PREAMBLE: u64 = 64;
const GAP: u64 = 96;
const GAP_THAT_LISTENS: u64 = 64;
const JAM: u64 = 32;
const SHORTEST: u64 = 64 * 8;
const CHECK_SEQUENCE: u64 = 4;
const GIGABIT: u64 = 1_000_000_000;
const NANOSECONDS: u64 = 1_000_000_000;

/// The standard's times at one rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    rate: u64,
    /// The time of a bit, if it is whole: then there is no remainder to carry and no division.
    nanoseconds_per_bit: Option<u64>,
    /// Least bits from destination address to the end of the carrier.
    shortest: u64,
    /// The slot time, which is the unit of backoff.
    pub(super) slot: Span,
    /// From the end of a carrier until the next frame may start.
    pub(super) gap: Span,
    /// The part of the gap in which a carrier starts it again.
    pub(super) gap_that_listens: Span,
    /// Preamble and start delimiter.
    pub(super) preamble: Span,
    /// The signal that a station sends after it detects a collision.
    pub(super) jam: Span,
}

impl Timing {
    pub(super) fn new(rate: BitRate) -> Self {
        let rate = rate.bits_per_second().max(1);
        let slot = if rate < GIGABIT { SHORTEST } else { 8 * SHORTEST };
        let time = |bits: u64| Span::from_nanoseconds(nearest(bits, rate));
        Self {
            rate,
            nanoseconds_per_bit: NANOSECONDS.is_multiple_of(rate).then_some(NANOSECONDS / rate),
            shortest: if rate < GIGABIT { SHORTEST } else { slot },
            slot: time(slot),
            gap: time(GAP),
            gap_that_listens: time(GAP_THAT_LISTENS),
            preamble: time(PREAMBLE),
            jam: time(JAM),
        }
    }

    /// The time of a frame from the first bit of its preamble to its last, extension included. The
    /// fraction of a nanosecond that it and its gap take beyond that is left in `remainder`, in
    /// units of 1/rate nanoseconds.
    pub(super) fn carrier(&self, frame: Frame, remainder: &mut u64) -> Span {
        self.bits(PREAMBLE + octets(frame).saturating_mul(8).max(self.shortest) + GAP, remainder)
            - self.gap
    }

    /// The least time of the shortest frame.
    pub(super) fn shortest_carrier(&self) -> Span {
        self.bits(PREAMBLE + self.shortest + GAP, &mut 0) - self.gap
    }

    /// The time of a frame's octets by themselves, from destination address to check sequence.
    pub(super) fn data(&self, frame: Frame, remainder: &mut u64) -> Span {
        self.bits(octets(frame).saturating_mul(8), remainder)
    }

    fn bits(&self, bits: u64, remainder: &mut u64) -> Span {
        if let Some(nanoseconds) = self.nanoseconds_per_bit {
            return Span::from_nanoseconds(bits.saturating_mul(nanoseconds));
        }
        // At most 2^64 * 1e9 and a remainder below 2^64: far from 2^128.
        let scaled = u128::from(bits) * u128::from(NANOSECONDS) + u128::from(*remainder);
        *remainder = (scaled % u128::from(self.rate)) as u64;
        Span::from_nanoseconds(u64::try_from(scaled / u128::from(self.rate)).unwrap_or(u64::MAX))
    }
}

fn octets(frame: Frame) -> u64 {
    frame.length().count() + CHECK_SEQUENCE
}

fn nearest(bits: u64, rate: u64) -> u64 {
    (bits * NANOSECONDS + rate / 2) / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::Bytes;

    fn frame(length: u64) -> Frame {
        Frame::new(0, Bytes::new(length))
    }

    #[test]
    fn ten_megabits_are_as_in_the_standard() {
        let timing = Timing::new(BitRate::from_megabits_per_second(10));
        assert_eq!(
            (timing.slot, timing.gap),
            (Span::from_nanoseconds(51_200), Span::from_nanoseconds(9_600))
        );
        assert_eq!(
            (timing.preamble, timing.jam),
            (Span::from_nanoseconds(6_400), Span::from_nanoseconds(3_200))
        );
        assert_eq!(timing.carrier(frame(1514), &mut 0), Span::from_nanoseconds(1_220_800));
        assert_eq!(timing.carrier(frame(20), &mut 0), timing.shortest_carrier());
    }

    #[test]
    fn a_gigabit_extends_the_carrier_to_its_slot() {
        let timing = Timing::new(BitRate::from_megabits_per_second(1000));
        assert_eq!(timing.slot, Span::from_nanoseconds(4096));
        assert_eq!(timing.carrier(frame(60), &mut 0), Span::from_nanoseconds(64 + 4096));
        assert_eq!(timing.carrier(frame(1514), &mut 0), Span::from_nanoseconds(64 + 1518 * 8));
    }

    #[test]
    fn no_fraction_of_a_nanosecond_is_lost() {
        // 3 Mb/s, the first Ethernet: a bit is 333 1/3 ns. Three frames with their gaps of 672 bits
        // are 672 us.
        let timing = Timing::new(BitRate::from_megabits_per_second(3));
        let mut remainder = 0;
        let total: Span =
            (0..3).map(|_| timing.carrier(frame(60), &mut remainder) + timing.gap).sum();
        assert_eq!(total, Span::from_microseconds(672));
    }
}
