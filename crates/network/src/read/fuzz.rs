//! The entry for fuzzers.

use crate::drawing::Drawing;

/// Reads `octets` as a network file and prints what comes of it; whatever they are, this returns.
pub fn fuzz_read(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    if let Err(error) = Drawing::read(&text, "fuzz.toml") {
        // Printing looks into the text once more.
        drop(error.to_string());
    }
}
