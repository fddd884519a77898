//! What a line was busy with.

use btu_network::{Direction, Framing, Rate};
use btu_units::{BitRate, Span};

use crate::frame::Frame;
use crate::segment::Meter;

/// Octets of an Ethernet header and of its check sequence.
const HEADER: u64 = 14;
const CHECK_SEQUENCE: u64 = 4;

/// Counts what a line carried. Times follow from the line's rate (of a trace: its mean rate), so that counting costs two
/// additions a frame.
#[derive(Debug, Clone)]
pub(super) struct Gauge {
    rate: BitRate,
    framing: Framing,
    data_bits: u64,
    line_bits: u64,
    /// What was counted before the rate changed.
    before: Meter,
    frames: u64,
}

impl Gauge {
    pub(super) fn new(direction: &Direction) -> Self {
        let rate = match &direction.rate {
            Rate::Fixed(rate) => *rate,
            Rate::Trace(trace) => trace.mean_rate(),
        };
        let before = Meter { lines: 1, ..Meter::default() };
        Self { rate, framing: direction.framing, data_bits: 0, line_bits: 0, before, frames: 0 }
    }

    /// Counts a frame that was carried to the end.
    pub(super) fn count(&mut self, frame: &Frame) {
        let (data, line) = occupied(self.framing, frame.length().count());
        self.data_bits += data;
        self.line_bits += line;
        self.frames += 1;
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
        (self.data_bits, self.line_bits, self.frames) = (0, 0, 0);
    }

    fn time(&self, bits: u64) -> Span {
        let nanoseconds = u128::from(bits) * 1_000_000_000 / u128::from(self.rate.bits_per_second().max(1));
        Span::from_nanoseconds(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// Bits of a frame's own octets, and of all it occupies, for a frame of `length` octets as a driver sees it. Where the line
/// takes the packet without its Ethernet header (serial lines, cells), its own octets are the packet's.
fn occupied(framing: Framing, length: u64) -> (u64, u64) {
    let packet = length.saturating_sub(HEADER);
    match framing {
        Framing::Ethernet => ((length + CHECK_SEQUENCE) * 8, ((length + CHECK_SEQUENCE).max(64) + 8 + 12) * 8),
        Framing::Serial { overhead, bits_per_octet } => {
            (packet * 8, (packet + u64::from(overhead)) * u64::from(bits_per_octet))
        }
        Framing::Aal5 => (packet * 8, (packet + 8 + 8).div_ceil(48) * 53 * 8),
        Framing::Bare => (length * 8, length * 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::Bytes;

    #[test]
    fn a_full_frame_occupies_1538_octets_of_which_1518_are_data() {
        let rate = BitRate::from_megabits_per_second(10);
        let mut gauge = Gauge::new(&Direction::new(rate, Span::ZERO));
        gauge.count(&Frame::new(0, Bytes::new(1514)));
        let meter = gauge.meter();
        assert_eq!(
            (meter.data, meter.overhead),
            (Span::from_microseconds(1214) + Span::from_nanoseconds(400), Span::from_microseconds(16))
        );
        gauge.change(BitRate::from_megabits_per_second(100));
        gauge.count(&Frame::new(0, Bytes::new(1514)));
        assert_eq!((gauge.meter().data.nanoseconds(), gauge.meter().frames), (1_214_400 + 121_440, 2));
    }

    #[test]
    fn cells_and_serial_octets() {
        // 1500 octets of packet: 32 cells (RFC 2684 with LLC/SNAP).
        assert_eq!(occupied(Framing::Aal5, 1514), (12_000, 32 * 53 * 8));
        assert_eq!(occupied(Framing::Serial { overhead: 8, bits_per_octet: 10 }, 114), (800, 1080));
    }
}
