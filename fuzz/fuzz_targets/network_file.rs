//! Any octets as a network file.

#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| btu_network::fuzz_read(octets));
