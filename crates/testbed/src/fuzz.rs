//! Entries for fuzzers: they return for any input from a socket of the testbed or the wire.

pub use crate::capture::fuzz_capture as capture;
pub use crate::testbed::fuzz_messages as testbed_messages;
pub use crate::wire::fuzz_control as wire_control;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[{\\[\"a-z0-9:,.\\]} ]{0,80}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                super::capture(bytes);
                super::testbed_messages(bytes);
                super::wire_control(bytes);
            }
        }
    }
}
