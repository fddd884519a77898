//! Entries for fuzzers: whatever an FTP server or a client of the doorway says, these return.

pub use crate::ftp::{fuzz_doorway as ftp_doorway, fuzz_reply as ftp_reply};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "22[79] \\PC{0,40}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                super::ftp_doorway(bytes);
                super::ftp_reply(bytes);
            }
        }
    }
}
