//! The decoders of the table, fed by libFuzzer. `BTU_FUZZ` names the one that gets the octets,
//! `BTU_FUZZ_SEEDS` a directory for good ones to begin with.

#![no_main]

mod seeds;
mod table;

use std::path::Path;
use std::sync::OnceLock;

use table::{Decoder, TARGETS};

fn chosen() -> (&'static str, Decoder) {
    static CHOSEN: OnceLock<(&str, Decoder)> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("BTU_FUZZ").unwrap_or_default();
        let found = TARGETS.iter().find(|(target, _)| *target == name);
        let names = TARGETS.map(|(target, _)| target).join(" ");
        *found.unwrap_or_else(|| panic!("BTU_FUZZ names none of: {names}"))
    })
}

fn sow() {
    if let Some(directory) = std::env::var_os("BTU_FUZZ_SEEDS") {
        seeds::write(chosen().0, Path::new(&directory));
    }
}

libfuzzer_sys::fuzz_target!(init: sow(), |octets: &[u8]| chosen().1(octets));
