//! Proof that a caller receives data at its address: a number for each address, which the caller
//! must send back. The listener keeps no state of a caller before that (as with SYN cookies, RFC
//! 4987 section 3.6).

use std::io;
use std::net::SocketAddr;

use ring::hmac::{HMAC_SHA256, Key, sign};
use ring::rand::SystemRandom;

/// Makes the numbers: a process that does not get them cannot know them.
pub(super) struct Challenges(Key);

impl Challenges {
    /// With a secret of its own.
    pub(super) fn new() -> io::Result<Self> {
        let refused = |_| io::Error::other("the system gives no random numbers");
        Key::generate(HMAC_SHA256, &SystemRandom::new()).map(Self).map_err(refused)
    }

    /// The number for a caller at this address and port; never 0, which means that a caller has no
    /// number yet.
    pub(super) fn of(&self, caller: SocketAddr) -> u64 {
        let tag = sign(&self.0, caller.to_string().as_bytes());
        tag.as_ref().first_chunk().map_or(1, |octets| u64::from_be_bytes(*octets) | 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_address_has_its_own_number_from_each_listener(address in any::<[u8; 4]>(), port in any::<u16>(), bit in 0u32..48) {
            let (one, other) = (Challenges::new().unwrap(), Challenges::new().unwrap());
            let caller = SocketAddr::from((address, port));
            prop_assert_eq!(one.of(caller), one.of(caller));
            prop_assert_ne!(one.of(caller), 0);
            prop_assert_ne!(one.of(caller), other.of(caller));
            let place = u64::from(u32::from_be_bytes(address)) << 16 | u64::from(port);
            let near = place ^ 1 << bit;
            let near = SocketAddr::from((((near >> 16) as u32).to_be_bytes(), near as u16));
            prop_assert_ne!(one.of(caller), one.of(near));
        }
    }
}
