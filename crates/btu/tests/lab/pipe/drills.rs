//! Bad days: whoever dies, everybody ends, and what was finished is kept.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::sizes;
use crate::common::{Laboratory, finish};
use crate::support::{send, text};

/// Killing anything ends every worker within this; to take the network down and to store that the run was interrupted may take as
/// much again on a machine with other work.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
const BUSY: Duration = Duration::from_secs(2);

/// Begins a long run on this network, does something bad to it after two sizes, and sees it end in order.
pub(crate) fn drill(
    laboratory: &Laboratory,
    [transport, network]: [&str; 2],
    bad: impl FnOnce(i32),
    code: Option<i32>,
    word: &str,
) {
    let count = || laboratory.json(&["runs"]).as_array().map_or(0, Vec::len);
    let (runs, deadline) = (count(), Instant::now() + Duration::from_secs(30));
    let long = ["pipe", "--precision", "full", "--sizes", "1..64KiB", "--quiet", "--network", network];
    let long = [&long[..], &["--transport", transport]].concat();
    let child = laboratory.command(&long).spawn().expect("btu starts");
    while count() == runs || laboratory.stored_cells() < 2 {
        assert!(Instant::now() < deadline, "no two sizes after 30 s");
        std::thread::sleep(Duration::from_millis(50));
    }
    let began = Instant::now();
    bad(child.id().cast_signed());
    while laboratory.processes().iter().any(|(_, line)| line.contains("internal worker")) {
        assert!(began.elapsed() < ENDS_WITHIN, "a worker still lives after {:?}", began.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    let workers = began.elapsed();
    let output = finish(child);
    println!("{word}: workers ended after {workers:?}, btu after {:?}", began.elapsed());
    assert!(began.elapsed() < ENDS_WITHIN + BUSY, "it took {:?} to end", began.elapsed());
    assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(word), "`{word}` is not in: {}", text(&output.stderr));
    laboratory.assert_down();
    let all = laboratory.json(&["runs"]);
    assert_eq!(all[runs]["state"], "interrupted", "{all}");
    assert!(sizes(&laboratory.json(&["show"])).len() >= 2, "finished sizes are kept");
}

/// The worker of this end.
pub(crate) fn worker(laboratory: &Laboratory, end: &str) -> i32 {
    let parent = format!("PPid:\t{}\n", laboratory.process(&format!(" {end} -- ")));
    let is_child = |process: i32| {
        std::fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(|status| status.contains(&parent))
    };
    let found = laboratory.processes().into_iter().find(|(process, _)| is_child(*process));
    found.expect("the station's command is a worker").0
}

/// What is said when one was killed.
pub(crate) const KILLED: &str = "end was killed (signal: 9 (SIGKILL))";

#[test]
fn whoever_dies_the_run_ends_and_what_was_finished_is_kept() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let kill = |end: &str| send(worker(&laboratory, end), Signal::SIGKILL);
    let part = |part: &str| send(laboratory.process(part), Signal::SIGKILL);
    let (veth, ethernet) = (["tcp", "veth"], ["tcp", "10 Mb/s"]);
    drill(&laboratory, veth, |_| kill("near"), Some(1), KILLED);
    drill(&laboratory, veth, |_| kill("far"), Some(1), KILLED);
    drill(&laboratory, ethernet, |_| part("internal wire"), Some(1), "wire was killed by SIGKILL");
    drill(&laboratory, ethernet, |_| part("internal init"), Some(1), "while it was measured on");
    drill(&laboratory, veth, |coordinator| send(coordinator, Signal::SIGINT), Some(130), "was stopped");
    drill(&laboratory, veth, |coordinator| send(coordinator, Signal::SIGKILL), None, "");
}
