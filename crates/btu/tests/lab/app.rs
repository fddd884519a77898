//! `btu app` on drawn networks: rates that the closed forms know, one picture, and bad days.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::support::{send, text};

/// Of what the closed form expects. The emulator is held to 0.1 % of a frame's time, each end to some 0.1 ms a message.
const TOLERANCE: f64 = 0.03;

fn rows(laboratory: &Laboratory) -> Vec<Value> {
    laboratory.json(&["show"])["result"]["rows"].as_array().expect("rows").clone()
}

fn app(laboratory: &Laboratory, arguments: &[&str]) {
    let output = laboratory.command(&[&["app", "--quiet"], arguments].concat()).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
}

fn holds(laboratory: &Laboratory, arguments: &[&str]) {
    // An algorithm that paces would hold back what the closed form sends at once.
    app(laboratory, &[&["-C", "reno"], arguments].concat());
    for row in rows(laboratory) {
        let error = row["error"].as_f64().unwrap_or_else(|| panic!("no closed form: {row}"));
        println!("{arguments:?} {} {}: {:.2} %", row["workload"], row["protocol"], error * 100.0);
        assert!(error.abs() <= TOLERANCE, "{arguments:?}: {row}");
        assert_eq!(row["invalid"], 0, "{row}");
    }
}

/// Each protocol's closed form over 80 ms and 300 ms of round trip, and over a slow line.
#[test]
fn every_protocol_takes_what_its_closed_form_says() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let small = ["--workload", "structured-rectangles", "--protocol"];
    holds(&laboratory, &[&small[..], &["stop-and-wait", "--network", "100 Mb/s", "--delay", "40 ms"]].concat());
    holds(
        &laboratory,
        &[&small[..], &["window-4,pipelined,batched,redraw", "--network", "100 Mb/s", "--delay", "150 ms"]].concat(),
    );
    let vectors = ["--workload", "vectors", "--protocol", "pipelined,batched,bitmap"];
    holds(&laboratory, &[&vectors[..], &["--network", "256 kb/s", "--delay", "20 ms"]].concat());
    let digests = laboratory.json(&["show"])["result"]["pictures"].clone();
    assert_eq!((&digests[0]["cells"], &digests[0]["others"]), (&9.into(), &0.into()), "{digests}");
}

/// 9600 b/s of Table 8-2, over TCP/IP: what is 60 items a second there is 53 with its headers.
#[test]
fn a_line_of_the_study_carries_what_it_can() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let line = ["--network", "telephone", "--application", "host", "--display", "terminal-9600"];
    let what = ["--workload", "structured-rectangles", "--protocol", "pipelined"];
    holds(&laboratory, &[&line[..], &what].concat());
}

/// Whoever dies, everybody ends, what was finished is kept, and the run can be finished.
#[test]
fn a_killed_worker_is_a_cell_that_does_not_count_and_a_killed_run_is_resumed() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let what = ["--workload", "structured-rectangles", "--protocol", "stop-and-wait,pipelined"];
    let long =
        [&["app", "--quiet", "--delay", "20 ms", "--network", "10 Mb/s", "--profile", "standard"], &what[..]].concat();
    let child = laboratory.command(&long).spawn().expect("btu starts");
    let deadline = Instant::now() + Duration::from_secs(30);
    while laboratory.stored_cells() < 1 {
        assert!(Instant::now() < deadline, "no cell after 30 s");
        std::thread::sleep(Duration::from_millis(20));
    }
    send(laboratory.process("internal worker"), Signal::SIGKILL);
    std::thread::sleep(Duration::from_millis(500));
    send(child.id().cast_signed(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("btu app --resume r1"), "{}", text(&output.stderr));
    laboratory.assert_down();
    let stored = laboratory.stored_cells();
    app(&laboratory, &["--resume", "latest"]);
    let cells = laboratory.json(&["show", "--cells"]);
    let cells = cells.as_array().expect("a list of cells");
    assert!(stored < 14 && cells.len() == 14, "{stored} of {}", cells.len());
    let faults: Vec<&Value> =
        cells.iter().filter(|cell| cell["faults"].as_array().is_some_and(|all| !all.is_empty())).collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    // Who is killed before the other end has called, or while it calls, is missed by that one first.
    let told = |fault: &str| fault.contains("killed by") || fault.contains("preparing draw");
    let fault = &faults[0]["faults"][0];
    assert!(fault.as_str().is_some_and(told), "{:?}", faults[0]["faults"]);
}
