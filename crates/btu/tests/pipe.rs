//! Signatures by the real program: stored and shown, true on an emulated Ethernet, and cut short by bad days.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use btu_suite::pipe::Point;
use common::{Laboratory, finish, send, text};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Killing one end ends the other, and the run, within this; measuring it on a machine with other work takes as much again.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
const BUSY: Duration = Duration::from_secs(2);

fn sizes(result: &Value) -> Vec<u64> {
    let sizes = result["result"]["sizes"].as_array().expect("a list of sizes");
    sizes.iter().map(|size| size["size_bytes"].as_u64().expect("a size")).collect()
}

#[test]
fn transports_of_one_machine_need_no_laboratory() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let btu = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_btu"))
            .args(arguments)
            .env("BTU_DATA", directory.path())
            .output()
            .expect("btu runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let transports = "tcp,udp,unix-stream,unix-seqpacket,pipe,shared-memory";
    let quick = ["pipe", "--local", "--sizes", "1,1000,70000", "--target-time", "2 ms", "--trials", "2", "--transport"];
    let results: Value = serde_json::from_str(&btu(&[&quick[..], &[transports, "--json"]].concat())).expect("JSON");
    let results = results.as_array().expect("a result for each transport");
    assert_eq!(results.len(), 6);
    for result in results {
        let is_udp = result["result"]["kind"] == "udp";
        assert_eq!(sizes(result), if is_udp { vec![1, 1000] } else { vec![1, 1000, 70_000] });
        let books = &result["result"]["books"];
        assert_eq!((&books["wrong"], &books["sent"]), (&0.into(), &books["received"]), "{books}");
        assert_eq!(result["run"]["state"], "complete");
    }
    assert!(btu(&["runs"]).contains("shared memory, local"));
    assert!(btu(&["show", "r1"]).contains("Signature of TCP, ping-pong"));
    let cells: Value = serde_json::from_str(&btu(&["show", "r1", "--cells", "--json"])).expect("JSON");
    assert_eq!(cells[2]["trials"].as_array().map(Vec::len), Some(2), "every trial is stored");
    let out = directory.path().join("np.out");
    btu(&[&quick[..], &["tcp", "--np-out", out.to_str().expect("a path")]].concat());
    assert_eq!(std::fs::read_to_string(out).expect("np.out").lines().count(), 3);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table: [(&[&str], &str); 5] = [
        (&["--transport", "udp", "--pattern", "streaming"], "UDP does not know any pattern but ping-pong"),
        (&["--transport", "pipe", "--nodelay", "off"], "pipe does not know Nagle's algorithm"),
        (&["--transport", "udp", "--sizes", "1MB"], "give smaller sizes"),
        (&["--network", "nowhere"], "there is no file and no library network `nowhere`"),
        (&["--network", "satellite", "--to", "moon"], "there is no station `moon`"),
    ];
    for (arguments, word) in table {
        let output = Command::new(env!("CARGO_BIN_EXE_btu"))
            .arg("pipe")
            .args(arguments)
            .env("BTU_DATA", directory.path())
            .output()
            .expect("btu runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

/// On an Ethernet of 10 Mb/s, n bytes in k full segments of 1448 take k frames of 1538 octets (66 of headers and
/// timestamps, 24 of preamble, check sequence and gap): t0 + n/r with r = 10 Mb/s * 1448/1538. One short message shows t0:
/// its own frame has 64 + 90 octets. A message of two segments or more is acknowledged at once (RFC 5681, section 4.2), by a
/// frame of 90 octets that goes ahead of the answer; the short one's acknowledgement is in the answer. The tenth part of the round trips that were quickest counts: what else the machine does
/// only ever makes them longer, and leaves as many alone.
#[test]
fn an_emulated_ethernet_has_the_signature_of_its_closed_form() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    laboratory.json(&[
        "pipe",
        "--network",
        "10 Mb/s",
        "--sizes",
        "64,2896,14480,65160",
        "--trials",
        "5",
        "--target-time",
        "200 ms",
        "--each",
        "--quiet",
    ]);
    let points: Vec<Point> = serde_json::from_value(laboratory.json(&["show", "--cells"])).expect("points");
    let one_way: Vec<(f64, f64)> = points
        .iter()
        .map(|point| {
            let each = point.each.as_ref().expect("every exchange was timed");
            (point.size.count() as f64, each.quantile(0.1).expect("some were") as f64 * 1e-9 / 2.0)
        })
        .collect();
    let fixed = one_way[0].1 - 154.0 * 8.0 / 10e6;
    assert!((0.0..0.3e-3).contains(&fixed), "t0 of {fixed} s: {one_way:?}");
    for (bytes, seconds) in &one_way[1..] {
        let expected = fixed + 90.0 * 8.0 / 10e6 + bytes * 8.0 / (10e6 * 1448.0 / 1538.0);
        assert!((seconds / expected - 1.0).abs() < 0.03, "{bytes} B took {seconds} s, not {expected} s: {one_way:?}");
    }
    laboratory.assert_down();
}

/// Begins a long run, does something bad to it after two sizes, and sees it end in order.
fn drill(laboratory: &Laboratory, bad: impl FnOnce(i32), code: Option<i32>, word: &str) {
    let count = || laboratory.json(&["runs"]).as_array().map_or(0, Vec::len);
    let (runs, deadline) = (count(), Instant::now() + Duration::from_secs(30));
    let long = ["pipe", "--precision", "full", "--sizes", "1..64KiB", "--quiet"];
    let child = laboratory.command(&long).spawn().expect("btu starts");
    while count() == runs || laboratory.stored_cells() < 2 {
        assert!(Instant::now() < deadline, "no two sizes after 30 s");
        std::thread::sleep(Duration::from_millis(50));
    }
    let began = Instant::now();
    bad(child.id().cast_signed());
    let output = finish(child);
    assert!(began.elapsed() < ENDS_WITHIN + BUSY, "it took {:?} to end", began.elapsed());
    assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(word), "`{word}` is not in: {}", text(&output.stderr));
    laboratory.assert_down();
    let all = laboratory.json(&["runs"]);
    assert_eq!(all[runs]["state"], "interrupted", "{all}");
    assert!(sizes(&laboratory.json(&["show"])).len() >= 2, "finished sizes are kept");
}

#[test]
fn whoever_dies_the_run_ends_and_what_was_finished_is_kept() {
    let Some(laboratory) = Laboratory::open() else { return };
    let worker = |end: &str| {
        let parent = format!("PPid:\t{}\n", laboratory.process(&format!(" {end} -- ")));
        let is_child = |process: i32| {
            std::fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(|status| status.contains(&parent))
        };
        let found = laboratory.processes().into_iter().find(|(process, _)| is_child(*process));
        found.expect("the station's command is a worker").0
    };
    let killed = "end was killed (signal: 9 (SIGKILL))";
    drill(&laboratory, |_| send(worker("near"), Signal::SIGKILL), Some(1), killed);
    drill(&laboratory, |_| send(worker("far"), Signal::SIGKILL), Some(1), killed);
    drill(&laboratory, |coordinator| send(coordinator, Signal::SIGINT), Some(130), "was stopped");
    drill(&laboratory, |coordinator| send(coordinator, Signal::SIGKILL), None, "");
}
