//! The limit of a store.

use btu_network::QueueLimit;
use btu_units::{BitRate, Bytes, Span};

/// The limit of a store: full when either number is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// At most so many frames.
    pub frames: usize,
    /// At most so many octets, counted as [`crate::Frame::length`] does.
    pub bytes: Bytes,
}

impl Limit {
    /// The most frames any store holds: a bound on memory (128 MiB of 2 KiB buffers).
    pub const MOST_FRAMES: usize = 65_536;

    /// At most `frames` frames of any size.
    pub const fn frames(frames: usize) -> Self {
        Self { frames, bytes: Bytes::new(u64::MAX) }
    }

    /// At most `bytes` octets in frames of any size.
    pub const fn bytes(bytes: Bytes) -> Self {
        Self { frames: Self::MOST_FRAMES, bytes }
    }

    /// The queue before a line of `rate` that a network file asks for, within the bound on memory.
    pub fn of(queue: QueueLimit, rate: BitRate) -> Self {
        let (frames, bytes) = queue.at(rate);
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        Self { bytes, ..Self::frames(frames.min(Self::MOST_FRAMES)) }
    }

    /// What a propagation delay of `delay` behind a line of `rate` can contain: as many shortest
    /// frames (84 octets with preamble and gap) as fit into the delay, and a thousand for bursts,
    /// within the bound on memory.
    pub(crate) fn for_flight(rate: BitRate, delay: Span) -> Self {
        let bits =
            u128::from(rate.bits_per_second()) * u128::from(delay.nanoseconds()) / 1_000_000_000;
        let frames = usize::try_from(bits / (84 * 8)).unwrap_or(usize::MAX).saturating_add(1000);
        Self::frames(frames.min(Self::MOST_FRAMES))
    }

    /// Whether one more frame of `size` fits where `frames` with `bytes` octets are.
    pub(crate) fn admits(&self, frames: usize, bytes: Bytes, size: Bytes) -> bool {
        frames < self.frames && bytes + size <= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_queue_is_a_hundred_frames_or_a_tenth_of_a_second() {
        let slow = Limit::of(QueueLimit::Suited, BitRate::from_megabits_per_second(10));
        assert_eq!((slow.frames, slow.bytes), (100, Bytes::new(151_400)));
        let fast = Limit::of(QueueLimit::Suited, BitRate::from_megabits_per_second(1000));
        assert_eq!((fast.frames, fast.bytes), (8256, Bytes::new(12_500_000)));
    }

    #[test]
    fn a_flight_has_room_for_the_shortest_frames() {
        let limit =
            Limit::for_flight(BitRate::from_megabits_per_second(100), Span::from_milliseconds(100));
        assert_eq!(limit.frames, 14_880 + 1000);
    }
}
