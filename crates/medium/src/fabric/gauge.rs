//! The busy time of a line.

use btu_network::{Direction, Framing, Rate};
use btu_units::{BitRate, Bytes, Span};

use crate::frame::Frame;
use crate::framing::{occupied_bits, packet};
use crate::segment::Meter;

/// Octets of Ethernet's check sequence.
const CHECK_SEQUENCE: u64 = 4;

/// Counts the frames that a line carried. Times follow from the line's rate (of a trace: its mean
/// rate), so that counting costs two additions a frame.
#[derive(Debug, Clone)]
pub(super) struct Gauge {
    rate: BitRate,
    framing: Framing,
    data_bits: u64,
    line_bits: u64,
    /// The counts before the rate changed.
    before: Meter,
    frames: u64,
    /// All of the frames' own bits since the start or the last reset.
    carried_bits: u64,
}

impl Gauge {
    pub(super) fn new(direction: &Direction) -> Self {
        let rate = match &direction.rate {
            Rate::Fixed(rate) => *rate,
            Rate::Trace(trace) => trace.mean_rate(),
        };
        let before = Meter { lines: 1, ..Meter::default() };
        Self {
            rate,
            framing: direction.framing,
            data_bits: 0,
            line_bits: 0,
            before,
            frames: 0,
            carried_bits: 0,
        }
    }

    /// Counts a frame that was carried to the end.
    pub(super) fn count(&mut self, frame: &Frame) {
        let data = own_bits(self.framing, frame.length());
        self.data_bits += data;
        self.line_bits += occupied_bits(self.framing, frame.length());
        self.frames += 1;
        self.carried_bits += data;
    }

    /// Bits of the frames' own octets that were carried.
    pub(super) fn carried_bits(&self) -> u64 {
        self.carried_bits
    }

    /// From now on the line has this rate.
    pub(super) fn change(&mut self, rate: BitRate) {
        self.before = self.meter();
        (self.data_bits, self.line_bits, self.frames) = (0, 0, 0);
        self.rate = rate;
    }

    pub(super) fn meter(&self) -> Meter {
        let data = self.time(self.data_bits);
        Meter {
            data: self.before.data + data,
            overhead: self.before.overhead + self.time(self.line_bits).saturating_sub(data),
            frames: self.before.frames + self.frames,
            ..self.before
        }
    }

    pub(super) fn reset(&mut self) {
        self.before = Meter { lines: 1, ..Meter::default() };
        (self.data_bits, self.line_bits, self.frames, self.carried_bits) = (0, 0, 0, 0);
    }

    fn time(&self, bits: u64) -> Span {
        let nanoseconds =
            u128::from(bits) * 1_000_000_000 / u128::from(self.rate.bits_per_second().max(1));
        Span::from_nanoseconds(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// Bits of a frame's own octets. Where the line takes the packet without its Ethernet header
/// (serial lines, cells), its own octets are the packet's.
fn own_bits(framing: Framing, length: Bytes) -> u64 {
    8 * match framing {
        Framing::Ethernet => length.count() + CHECK_SEQUENCE,
        Framing::Serial { .. } | Framing::Aal5 => packet(length).count(),
        Framing::Bare => length.count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_occupies_1538_octets_of_which_1518_are_data() {
        let rate = BitRate::from_megabits_per_second(10);
        let mut gauge = Gauge::new(&Direction::new(rate, Span::ZERO));
        gauge.count(&Frame::new(0, Bytes::new(1514)));
        let meter = gauge.meter();
        assert_eq!(
            (meter.data, meter.overhead),
            (
                Span::from_microseconds(1214) + Span::from_nanoseconds(400),
                Span::from_microseconds(16)
            )
        );
        gauge.change(BitRate::from_megabits_per_second(100));
        gauge.count(&Frame::new(0, Bytes::new(1514)));
        assert_eq!(
            (gauge.meter().data.nanoseconds(), gauge.meter().frames),
            (1_214_400 + 121_440, 2)
        );
    }

    #[test]
    fn cells_and_serial_lines_carry_packets() {
        assert_eq!(own_bits(Framing::Aal5, Bytes::new(1514)), 12_000);
        assert_eq!(
            own_bits(Framing::Serial { overhead: 8, bits_per_octet: 10 }, Bytes::new(114)),
            800
        );
    }
}
