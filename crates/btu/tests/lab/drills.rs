//! Fault drills: if any process dies in the middle of a run, all others end within five seconds,
//! nothing is left behind, stored cells survive, and the run can be resumed.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{DOWN_WITHIN, Laboratory, finish};
use crate::support::{send, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A run of a few rows, long enough to be caught in the middle: with short cells, it takes four
/// seconds.
const RUN: [&str; 9] = [
    "--component",
    "SEND,SEND+DL",
    "--message",
    "65536",
    "--load",
    "idle,cpu",
    "--quiet",
    "--volume",
    "5 MB",
];

/// The same with cells in which a worker can be caught.
const LONG_CELLS: &[&str] = RUN.split_at(7).0;

/// Rows of `RUN` in its three least blocks: two components, two loads, and cpu alone.
const LEAST_CELLS: u64 = 3 * (2 * 2 + 1);

fn interrupt(laboratory: Option<Laboratory>, signal: Signal, code: i32) {
    let Some(laboratory) = laboratory else { return };
    let child = laboratory.begin(&RUN, 4);
    let (controller, began) = (child.id().cast_signed(), Instant::now());
    send(controller, signal);
    let output = finish(child);
    laboratory.assert_within(DOWN_WITHIN, began);
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("btu rate --resume r1"), "{}", text(&output.stderr));
    laboratory.assert_down();
    laboratory.assert_swept();
    assert_resumes(&laboratory, "interrupted", LEAST_CELLS);
}

/// What is stored stays as it is, and `--resume` brings the rest of the same plan, which has at
/// least so many cells.
pub(crate) fn assert_resumes(laboratory: &Laboratory, state: &str, least: u64) {
    let runs = laboratory.json(&["runs"]);
    assert_eq!(runs[0]["state"], state, "{runs}");
    let before = laboratory.json(&["show", "--cells"]);
    let kept = before.as_array().expect("a list of cells");
    assert!(kept.len() >= 4, "stored cells survive");
    let output = laboratory.rate(&["--resume", "latest", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = laboratory.json(&["show", "--cells"]);
    let all = after.as_array().expect("a list of cells");
    assert_eq!(&all[..kept.len()], &kept[..], "cells that were stored stay as they were");
    assert!(all.len() as u64 >= least, "{} cells", all.len());
    assert_eq!(laboratory.json(&["runs"])[0]["state"], "complete");
    laboratory.assert_down();
}

/// The capabilities that a process may use, and those that a program which it starts may have.
fn capabilities(process: i32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let of = |name| {
        let line =
            status.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel says it");
        u64::from_str_radix(line.trim(), 16).expect("hexadecimal digits")
    };
    (of("CapEff:"), of("CapBnd:"))
}

/// This holds for the superuser's processes, too, in a user namespace, where every process is the
/// superuser's.
#[test]
fn agents_and_the_emulator_keep_no_rights_that_they_have_no_use_for() {
    // Files of others (1 to 3), interfaces (12), locked memory (14), other processes' memory (19),
    // a share of a processor for one end of `btu app` (23), a superuser in user namespaces below
    // (31), of capabilities(7).
    const OF_WORKERS: u64 = 0b1110 | 1 << 12 | 1 << 14 | 1 << 19 | 1 << 23 | 1 << 31;
    let Some(laboratory) = Laboratory::open() else { return };
    let child = laboratory.begin(&RUN, 1);
    let wire = capabilities(laboratory.process("internal wire"));
    let agents = ["test", "active"].map(|station| {
        capabilities(laboratory.process(&format!("internal agent --station {station}")))
    });
    send(child.id().cast_signed(), Signal::SIGKILL);
    finish(child);
    assert_eq!(wire, (0, 0), "of the emulator");
    for (effective, bounding) in agents {
        assert_eq!(
            (effective & !OF_WORKERS, bounding & !OF_WORKERS),
            (0, 0),
            "{effective:x}, {bounding:x}"
        );
    }
    laboratory.assert_down();
}

/// They run `/proc/self/exe`, and `ps` and `top` would show `exe`.
#[test]
fn lists_of_processes_show_the_name_of_the_program() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let child = laboratory.begin(&RUN, 1);
    let parts = ["testbed", "init", "wire", "agent --station test"];
    let names = parts.map(|part| {
        let process = laboratory.process(&format!("internal {part}"));
        std::fs::read_to_string(format!("/proc/{process}/comm")).expect("it lives")
    });
    send(child.id().cast_signed(), Signal::SIGKILL);
    finish(child);
    assert_eq!(names, ["btu\n"; 4]);
    laboratory.assert_down();
}

#[test]
fn control_c() {
    interrupt(Laboratory::open(), Signal::SIGINT, 130);
}

#[test]
fn termination() {
    interrupt(Laboratory::open_once(), Signal::SIGTERM, 143);
}

#[test]
fn the_controller_is_killed() {
    let Some(laboratory) = Laboratory::open() else { return };
    let child = laboratory.begin(&RUN, 4);
    send(child.id().cast_signed(), Signal::SIGKILL);
    finish(child);
    laboratory.assert_down();
    laboratory.assert_swept();
    assert_resumes(&laboratory, "interrupted", LEAST_CELLS);
}

/// Killed while namespaces are made, while the network is checked, while work is calibrated:
/// nothing is left, and the run can be finished. Where the machine is slow it is killed later too,
/// until it has stored a run.
#[test]
fn the_controller_is_killed_before_the_first_cell() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    for milliseconds in [20, 80, 200, 400, 800, 1600, 3200, 6400] {
        let has_run = || laboratory.json(&["runs"]).as_array().is_some_and(|runs| !runs.is_empty());
        if milliseconds > 800 && has_run() {
            break;
        }
        let all: Vec<&str> = ["rate"].iter().chain(&RUN).copied().collect();
        let child = laboratory.command(&all).spawn().expect("btu starts");
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        send(child.id().cast_signed(), Signal::SIGKILL);
        finish(child);
        laboratory.assert_down();
    }
    let output = laboratory.rate(&["--resume", "latest", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(laboratory.stored_cells() >= LEAST_CELLS);
    laboratory.assert_down();
    laboratory.assert_swept();
}

/// Kills the process with `part` in its command line; the run ends with a message about it.
fn kill_part(laboratory: Option<Laboratory>, part: &str, word: &str) {
    let Some(laboratory) = laboratory else { return };
    let child = laboratory.begin(&RUN, 4);
    let began = Instant::now();
    laboratory.kill(part);
    let output = finish(child);
    laboratory.assert_within(DOWN_WITHIN, began);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(word), "`{word}` is not in: {}", text(&output.stderr));
    laboratory.assert_down();
    laboratory.assert_swept();
    assert_resumes(&laboratory, "interrupted", LEAST_CELLS);
}

#[test]
fn an_agent_is_killed() {
    kill_part(
        Laboratory::open_once(),
        "internal agent --station active",
        "the agent on active was killed by SIGKILL",
    );
}

#[test]
fn the_agent_of_the_machine_under_test_is_killed() {
    kill_part(
        Laboratory::open_once(),
        "internal agent --station test",
        "the agent on test was killed by SIGKILL",
    );
}

#[test]
fn the_wire_is_killed() {
    kill_part(Laboratory::open(), "internal wire", "the link emulator was killed by SIGKILL");
}

#[test]
fn the_first_process_of_the_testbed_is_killed() {
    kill_part(Laboratory::open(), "internal init", "the testbed");
}

#[test]
fn the_outer_process_of_the_testbed_is_killed() {
    kill_part(Laboratory::open(), "internal testbed", "the testbed");
}

/// A worker that dies makes only its own cell void.
#[test]
fn a_worker_is_killed() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let mut child = laboratory.begin(LONG_CELLS, 4);
    strike(&laboratory, &mut child, Signal::SIGKILL);
    let cells = assert_goes_on(&laboratory, child);
    let faults: Vec<String> = faults(&cells);
    assert!(!faults.is_empty() && faults.len() <= 2, "one cell is marked: {faults:?}");
}

