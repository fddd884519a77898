//! How large a network may be, and how large its numbers.
//!
//! Counts are compared with these before anything is allocated, so a short file cannot make a
//! reader take all memory.

use btu_units::{BitRate, Bytes, Length, Span};

/// Octets in a file, without stored recordings.
pub(super) const FILE: usize = 1 << 20;
/// Octets of the recordings that a stored text has before its file.
pub(super) const RECORDINGS: usize = 32 << 20;
/// Stations in a network; 198.18.0.0/15 has addresses for 131,070.
pub(super) const STATIONS: u32 = 100_000;
/// Segments, bridges, links or flows in a network.
pub(super) const OTHERS: u32 = 100_000;
/// Entries in all lists together that a file writes out for counted members: ports of bridges,
/// senders and receivers of flows, changes of links.
pub(super) const ENTRIES: usize = 2_000_000;
/// Opportunities of all traces together, those of counted links counted for each.
pub(super) const OPPORTUNITIES: usize = 16_000_000;

/// The slowest line, and the fastest: beyond it a bit is too short for whole nanoseconds to mean
/// anything.
pub(super) const RATE: std::ops::RangeInclusive<BitRate> =
    BitRate::from_bits_per_second(1)..=BitRate::from_bits_per_second(1_000_000_000_000);
/// Delays, pauses, and everything else that takes time.
pub(super) const TIME: std::ops::RangeInclusive<Span> = Span::ZERO..=Span::from_seconds(86_400);
/// When traffic begins and ends and links change.
pub(super) const MOMENT: std::ops::RangeInclusive<Span> =
    Span::ZERO..=Span::from_seconds(366 * 86_400);
/// The allowed lengths of cables and rings.
pub(super) const LENGTH: std::ops::RangeInclusive<Length> =
    Length::ZERO..=Length::from_metres(40_000_000);
/// Speed of a signal as a share of the speed of light.
pub(super) const VELOCITY: std::ops::RangeInclusive<f64> = 0.1..=1.0;
/// Longest packets: the least that every IPv4 host takes (RFC 791, section 3.2), and the most that
/// its header can say.
pub(super) const MTU: std::ops::RangeInclusive<Bytes> = Bytes::new(68)..=Bytes::new(65_535);
/// Frames in a queue.
pub(super) const QUEUE_FRAMES: std::ops::RangeInclusive<u32> = 1..=10_000_000;
/// Octets in a queue: at least a full Ethernet frame.
pub(super) const QUEUE_BYTES: std::ops::RangeInclusive<Bytes> =
    Bytes::new(1518)..=Bytes::new(1 << 40);
