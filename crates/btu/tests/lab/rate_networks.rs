//! `btu rate` on network files: what the closed form and the simulator expect of them, and runs that
//! are killed and finished; how large runs are. Long: `cargo test --test lab -- --ignored rate_networks`.

use std::io::{Read, Write};

use btu_conditions::judge;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::drills::assert_resumes;
use crate::support::{path, send, text};

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
        judge!(laboratory, (ratio - 1.0).abs() <= tolerance, "{row}");
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

/// What a quick run may add to the database, and what the report of a full one may have in memory.
const MOST_STORED: u64 = 4_000_000;
const MOST_MEMORY: u64 = 150_000_000;

/// The blocks of a quick run, and as many of these as have the bytes of a full one: it has up to 30
/// blocks, and its longer cells have 16.5 KB each, those of a quick run 6.6 KB.
const QUICK_BLOCKS: u32 = 5;
const FULL_BLOCKS: u32 = 75;

/// Columns of a cell that a copy has unchanged.
const COLUMNS: &str = "run, position, component, message_bytes, load, valid, goodput_bits_per_second, duration_ns, \
                       host_duration_ns, record";

/// Makes a full run of a quick one, by copies of its cells in further blocks.
fn make_full(laboratory: &Laboratory) {
    let database = Connection::open(laboratory.database()).expect("a database");
    let plan = format!("json_set(plan, '$.profile.most_blocks', {FULL_BLOCKS})");
    database.execute(&format!("UPDATE runs SET plan = {plan}"), []).expect("a plan");
    let mut stored = database.prepare("SELECT id, block, packed FROM cells").expect("cells");
    let cells = stored.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let cells: Vec<(i64, u32, Vec<u8>)> =
        cells.expect("cells").map(|cell| cell.expect("a cell")).collect();
    let copy = format!(
        "INSERT INTO cells (block, packed, {COLUMNS}) SELECT ?2, ?3, {COLUMNS} FROM cells WHERE id = ?1"
    );
    database.execute_batch("BEGIN").expect("a transaction");
    for (id, block, packed) in &cells {
        let mut record = String::new();
        DeflateDecoder::new(&packed[..]).read_to_string(&mut record).expect("a record");
        for further in (block + QUICK_BLOCKS..FULL_BLOCKS).step_by(QUICK_BLOCKS as usize) {
            let [old, new] = [*block, further].map(|block| format!("\"block\":{block},"));
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(record.replacen(&old, &new, 1).as_bytes()).expect("memory");
            let packed = encoder.finish().expect("memory");
            database.execute(&copy, params![id, further, packed]).expect("a copy");
        }
    }
    database.execute_batch("COMMIT").expect("the end of it");
}

/// No child of this process, and no child of one, had more memory than the report may have.
#[test]
#[ignore = "takes 3 min: scripts/test --all"]
fn a_quick_run_is_small_and_a_full_report_needs_little_memory() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let output = laboratory.rate(&["--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stored = std::fs::metadata(laboratory.database()).expect("a database").len();
    println!("{stored} B stored");
    assert!(stored <= MOST_STORED, "{stored} B");
    make_full(&laboratory);
    let file = path(laboratory.directory.path(), "report.html");
    let output =
        laboratory.command(&["report", "latest", "-o", &file]).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    // In KiB (getrusage(2)).
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a count").max_rss() as u64 * 1024;
    println!("{memory} B of memory");
    assert!(memory <= MOST_MEMORY, "{memory} B");
}
