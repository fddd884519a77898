//! Signatures by the real program: stored and shown, correct on an emulated Ethernet, and
//! interrupted by faults.

mod drills;
#[cfg(feature = "mpi")]
mod mpi;
mod sets;
mod truth;

use std::path::Path;
use std::process::Command;

use btu_conditions::judge;
use btu_contract::job::{Job, JobRecord};
use btu_contract::pipe::Point;

use serde_json::Value;

use crate::common::Laboratory;
use crate::share::Share;
use crate::support::text;

/// The points of the newest run, which is a signature.
fn points(laboratory: &Laboratory) -> Vec<Point> {
    let records: Vec<JobRecord> =
        serde_json::from_value(laboratory.json(&["show", "--cells"])).expect("records");
    Job::points(&records, 0)
}

fn sizes(result: &Value) -> Vec<u64> {
    let sizes = result["result"]["sizes"].as_array().expect("a list of sizes");
    sizes.iter().map(|size| size["size_bytes"].as_u64().expect("a size")).collect()
}

/// `btu ARGUMENTS` with the runs in this directory.
fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.args(arguments).env("BTU_DATA", directory);
    command
}

/// What it prints when it succeeds.
fn printed(directory: &Path, arguments: &[&str]) -> String {
    let output = command(directory, arguments).output().expect("btu runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(directory, &[arguments, &["--json"]].concat())).expect("JSON")
}

#[test]
fn transports_of_one_machine_need_no_laboratory() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let btu = |arguments: &[&str]| printed(directory.path(), arguments);
    let transports = "tcp,udp,tls,quic,http2,unix-stream,unix-seqpacket,pipe,shared-memory";
    let quick = [
        "pipe",
        "--local",
        "--sizes",
        "1,1000,70000",
        "--target-time",
        "2 ms",
        "--trials",
        "2",
        "--transport",
    ];
    let results: Value =
        serde_json::from_str(&btu(&[&quick[..], &[transports, "--json"]].concat())).expect("JSON");
    let results = results.as_array().expect("a result for each transport");
    assert_eq!(results.len(), 9);
    for result in results {
        let is_udp = result["result"]["kind"] == "udp";
        assert_eq!(sizes(result), if is_udp { vec![1, 1000] } else { vec![1, 1000, 70_000] });
        let accounts = &result["result"]["accounts"];
        assert_eq!(
            (&accounts["wrong"], &accounts["sent"]),
            (&0.into(), &accounts["received"]),
            "{accounts}"
        );
        assert_eq!(result["run"]["state"], "complete");
    }
    assert!(btu(&["runs"]).contains("shared memory, local"));
    assert!(btu(&["show", "r1"]).contains("Signature of TCP, ping-pong"));
    let cells: Value =
        serde_json::from_str(&btu(&["show", "r1", "--cells", "--json"])).expect("JSON");
    let told = |cell: &Value| {
        let cell = &cell["seen"]["message"];
        (
            cell["pass"].as_u64(),
            cell["size_bytes"].as_u64(),
            cell["trials"].as_array().map(Vec::len),
        )
    };
    let told: Vec<_> = cells.as_array().expect("cells").iter().map(told).collect();
    let expected =
        [None, Some(1)].map(|pass| [1, 1000, 70_000].map(|size| (pass, Some(size), Some(1))));
    assert_eq!(told, expected.concat(), "every trial is stored, pass by pass");
    for (format, beginning) in [
        ("html", "<!DOCTYPE html>"),
        ("markdown", "# Signature of TCP, ping-pong: "),
        ("csv", "table,row,column,value,low,high,shown\r\nKey figures,TCP,"),
        ("svg", "<svg"),
        ("text", "Signature of TCP, ping-pong"),
        ("json", "{\n"),
    ] {
        let report = btu(&["report", "r1", "--format", format, "-o", "-"]);
        assert!(report.starts_with(beginning), "{format}: {}", &report[..200]);
    }
    let out = directory.path().join("np.out");
    btu(&[&quick[..], &["tcp", "--np-out", out.to_str().expect("a path")]].concat());
    assert_eq!(std::fs::read_to_string(out).expect("np.out").lines().count(), 3);
}

#[test]
fn b4_ends_are_held_where_they_shall_be() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let quick = ["pipe", "--local", "--precision", "quick", "--pin", "together"];
    for (aim, study) in [
        (&["--sizes", "64"][..], "pipe"),
        (&["--layers", "--sizes", "64", "--transport", "tcp,udp"], "layers"),
        (&["--hint"], "hint"),
    ] {
        let result = json(directory.path(), &[&quick, aim].concat());
        assert_eq!(result["run"]["state"], "complete", "{study}: {}", result["run"]["events"]);
        let shown = printed(directory.path(), &["show", "--all"]);
        assert!(shown.contains("both ends are held on processor "), "{study}: {shown}");
    }
}

/// How far the processors of the two ends are from each other is read after every size.
#[test]
fn ends_apart_are_read_after_every_size() {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if processors < 2 {
        eprintln!("NOT RUN: two processors are needed, and there is one");
        return;
    }
    let Some(share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let apart = ["pipe", "--local", "--profile", "quick", "--pin", "apart", "--sizes", "64,1000"];
    let result = json(directory.path(), &apart);
    assert_eq!(result["run"]["state"], "complete", "{result}");
    let cells = json(directory.path(), &["show", "--cells"]);
    let read = |cell: &&Value| {
        let machine = &cell["seen"]["message"]["conditions"]["machine"];
        ["core_to_core_ns", "arithmetic_ns"].iter().all(|time| machine[time].as_u64() > Some(0))
    };
    let cells = cells.as_array().expect("cells");
    let found = cells.iter().filter(read).count();
    assert_eq!(cells.len(), 12, "{cells:?}");
    // A processor that is taken away for 5 ms cannot be read.
    judge!(share, found >= 6, "{found} of 12: {cells:?}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table: [(&[&str], &str); 12] = [
        (&["--layers", "--transport", "tcp"], "--layers needs two transports or more"),
        (&["--layers", "--cold"], "leave one out"),
        (&["--transport", "mpi", "--send-buffer", "1MB"], "MPI"),
        (&["--load", "idle"], "there are cpu, disk, transfer"),
        (&["--resume", "latest", "--sizes", "1"], "cannot be used with"),
        (
            &["--transport", "http2", "--pattern", "streaming"],
            "HTTP/2 does not know any pattern but ping-pong",
        ),
        (&["--transport", "pipe", "--nodelay", "off"], "pipe does not know Nagle's algorithm"),
        (&["--transport", "udp", "--sizes", "1MB"], "give smaller sizes"),
        (
            &["--pin", "left,right"],
            "is not a way to hold two ends: give apart, together, free, or two processors such as 0,1",
        ),
        (
            &["--layers", "--pin", "0,70000"],
            "--pin: processor 70000 is not among those that may be used",
        ),
        (&["--network", "nowhere"], "there is no file and no library network `nowhere`"),
        (&["--network", "satellite", "--to", "moon"], "there is no station `moon`"),
    ];
    for (arguments, word) in table {
        let output =
            command(directory.path(), &[&["pipe"], arguments].concat()).output().expect("btu runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}
