//! The charting library: the basic bundle of plotly.js, which has the bars, lines and points of
//! figures.
//!
//! It is kept packed; the browser unpacks it. `scripts/plotly` fetches it and writes its version
//! and hash down.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The script, compressed by gzip.
const PACKED: &[u8] = include_bytes!("../../plotly/plotly-basic.min.js.gz");

/// The script's SHA-256 before packing, in base64.
pub(super) const HASH: &str = include_str!("../../plotly/sha256.base64");

/// The packed script in base64.
pub(super) fn packed() -> String {
    STANDARD.encode(PACKED)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use sha2::{Digest, Sha256};

    use super::*;

    /// Otherwise no browser would run it.
    #[test]
    fn the_library_is_the_version_and_has_the_hash_that_are_written_down() {
        let mut script = String::new();
        GzDecoder::new(PACKED).read_to_string(&mut script).unwrap();
        let version = include_str!("../../plotly/VERSION").trim_end();
        let head: String = script.chars().take(60).collect();
        assert!(head.contains(&format!("plotly.js (basic - minified) v{version}\n")), "{head}");
        assert_eq!(STANDARD.encode(Sha256::digest(&script)), HASH);
    }
}
