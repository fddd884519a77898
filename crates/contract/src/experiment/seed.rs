//! The name of a plan, and the random streams of its run.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The random stream of one purpose in a plan with this seed.
pub fn stream(seed: u64, purpose: u64) -> Pcg64 {
    let mut state = <Pcg64 as SeedableRng>::Seed::default();
    let bytes = Sha256::new()
        .chain_update(seed.to_le_bytes())
        .chain_update(purpose.to_le_bytes())
        .finalize();
    let length = state.len();
    state.copy_from_slice(&bytes[..length]);
    Pcg64::from_seed(state)
}

/// The first 16 hexadecimal digits of the SHA-256 of a plan's canonical JSON.
///
/// # Panics
/// Never: plans have no maps with keys other than text.
pub fn name_of(plan: &impl Serialize) -> String {
    let text = serde_json::to_string(plan).expect("a plan has no maps with odd keys");
    let digest = Sha256::digest(text);
    let first: [u8; 8] = std::array::from_fn(|index| digest[index]);
    format!("{:016x}", u64::from_be_bytes(first))
}
