//! The entry for fuzzers.

use crate::drawing::Drawing;

/// Reads `octets` as a network file and prints the result; it returns for any input.
pub fn fuzz_read(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    if let Err(error) = Drawing::read(&text, "fuzz.toml") {
        // Printing the problems reads the text again.
        drop(error.to_string());
    }
}
