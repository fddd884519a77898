//! Octets: random ones, and how they are shown.

use std::io;

use ring::rand::{SecureRandom, SystemRandom};

/// Random octets from the system's source, which is a system call: a root without `/dev` will do.
///
/// # Errors
/// The system gives none.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    // The library tells no reason.
    let refused = |_| io::Error::other("it gives none");
    SystemRandom::new().fill(&mut octets).map_err(refused).map(|()| octets)
}

/// Octets as lower-case hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_a_digest() {
        // FIPS 180-2, appendix B.1.
        let digest = ring::digest::digest(&ring::digest::SHA256, b"abc");
        assert_eq!(hex(digest.as_ref()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn sixteen_random_octets_never_come_twice() {
        assert_ne!(random::<16>().unwrap(), random::<16>().unwrap());
    }
}
