//! `btu rate` on network files: what the closed form and the simulator expect of them, and runs that
//! are killed and finished. Long: `cargo test --test lab -- --ignored rate_networks`.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::drills::assert_resumes;
use crate::support::{path, send};

/// A machine under test behind a long line, and two peers behind quick ones.
const LINES: &str = "
name = \"lines\"
[stations.test]
[stations.active]
[stations.passive]
[bridges.switch]
[links.to-test]
between = [\"test\", \"switch\"]
rate = \"20 Mb/s\"
delay = \"2 ms\"
[links.to-active]
between = [\"active\", \"switch\"]
rate = \"100 Mb/s\"
[links.to-passive]
between = [\"passive\", \"switch\"]
rate = \"100 Mb/s\"
";

/// Three stations on one cable. A station that has lost a contention waits for up to 1023 slots, 52
/// ms (IEEE 802.3, 4.2.3.2.5). When acknowledgements wait for so long, the sender's window has to
/// hold what it sends meanwhile, or the cable is idle. The default queue of 100 frames keeps the
/// window of Reno to some 80 segments: goodput is then 15 to 20 % less than that of a sender which
/// always has one more frame, and that is what the simulator has.
const CABLE: &str = "
name = \"cable\"
[segments.cable]
medium = \"shared-ethernet\"
rate = \"10 Mb/s\"
length = \"100 m\"
queue = \"2000 frames\"
[stations.test]
segment = \"cable\"
[stations.active]
segment = \"cable\"
[stations.passive]
segment = \"cable\"
";

fn network(laboratory: &Laboratory, name: &str, drawing: &str) -> String {
    let file = path(laboratory.directory.path(), name);
    std::fs::write(&file, drawing).expect("a file");
    file
}

/// Rows of one flow, measured, and what is expected of them by `key`, within `tolerance`.
fn holds(laboratory: &Laboratory, file: &str, volume: &str, key: &str, tolerance: f64) {
    let what = ["rate", "--network", file, "--volume", volume, "--message", "65536", "--quiet"];
    let rows = ["--component", "SEND,RECV", "--load", "idle", "--congestion-control", "reno"];
    let result = laboratory.json(&[&what[..], &rows].concat());
    let rows = result["result"]["expected"].as_array().expect("rows").clone();
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key}: {row}"));
        let ratio = number("measured_bits_per_second") / number(key);
        println!("{} {key}: {ratio:.4}", row["component"]);
        assert!((ratio - 1.0).abs() <= tolerance, "{row}");
    }
    laboratory.assert_down();
}

/// The start of a connection is a per cent of 4 MB on 20 Mb/s.
#[test]
#[ignore = "takes 20 s: scripts/test --all"]
fn a_flow_over_lines_has_the_goodput_of_its_closed_form() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let file = network(&laboratory, "lines.toml", LINES);
    holds(&laboratory, &file, "4 MB", "closed_form_bits_per_second", 0.02);
}

#[test]
#[ignore = "takes 40 s: scripts/test --all"]
fn a_flow_on_a_shared_ethernet_has_the_goodput_of_the_simulator() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let file = network(&laboratory, "cable.toml", CABLE);
    holds(&laboratory, &file, "4 MB", "simulated_bits_per_second", 0.05);
}

/// Three blocks of SEND, alone and under cpu, and of cpu alone.
const LEAST_CELLS: u64 = 3 * 3;

/// A run is killed in the middle and finished; each of its cells counts.
fn killed_and_finished(laboratory: &Laboratory, network: &[&str]) {
    let what = ["--component", "SEND", "--message", "65536", "--load", "idle,cpu", "--quiet"];
    let child = laboratory.begin(&[network, &what[..]].concat(), 4);
    send(child.id().cast_signed(), Signal::SIGKILL);
    finish(child);
    laboratory.assert_down();
    assert_resumes(laboratory, "interrupted", LEAST_CELLS);
    let cells = laboratory.json(&["show", "--cells"]);
    for cell in cells.as_array().expect("cells") {
        assert_eq!(cell["faults"], Value::Array(Vec::new()), "{cell}");
    }
}

/// Three networks of the library, and the two above. Each run has a laboratory of its own, whose
/// first run is the one that is finished.
#[test]
#[ignore = "takes 3 min: scripts/test --all"]
fn a_killed_run_is_finished_on_every_network() {
    for name in ["home-fq-codel", "ethernet-shared-10", "satellite"] {
        let Some(laboratory) = Laboratory::open() else { return };
        println!("{name}");
        killed_and_finished(&laboratory, &["--network", name]);
    }
    for (name, drawing) in [("lines.toml", LINES), ("cable.toml", CABLE)] {
        let Some(laboratory) = Laboratory::open() else { return };
        println!("{name}");
        let file = network(&laboratory, name, drawing);
        killed_and_finished(&laboratory, &["--network", &file]);
    }
}
