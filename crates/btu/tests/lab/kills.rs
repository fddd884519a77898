//! Random kills: at random moments, random processes of a run are killed or stopped. Whatever is
//! struck, the run ends or goes on, nothing is left behind, the database can be read, and the run
//! can be finished.
//!
//! Each trial follows from its seed, except for what the processes do meanwhile.

use std::ops::Range;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Laboratory, once};
use crate::support::text;

/// Runs of a few seconds, of several studies.
const RUNS: [&[&str]; 7] = [
    &[
        "rate",
        "--component",
        "SEND,SEND+DL",
        "--message",
        "65536",
        "--load",
        "idle,cpu",
        "--volume",
        "5 MB",
    ],
    &["speed", "--network", "10 Mb/s", "--profile", "standard", "-t", "100 ms"],
    &[
        "copy",
        "--network",
        "20 Mb/s",
        "--program",
        "bare,rcp,ftp",
        "--storage",
        "disk",
        "--size",
        "300 kB",
        "--contention",
        "0",
    ],
    &["app", "--factors", "protocol=stop-and-wait..batched,delay=5 ms..10 ms"],
    &["run", "--network", "10 Mb/s", "--blocks", "8", "--", "sh", "-c", "sleep 0.3 & wait"],
    &[
        "lan",
        "--network",
        "office-1988",
        "--stations",
        "0,1",
        "--task",
        "wp-load-document",
        "--time",
        "3 s",
    ],
    &["pipe", "--network", "10 Mb/s", "--sizes", "1..1KiB", "--profile", "quick", "--time", "3 s"],
];

/// Strikes come within this time after the start, which is about how long such a run takes.
const LATEST_STRIKE: Duration = Duration::from_secs(5);

/// A run whose parts were stopped notices by itself within this time, or is interrupted then, as a
/// user would do.
const UNTIL_INTERRUPTED: Duration = Duration::from_secs(20);

/// The time for an interrupted run to end, on a busy machine.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// The time for the rest of a run.
const RESUMED_WITHIN: Duration = Duration::from_secs(90);

/// Trials at a time; no more than shares of the machine.
const AT_ONCE: usize = 3;

/// Splitmix64: numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }
}

#[test]
fn whatever_is_killed_at_a_random_moment_nothing_is_left() {
    // Drills kill each process at a known moment, and run always.
    if once::is_unchanged() || once::is_late() {
        return;
    }
    // A seed of each study.
    trials(0..RUNS.len() as u64);
}

/// `BTU_KILL_SEEDS=20..40` runs a part of them.
#[test]
#[ignore = "takes a quarter of an hour: scripts/test --all"]
fn long_a_hundred_kills_leave_nothing() {
    let asked = std::env::var("BTU_KILL_SEEDS").unwrap_or_else(|_| "0..100".to_owned());
    let (first, end) = asked.split_once("..").expect("a range such as 20..40");
    trials(first.parse().expect("a number")..end.parse().expect("a number"));
}

/// Side by side: each trial waits most of its time.
fn trials(seeds: Range<u64>) {
    let all: Vec<u64> = seeds.collect();
    std::thread::scope(|scope| {
        for worker in 0..AT_ONCE {
            let own = all.iter().skip(worker).step_by(AT_ONCE);
            scope.spawn(move || {
                for seed in own {
                    let Some(laboratory) = Laboratory::open_once() else { return };
                    println!("seed {seed}: {}", trial(&laboratory, *seed));
                }
            });
        }
    });
}

/// One run that is struck; returns what happened.
fn trial(laboratory: &Laboratory, seed: u64) -> String {
    let mut random = Random(seed);
    let run = RUNS[(seed % RUNS.len() as u64) as usize];
    let quiet = [&run[..1], &["--quiet"], &run[1..]].concat();
    let mut child = laboratory.command(&quiet).spawn().expect("btu starts");
    let mut happened = format!("{}: ", run[0]);
    for _ in 0..=random.below(3) {
        sleep(Duration::from_millis(random.below(LATEST_STRIKE.as_millis() as u64 / 2)));
        happened += &strike(laboratory, &mut random);
    }
    let ended = end(&mut child, &happened);
    happened = format!("{happened}ended with {ended}; ");
    laboratory.assert_down();
    laboratory.assert_swept();
    happened + &assert_finished(laboratory, run[0], ended)
}

/// Kills or stops a process of the run, if there is one.
fn strike(laboratory: &Laboratory, random: &mut Random) -> String {
    let processes = laboratory.processes();
    if processes.is_empty() {
        return "all had ended; ".to_owned();
    }
    let (victim, line) = &processes[random.below(processes.len() as u64) as usize];
    let signal = if random.below(3) == 0 { Signal::SIGSTOP } else { Signal::SIGKILL };
    // It may be gone by now.
    let struck = kill(Pid::from_raw(*victim), signal);
    let line: Vec<&str> = line.split(' ').skip(1).take(3).collect();
    format!(
        "{signal} to `{}`{}; ",
        line.join(" "),
        if struck.is_ok() { "" } else { ", which had ended" }
    )
}

/// Waits for the end of a run; interrupts it if it has stopped parts, and kills it if it is stopped
/// itself.
fn end(child: &mut Child, happened: &str) -> ExitStatus {
    let process = Pid::from_raw(child.id().cast_signed());
    if let Some(status) = within(child, UNTIL_INTERRUPTED) {
        return status;
    }
    if is_stopped(process) {
        let _ = kill(process, Signal::SIGKILL);
    } else {
        let _ = kill(process, Signal::SIGINT);
    }
    within(child, ENDS_WITHIN)
        .unwrap_or_else(|| panic!("it is interrupted and does not end: {happened}"))
}

fn within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        let status = child.try_wait().expect("a child can be asked");
        if status.is_some() || began.elapsed() > time {
            return status;
        }
        sleep(Duration::from_millis(20));
    }
}

fn is_stopped(process: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

/// The database can be read, and a run that is not complete is completed.
fn assert_finished(laboratory: &Laboratory, study: &str, ended: ExitStatus) -> String {
    let runs = laboratory.json(&["runs"]);
    let Some(run) = runs.as_array().and_then(|runs| runs.last()) else {
        assert!(!ended.success(), "it says that it succeeded, and no run is stored");
        return "no run was stored yet".to_owned();
    };
    laboratory.json(&["show", "latest"]);
    laboratory.json(&["show", "latest", "--cells"]);
    let (state, cells) = (run["state"].clone(), run["cells"].clone());
    if state == "complete" {
        return "the run was complete".to_owned();
    }
    // It failed where a part was lost before the first cell.
    assert!(state == "interrupted" || state == "failed", "{run}");
    assert!(!ended.success(), "it says that it succeeded: {run}");
    let words = [study, "--quiet", "--resume", "latest"];
    let mut resumed = laboratory.command(&words).spawn().expect("btu starts");
    if within(&mut resumed, RESUMED_WITHIN).is_none() {
        let _ = resumed.kill();
        panic!("the rest was not measured within {RESUMED_WITHIN:?}");
    }
    let output = resumed.wait_with_output().expect("its output can be read");
    assert!(output.status.success(), "{cells} cells: {}", text(&output.stderr));
    let runs = laboratory.json(&["runs"]);
    assert_eq!(runs[0]["state"], "complete", "{runs}");
    laboratory.assert_down();
    laboratory.assert_swept();
    format!("{cells} cells were kept, and the rest was measured")
}
