//! Takes the charting library out of the crate that carries it and packs it once, as reports will hold it: gzip in
//! base64, with its SHA-256 so that a report's policy can name it as the only foreign script that may run.

use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = plotly::Plot::offline_js_sources();
    let script = first_script(&sources);
    assert!(script.contains("plotly.js v3"), "the first script is plotly.js 3");
    let directory = std::env::var("OUT_DIR").expect("cargo names a directory");
    let write = |name: &str, content: &str| {
        std::fs::write(Path::new(&directory).join(name), content).expect("cargo's directory can be written");
    };
    write("plotly.gz.base64", &STANDARD.encode(packed(script)));
    write("plotly.sha256.base64", &STANDARD.encode(Sha256::digest(script)));
}

/// What stands between the first pair of script tags.
fn first_script(html: &str) -> &str {
    let (_, rest) = html.split_once("<script type=\"text/javascript\">").expect("a script begins");
    rest.split_once("</script>").expect("and ends").0
}

fn packed(script: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(script.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes everything")
}
