//! Chance: a random stream for each element.
//!
//! Source of the generator: O'Neill, PCG (2014), `Pcg64` = LCG 128 with XSL-RR output. The
//! generator is named, not "the standard one", because a seed printed today must replay on any
//! later version.

use btu_units::Probability;
use rand::RngExt;
use rand::distr::{self, Distribution};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;

/// A random stream of its own for whatever has a name.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of the element called `name` in the run seeded with `seed`. Other names get
    /// unrelated streams, so no two elements lose the same packets in step.
    pub fn new(seed: u64, name: &str) -> Self {
        let name = fnv1a(name.as_bytes());
        let state = u128::from(mix(seed ^ name)) << 64 | u128::from(mix(seed.wrapping_add(name)));
        Self(Pcg64::new(state, u128::from(name)))
    }

    /// Evenly from 0 up to, but not including, 1.
    pub fn share(&mut self) -> f64 {
        self.0.random()
    }

    /// Exponential with mean 1, by inversion; the share is below 1, so the logarithm is finite.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.share()).ln()
    }

    /// Any whole number of 16 bits, evenly.
    pub(crate) fn place(&mut self) -> u16 {
        self.0.random()
    }

    /// Gaussian with mean 0 and standard deviation 1.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }
}

/// Independent decisions with a fixed probability, from a random stream of its own.
#[derive(Debug, Clone)]
pub struct Bernoulli {
    stream: Stream,
    odds: distr::Bernoulli,
}

impl Bernoulli {
    /// The decisions of the element called `name` in the run seeded with `seed`; see
    /// [`Stream::new`].
    pub fn new(seed: u64, name: &str, odds: Probability) -> Self {
        Self { stream: Stream::new(seed, name), odds: distribution(odds) }
    }

    /// Changes the odds; the stream continues.
    pub fn set(&mut self, odds: Probability) {
        self.odds = distribution(odds);
    }

    /// Draws the next decision; it is `true` with the fixed probability.
    pub(crate) fn decide(&mut self) -> bool {
        self.odds.sample(&mut self.stream.0)
    }

    /// Its stream, for other random draws.
    pub(crate) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }
}

fn distribution(odds: Probability) -> distr::Bernoulli {
    // A `Probability` is within 0 and 1, which is all that is asked; anything else would be our own
    // bug.
    distr::Bernoulli::new(odds.share()).expect("a probability")
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): the same on every machine and in every version.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): spreads seeds that differ in one bit.
pub(crate) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tosses(seed: u64, name: &str) -> Vec<bool> {
        let mut bernoulli = Bernoulli::new(seed, name, Probability::new(0.5).unwrap());
        (0..256).map(|_| bernoulli.decide()).collect()
    }

    #[test]
    fn the_same_seed_and_name_toss_the_same() {
        assert_eq!(tosses(1, "up/loss"), tosses(1, "up/loss"));
    }

    #[test]
    fn other_names_and_seeds_toss_differently() {
        let base = tosses(1, "up/loss");
        for other in [tosses(1, "down/loss"), tosses(2, "up/loss")] {
            // 256 fair comparisons: mean 128, standard deviation 8; five deviations either way.
            let same = base.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!((88..=168).contains(&same), "{same} of 256 equal");
        }
    }

    #[test]
    fn the_stream_is_pinned() {
        let bits = tosses(1995, "up/loss")
            .iter()
            .take(32)
            .fold(0u32, |bits, &toss| bits << 1 | u32::from(toss));
        assert_eq!(bits, PINNED, "{bits:#034b}");
    }

    /// The first 32 tosses of seed 1995, `up/loss`: a change here means that old seeds no longer
    /// replay.
    const PINNED: u32 = 0b1001_1010_0000_0110_0001_1011_1101_0011;

    #[test]
    fn certainties_are_certain() {
        assert!(Bernoulli::new(0, "x", Probability::ALWAYS).decide());
        assert!(!Bernoulli::new(0, "x", Probability::NEVER).decide());
    }
}
