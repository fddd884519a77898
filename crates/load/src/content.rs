//! Incompressible bytes: the contents of files and of the FTP server.
//!
//! The server's content is a fixed function of the offset, so a client can check its data without
//! further information: the byte at offset `i` of every file is byte `i mod PERIOD` of one random
//! pool. The period is prime, so no block size and no file size of practice hides a block that came
//! from a wrong place, and it is far beyond the window of any compressor on the way.

use std::sync::LazyLock;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

/// Length of the pool in bytes: the largest prime below 4 MiB.
pub(crate) const PERIOD: usize = 4_194_301;

static POOL: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut bytes = vec![0; PERIOD].into_boxed_slice();
    fill(1995, &mut bytes);
    bytes
});

/// The pool; made on first use in about 2 ms.
pub(crate) fn pool() -> &'static [u8] {
    &POOL
}

/// The pool from `offset` of a file on to the pool's end; never empty.
pub(crate) fn from_offset(offset: u64) -> &'static [u8] {
    &pool()[(offset % PERIOD as u64) as usize..]
}

/// Whether `bytes` are what a served file holds at `offset`.
pub(crate) fn matches(offset: u64, bytes: &[u8]) -> bool {
    let (mut offset, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let wanted = from_offset(offset);
        let length = wanted.len().min(rest.len());
        if rest[..length] != wanted[..length] {
            return false;
        }
        rest = &rest[length..];
        offset += length as u64;
    }
    true
}

/// Fills `bytes` from the generator seeded with `seed`: PCG64 MCG, equal on every machine.
pub(crate) fn fill(seed: u64, bytes: &mut [u8]) {
    generator(seed).fill_bytes(bytes);
}

/// A generator for `seed`; neighbouring seeds are spread over the state first.
pub(crate) fn generator(seed: u64) -> Pcg64Mcg {
    const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    Pcg64Mcg::new((u128::from(seed) + 1).wrapping_mul(SPREAD))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_value_is_equally_frequent() {
        let mut counts = [0u32; 256];
        for &byte in pool() {
            counts[usize::from(byte)] += 1;
        }
        let expected = PERIOD as f64 / 256.0;
        let chi_squared: f64 =
            counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6; the pool is fixed, so this
        // never flickers.
        assert!((160.0..350.0).contains(&chi_squared), "{chi_squared}");
    }

    proptest! {
        #[test]
        fn only_the_right_offset_matches(offset in 0u64..1 << 41, length in 16usize..9000, slip in 1u64..70_000) {
            let bytes: Vec<u8> = (0..length as u64).map(|i| from_offset(offset + i)[0]).collect();
            prop_assert!(matches(offset, &bytes));
            prop_assert!(!matches(offset + slip, &bytes));
        }
    }

    #[test]
    fn seeds_give_different_bytes() {
        let (mut one, mut two, mut again) = ([0u8; 64], [0u8; 64], [0u8; 64]);
        fill(1, &mut one);
        fill(2, &mut two);
        fill(1, &mut again);
        assert_ne!(one, two);
        assert_eq!(one, again);
    }
}
