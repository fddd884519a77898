//! The testbed: network namespaces, raw ports and the wire, the real-time driver of `btu_medium`.
//!
//! System calls and `unsafe` live here, in small modules with safe interfaces.

pub mod capture;
pub mod netem;
pub mod netlink;
pub mod note;
pub mod offload;
pub mod own_process;
pub mod port;
pub mod privilege;
pub mod processors;
pub mod testbed;
pub mod virtual_time;
pub mod wire;

/// Entries for fuzzers: they return for any input from a socket of the testbed or the wire.
#[doc(hidden)]
pub mod fuzz {
    pub use crate::capture::fuzz_capture as capture;
    pub use crate::testbed::fuzz_messages as testbed_messages;
    pub use crate::wire::fuzz_control as wire_control;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::fuzz;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[{\\[\"a-z0-9:,.\\]} ]{0,80}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                fuzz::capture(bytes);
                fuzz::testbed_messages(bytes);
                fuzz::wire_control(bytes);
            }
        }
    }
}
