//! Random octets.

use std::io;

use ring::rand::{SecureRandom, SystemRandom};

/// Random octets from the system's source, which is a system call: it works in a root without
/// `/dev`.
///
/// # Errors
/// The system gives none.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    // The library gives no reason.
    let refused = |_| io::Error::other("it gives none");
    SystemRandom::new().fill(&mut octets).map_err(refused).map(|()| octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_random_octets_never_come_twice() {
        assert_ne!(random::<16>().unwrap(), random::<16>().unwrap());
    }
}
