//! The entry for fuzzers.

use super::frame::{FRAME, PipeFrame};

/// Any bytes as a frame; whatever is accepted must encode to what it was decoded from.
#[doc(hidden)]
pub fn fuzz_frame(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk::<FRAME>() else { return };
    let mut likely = *bytes;
    likely[..4].copy_from_slice(b"btup");
    likely[6..8].fill(0);
    likely[4] %= 8;
    for bytes in [bytes, &likely] {
        if let Some(frame) = PipeFrame::decode(bytes) {
            assert_eq!(frame.encode(), *bytes);
        }
    }
}
