//! What the tests of several files need.

use std::fmt::Write as _;

/// Octets as people compare them with a header file.
pub(super) fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        // Writing to a string cannot fail.
        write!(text, "{octet:02x}").ok();
        text
    })
}
