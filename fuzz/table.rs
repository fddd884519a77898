//! Every decoder of data from a peer or from a file of another user.

#[path = "readback.rs"]
pub mod readback;

use std::sync::OnceLock;

use btu_contract::app::{Display, DisplayRequest, REQUEST_BYTES};
use btu_publication::{Challenge, ChallengeRequest, Manifest, PublicKey, SigningKey};
use btu_studies::imports::Imported;

/// Gets any octets, and returns.
pub type Decoder = fn(&[u8]);

/// All targets by name, sorted.
pub const TARGETS: [(&str, Decoder); 43] = [
    ("account", btu_control::fuzz::account),
    ("app_requests", app_requests),
    ("archive", |octets| btu_store::fuzz_import(octets, readback::study)),
    ("bundle", btu_control::fuzz::bundle),
    ("calibration", readback::calibration),
    ("capture", btu_testbed::fuzz::capture),
    ("copy_log", btu_load::fuzz::copy_log),
    ("database", readback::database),
    ("environment", btu_control::fuzz::environment),
    ("experiment_file", readback::experiment_file),
    ("http_head", btu_load::fuzz::http_head),
    ("identity", btu_control::fuzz::identity),
    ("import_and_show", readback::import_and_show),
    ("import_flent", |octets| imported(octets, btu_studies::imports::flent::read)),
    ("import_hyperfine", |octets| imported(octets, btu_studies::imports::hyperfine::read)),
    ("import_iperf3", |octets| imported(octets, btu_studies::imports::iperf3::read)),
    ("inventory", inventory),
    ("iperf3_parameters", btu_iperf3::fuzz::parameters),
    ("iperf3_results", btu_iperf3::fuzz::results),
    ("network_file", btu_network::fuzz_read),
    ("nfs_answer", btu_load::fuzz::nfs_answer),
    ("nfs_call", btu_load::fuzz::nfs_call),
    ("operation_trace", btu_contract::lan::fuzz_operation_trace),
    ("order", btu_control::fuzz::order),
    ("pipe_frame", btu_traffic::fuzz::pipe_frame),
    ("plan", readback::plan),
    ("policy", btu_control::fuzz::policy),
    ("probe_packet", btu_traffic::fuzz::probe_packet),
    ("publication", publication),
    ("rcp_record", btu_load::fuzz::rcp_record),
    ("replies", btu_control::fuzz::replies),
    ("requests", btu_control::fuzz::requests),
    ("samples", readback::samples),
    ("ssh_words", btu_control::fuzz::ssh_words),
    ("stamp_answer", btu_stamp::fuzz::reflector_packet),
    ("stamp_packet", btu_stamp::fuzz::sender_packet),
    ("stored_network", readback::stored_network),
    ("tcp_token", btu_traffic::fuzz::tcp_token),
    ("testbed_messages", btu_testbed::fuzz::testbed_messages),
    ("trace_file", btu_network::fuzz_trace),
    ("udp_header", btu_traffic::fuzz::udp_header),
    ("wire_control", btu_testbed::fuzz::wire_control),
    ("word", btu_control::fuzz::word),
];

/// What a board reads of an upload before its archive: signed texts, of which each has one form, keys and
/// signatures.
fn publication(octets: &[u8]) {
    let Ok(text) = str::from_utf8(octets) else { return };
    let texts = [
        Manifest::read(text).map(|read| read.text()),
        ChallengeRequest::read(text).map(|read| read.text()),
        Challenge::read(text).map(|read| read.text()),
    ];
    for again in texts.into_iter().flatten() {
        assert_eq!(again, text);
    }
    if let Ok(key) = text.parse::<PublicKey>() {
        assert_eq!(key.to_string().parse::<PublicKey>().ok().as_ref(), Some(&key));
        assert_eq!(key.file().parse::<PublicKey>().ok(), Some(key));
    }
    let own = signing_key().public().expect("a key");
    drop(own.verify(text, text).map_err(|error| error.to_string()));
    // A signature is over one text: one that holds over nothing holds over nothing else.
    assert!(own.verify("", text).is_err() || own.verify("\n", text).is_err());
}

/// The key of the seeds' signature.
pub fn signing_key() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    KEY.get_or_init(|| SigningKey::new().expect("a key"))
}

/// An application's messages to a display, until one is refused. Drawing a picture again may take a
/// second, so few are drawn.
fn app_requests(octets: &[u8]) {
    let (mut display, mut drawings) = (Display::default(), 0);
    let mut rest = octets;
    while let Some((request, behind)) = rest.split_first_chunk::<REQUEST_BYTES>() {
        let Ok(request) = DisplayRequest::decode(request) else { break };
        assert_eq!(DisplayRequest::decode(&request.encode()), Ok(request));
        drawings += u32::from(matches!(request, DisplayRequest::Show | DisplayRequest::Redraw));
        if drawings > 2 || display.take(&request).is_err() {
            break;
        }
        rest = behind;
        if let DisplayRequest::Bits { offset, length } = request {
            let bits = &rest[..rest.len().min(length as usize)];
            drop(display.set_bits(offset, bits).map_err(|error| error.to_string()));
            rest = &rest[bits.len()..];
        }
    }
    drop(display.picture().digest());
}

/// A file of another program: by its own reader, and by the one that recognises it.
fn imported(octets: &[u8], read: fn(&str) -> Result<Imported, String>) {
    let Some(text) = btu_studies::imports::text(octets.to_vec()) else { return };
    for imported in [read(&text), btu_studies::imports::read(&text)].into_iter().flatten() {
        drop(imported.run.check());
    }
}

fn inventory(octets: &[u8]) {
    let read = btu_network::Inventory::read(&String::from_utf8_lossy(octets), "fuzz.toml");
    drop(read.map_err(|error| error.to_string()));
}
