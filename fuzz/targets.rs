//! Every decoder that reads what a peer or a stranger's file says. `BTU_FUZZ` names the one that gets the octets,
//! `BTU_FUZZ_SEEDS` a directory for good ones to begin with.

#![no_main]

mod seeds;

use std::path::Path;
use std::sync::OnceLock;

/// All targets by name, sorted.
const TARGETS: [(&str, fn(&[u8])); 23] = [
    ("account", btu_control::fuzz::account),
    ("archive", btu_store::fuzz_import),
    ("capture", btu_testbed::fuzz::capture),
    ("certificate", btu_control::fuzz::certificate),
    ("environment", btu_control::fuzz::environment),
    ("ftp_doorway", btu_load::fuzz::ftp_doorway),
    ("ftp_reply", btu_load::fuzz::ftp_reply),
    ("house_words", btu_testbed::fuzz::house_words),
    ("identity", btu_control::fuzz::identity),
    ("inventory", inventory),
    ("network_file", btu_network::fuzz_read),
    ("order", btu_control::fuzz::order),
    ("pairing", btu_control::fuzz::pairing),
    ("pipe_frame", btu_traffic::fuzz::pipe_frame),
    ("policy", btu_control::fuzz::policy),
    ("probe_packet", btu_traffic::fuzz::probe_packet),
    ("replies", btu_control::fuzz::replies),
    ("requests", btu_control::fuzz::requests),
    ("revocations", btu_control::fuzz::revocations),
    ("tcp_token", btu_traffic::fuzz::tcp_token),
    ("udp_header", btu_traffic::fuzz::udp_header),
    ("wire_control", btu_testbed::fuzz::wire_control),
    ("word", btu_control::fuzz::word),
];

fn inventory(octets: &[u8]) {
    let read = btu_network::Inventory::read(&String::from_utf8_lossy(octets), "fuzz.toml");
    drop(read.map_err(|error| error.to_string()));
}

fn chosen() -> (&'static str, fn(&[u8])) {
    static CHOSEN: OnceLock<(&str, fn(&[u8]))> = OnceLock::new();
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
