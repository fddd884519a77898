//! A station on a shared Ethernet: the frame that it sends next, the frames behind it, and how long
//! it waits after a collision.

use btu_units::Span;

use crate::frame::Frame;
use crate::queue::Queue;
use crate::random::{fnv1a, mix};

/// The type that the module describes.
#[derive(Debug)]
pub(super) struct Station {
    /// How long a signal takes from the cable's beginning to here.
    pub(super) place: Span,
    /// The frame that is sent or waits for its turn at the cable.
    pub(super) frame: Option<Frame>,
    /// How often that frame has collided.
    pub(super) collisions: u8,
    /// Fractions of nanoseconds its frames have taken beyond whole ones.
    pub(super) remainder: u64,
    pub(super) backoff: Backoff,
    pub(super) queue: Queue,
}

// Source: IEEE 802.3-2018, 4.2.3.2.5: a uniformly distributed integer r, 0 <= r < 2^k, k = min(n,
// 10), after the n-th collision. Generator: `SplitMix64` (Steele, Lea, Flood 2014), one for each
// station, so that the draws of one do not depend on those of others.

/// The collision from which the range of the wait no longer grows.
const BACKOFF_LIMIT: u8 = 10;
/// The generator's increment: 2^64 divided by the golden ratio, odd.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A station's random backoff (IEEE 802.3, truncated binary exponential).
#[derive(Debug, Clone)]
pub(super) struct Backoff(u64);

impl Backoff {
    /// The backoff of the `number`th station of the medium called `name` in the run seeded with
    /// `seed`.
    pub(super) fn new(seed: u64, name: &str, number: u32) -> Self {
        Self(mix(mix(seed ^ fnv1a(name.as_bytes())) ^ u64::from(number)))
    }

    /// Slots to wait after a frame's `collisions`th collision.
    pub(super) fn slots(&mut self, collisions: u8) -> u64 {
        // `mix` adds the increment itself before it mixes.
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(INCREMENT);
        bits >> (64 - collisions.clamp(1, BACKOFF_LIMIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 1995;

    /// Mean of r over 2^k values is (2^k - 1) / 2; its standard deviation at 20,000 draws is 2^k /
    /// sqrt(12 * 20,000).
    #[test]
    fn waits_are_uniform_and_stop_growing() {
        for collisions in 1..=16u8 {
            let mut backoff = Backoff::new(SEED, "lan", 3);
            let draws: Vec<u64> = (0..20_000).map(|_| backoff.slots(collisions)).collect();
            let range = f64::from(1 << collisions.min(10));
            let mean = draws.iter().sum::<u64>() as f64 / 20_000.0;
            let sigma = range / (12.0f64 * 20_000.0).sqrt();
            assert!(
                (mean - (range - 1.0) / 2.0).abs() < 4.0 * sigma,
                "{collisions}: {mean}, seed {SEED}"
            );
            assert_eq!(draws.iter().max().copied(), Some(range as u64 - 1));
            assert_eq!(draws.iter().min(), Some(&0));
        }
    }

    #[test]
    fn stations_and_media_draw_differently() {
        let draws = |name: &str, number| {
            let mut backoff = Backoff::new(SEED, name, number);
            (0..16).map(|_| backoff.slots(10)).collect::<Vec<_>>()
        };
        assert_ne!(draws("lan", 0), draws("lan", 1));
        assert_ne!(draws("lan", 0), draws("wan", 0));
        assert_eq!(draws("lan", 0), draws("lan", 0));
    }
}
