//! The payload: an endless stream of incompressible bytes that both ends can make from the order's
//! seed.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The stream repeats after so many bytes: the byte at offset `o` is `pool[o mod PERIOD]`.
pub(crate) const PERIOD: usize = 65536;

/// How many bytes one sample of the payload compares.
const SAMPLE: usize = 64;

/// The period of the stream, followed by enough of its repetition that every message is one
/// contiguous slice.
pub(crate) struct Payload(Vec<u8>);

impl Payload {
    /// The stream of `seed`, cut in messages of at most `longest` bytes.
    pub(crate) fn new(seed: u64, longest: usize) -> Self {
        let mut bytes = vec![0; PERIOD];
        Pcg64::seed_from_u64(seed).fill_bytes(&mut bytes);
        let whole = PERIOD + longest.max(SAMPLE);
        while bytes.len() < whole {
            let more = PERIOD.min(whole - bytes.len());
            bytes.extend_from_within(..more);
        }
        Self(bytes)
    }

    /// The `length` bytes at `offset` of the stream; `length` must not exceed what the pool was
    /// made for.
    #[inline]
    pub(crate) fn at(&self, offset: u64, length: usize) -> &[u8] {
        let start = (offset % PERIOD as u64) as usize;
        &self.0[start..start + length]
    }

    /// Compares up to 64 bytes of `chunk`, which begins at `offset` of the stream; where in the
    /// chunk changes with the offset, so that over a flow every part of a message is looked at.
    pub(crate) fn sample_is_right(&self, offset: u64, chunk: &[u8]) -> bool {
        let room = chunk.len().saturating_sub(SAMPLE);
        let from =
            if room == 0 { 0 } else { (offset / PERIOD as u64 * 4099) as usize % (room + 1) };
        let sample = &chunk[from..chunk.len().min(from + SAMPLE)];
        sample == self.at(offset + from as u64, sample.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_pool_is_random_enough_not_to_be_compressed() {
        let payload = Payload::new(7, 0);
        let mut counts = [0u32; 256];
        payload.at(0, PERIOD).iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        // 256 of each expected, standard deviation 16: five of them either side.
        assert!(counts.iter().all(|count| (176..=336).contains(count)), "{counts:?}");
    }

    proptest! {
        #[test]
        fn a_message_is_what_the_stream_says(seed in 0u64..4, offset in 0u64..u64::MAX / 2, length in 1usize..200_000) {
            let payload = Payload::new(seed, 200_000);
            let message = payload.at(offset, length);
            for index in [0, length / 2, length - 1] {
                let place = ((offset + index as u64) % PERIOD as u64) as usize;
                prop_assert_eq!(message[index], payload.at(0, PERIOD)[place]);
            }
            prop_assert!(payload.sample_is_right(offset, message));
        }

        #[test]
        fn every_single_wrong_byte_of_a_short_message_is_seen(offset in 0u64..1_000_000, length in 1usize..=64, at in 0usize..64) {
            let payload = Payload::new(1, 64);
            let mut message = payload.at(offset, length).to_vec();
            message[at % length] ^= 1;
            prop_assert!(!payload.sample_is_right(offset, &message));
        }
    }
}
