//! Failures: when one process dies, all processes end, and the finished results are kept.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::sizes;
use crate::common::{Laboratory, finish};
use crate::support::{LONG, send, text};

/// The time within which a kill ends every worker; taking the network down and storing the
/// interruption may double it.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Begins a long run on this network, causes a fault after two sizes, and checks that it ends in
/// order.
pub(crate) fn drill(
    laboratory: &Laboratory,
    [transport, network]: [&str; 2],
    bad: impl FnOnce(i32),
    code: Option<i32>,
    word: &str,
) {
    let count = || laboratory.json(&["runs"]).as_array().map_or(0, Vec::len);
    let (runs, deadline) = (count(), Instant::now() + LONG);
    let long =
        ["pipe", "--precision", "full", "--sizes", "1..64KiB", "--quiet", "--transport", transport];
    let place = if network == "local" { vec!["--local"] } else { vec!["--network", network] };
    let long = [&long[..], &place].concat();
    let child = laboratory.command(&long).spawn().expect("btu starts");
    while count() == runs || laboratory.stored_cells() < 2 {
        assert!(Instant::now() < deadline, "no two sizes after {LONG:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let began = Instant::now();
    bad(child.id().cast_signed());
    while laboratory.processes().iter().any(|(_, line)| line.contains("internal worker")) {
        assert!(began.elapsed() < LONG, "a worker still lives after {:?}", began.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    laboratory.assert_within(ENDS_WITHIN, began);
    let workers = began.elapsed();
    let output = finish(child);
    println!("{word}: workers ended after {workers:?}, btu after {:?}", began.elapsed());
    laboratory.assert_within(2 * ENDS_WITHIN, began);
    assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(word), "`{word}` is not in: {}", text(&output.stderr));
    laboratory.assert_down();
    let all = laboratory.json(&["runs"]);
    assert_eq!(all[runs]["state"], "interrupted", "{all}");
    assert!(sizes(&laboratory.json(&["show"])).len() >= 2, "finished sizes are kept");
}

/// The worker of this end.
pub(crate) fn worker(laboratory: &Laboratory, end: &str) -> i32 {
    let parent = format!("PPid:\t{}\n", laboratory.process(&agent(end)));
    let is_child = |process: i32| {
        std::fs::read_to_string(format!("/proc/{process}/status"))
            .is_ok_and(|status| status.contains(&parent))
    };
    let found = laboratory.processes().into_iter().find(|(process, _)| is_child(*process));
    found.expect("the station's agent has a worker").0
}

/// The text in the command line of the agent at this end.
fn agent(end: &str) -> String {
    format!("internal agent --station {end}")
}

/// The message when one was killed.
pub(crate) const KILLED: &str = "end was killed by signal 9, so the other was ended";

#[test]
fn whoever_dies_the_run_ends_and_what_was_finished_is_kept() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let kill = |end: &str| send(worker(&laboratory, end), Signal::SIGKILL);
    let part = |part: &str| laboratory.kill(part);
    let (veth, ethernet, local) = (["tcp", "veth"], ["tcp", "10 Mb/s"], ["tcp", "local"]);
    drill(&laboratory, veth, |_| kill("near"), Some(1), KILLED);
    drill(&laboratory, veth, |_| kill("far"), Some(1), KILLED);
    drill(
        &laboratory,
        veth,
        |_| part(&agent("far")),
        Some(1),
        "the agent on far was killed by SIGKILL",
    );
    drill(
        &laboratory,
        ethernet,
        |_| part("internal wire"),
        Some(1),
        "link emulator was killed by SIGKILL",
    );
    drill(&laboratory, ethernet, |_| part("internal init"), Some(1), "in the middle of the run");
    drill(&laboratory, veth, |_| part("internal testbed"), Some(1), "in the middle of the run");
    drill(&laboratory, local, |_| part(&agent("here")), Some(1), "station here");
    drill(
        &laboratory,
        veth,
        |controller| send(controller, Signal::SIGINT),
        Some(130),
        "was stopped",
    );
    drill(
        &laboratory,
        veth,
        |controller| send(controller, Signal::SIGTERM),
        Some(143),
        "was stopped",
    );
    drill(&laboratory, veth, |controller| send(controller, Signal::SIGKILL), None, "");
    drill(&laboratory, local, |controller| send(controller, Signal::SIGKILL), None, "");
}

/// Killed while namespaces are made, while the ends find each other, while the first size is
/// measured: nothing is left, and the run can be finished. Where the machine is slow it is killed
/// later too, until it has stored a run.
#[test]
fn the_controller_is_killed_before_the_first_size() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let arguments = ["pipe", "--network", "veth", "--sizes", "1..64", "--quiet"];
    for milliseconds in [20, 80, 200, 400, 800, 1600, 3200, 6400] {
        if milliseconds > 400
            && laboratory.json(&["runs"]).as_array().is_some_and(|runs| !runs.is_empty())
        {
            break;
        }
        let child = laboratory.command(&arguments).spawn().expect("btu starts");
        std::thread::sleep(Duration::from_millis(milliseconds));
        send(child.id().cast_signed(), Signal::SIGKILL);
        finish(child);
        laboratory.assert_down();
    }
    let output = laboratory
        .command(&["pipe", "--resume", "latest", "--quiet"])
        .output()
        .expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = laboratory.json(&["show"]);
    assert!(sizes(&result).len() > 6, "all sizes from 1 to 64: {result}");
    laboratory.assert_down();
    laboratory.assert_swept();
}

/// Begins a signature over an emulated line, stops the emulator repeatedly during the measurement,
/// and returns the result.
fn with_an_emulator_that_stops(laboratory: &Laboratory, stop: Duration) -> serde_json::Value {
    let arguments =
        ["pipe", "--precision", "full", "--trials", "5", "--network", "10 Mb/s", "--quiet"];
    let arguments = [&arguments[..], &["--sizes", "512,1024,2048"]].concat();
    let child = laboratory.command(&arguments).spawn().expect("btu starts");
    let wire = laboratory.process("internal wire");
    // Trials begin once a worker runs; a stop of the emulator before that makes no trial late.
    laboratory.process("internal worker");
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(150));
        send(wire, Signal::SIGSTOP);
        std::thread::sleep(stop);
        send(wire, Signal::SIGCONT);
    }
    let output = finish(child);
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    laboratory.json(&["show"])
}

fn kinds(result: &serde_json::Value) -> Vec<&str> {
    let warnings = result["result"]["warnings"].as_array().expect("a list of warnings");
    warnings.iter().filter_map(|warning| warning["kind"].as_str()).collect()
}

/// Times of a size are the network's only as far as the emulator carried frames when they were due:
/// otherwise a warning reports it. In any case every size has the state of the machine, both ends
/// and the network.
#[test]
fn an_emulator_that_stands_still_is_told() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let late = with_an_emulator_that_stops(&laboratory, Duration::from_millis(50));
    assert!(kinds(&late).contains(&"emulator-late"), "{:?}", kinds(&late));
    for cell in laboratory.json(&["show", "--cells"]).as_array().expect("a list of cells") {
        let conditions = &cell["seen"]["message"]["conditions"];
        for used in ["near_cpu_ns", "far_cpu_ns"] {
            assert!(conditions[used].as_u64().is_some_and(|used| used > 0), "{used}: {conditions}");
        }
        assert!(conditions["machine"]["idle_ns"].as_u64().is_some(), "{conditions}");
        assert!(
            conditions["network"]["elements"].as_array().is_some_and(|all| !all.is_empty()),
            "{conditions}"
        );
    }
}