/// A worker that hangs is killed at its deadline and its cell marked.
#[test]
fn a_worker_hangs() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let mut child = laboratory.begin(LONG_CELLS, 4);
    strike(&laboratory, &mut child, Signal::SIGSTOP);
    let cells = assert_goes_on(&laboratory, child);
    let faults: Vec<String> = faults(&cells);
    assert!(
        faults.iter().any(|fault| fault.contains("was killed: not finished after")
            || fault.contains("not ready after")),
        "{faults:?}"
    );
}

/// Sends the signal to one worker after the other until a cell has a fault: a worker that is found
/// may have done its work already.
fn strike(laboratory: &Laboratory, child: &mut Child, signal: Signal) {
    let mut runs = || child.try_wait().expect("a child can be asked").is_none();
    while runs() && faults(&laboratory.json(&["show", "--cells"])).is_empty() {
        let next = laboratory.stored_cells() + 2;
        // It may be gone by now.
        let _ = kill(Pid::from_raw(laboratory.process("internal worker")), signal);
        while runs() && laboratory.stored_cells() < next {
            sleep(Duration::from_millis(50));
        }
    }
}

fn assert_goes_on(laboratory: &Laboratory, child: Child) -> serde_json::Value {
    let output = finish(child);
    assert!(output.status.success(), "the run goes on: {}", text(&output.stderr));
    laboratory.assert_down();
    laboratory.json(&["show", "--cells"])
}

fn faults(cells: &serde_json::Value) -> Vec<String> {
    let cells = cells.as_array().expect("a list of cells");
    let faults = cells.iter().flat_map(|cell| cell["faults"].as_array().expect("a list of faults"));
    faults.map(|fault| fault.as_str().expect("a text").to_owned()).collect()
}
