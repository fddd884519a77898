//! Several signatures in turns, HINT, and runs that are finished later.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{command, json, printed};
use crate::common::Laboratory;
use crate::share::Share;
use crate::support::{LONG, send, text};

const QUICK: [&str; 5] = ["pipe", "--quiet", "--trials", "6", "--target-time"];

/// The whole stack in turns; shown again, written as files, and carried to another machine.
#[test]
fn layers_are_measured_in_turns() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = directory.path();
    let (csv, archive) = (here.join("layers.csv"), here.join("layers.btu"));
    let [csv, archive] = [&csv, &archive].map(|path| path.to_str().expect("a path"));
    let transports = "unix-stream,udp,tcp";
    let asked = [
        "2 ms",
        "--local",
        "--layers",
        "--transport",
        transports,
        "--sizes",
        "1,64,70000",
        "--csv",
        csv,
    ];
    let result = json(here, &[&QUICK[..], &asked].concat());
    assert_eq!(
        (&result["run"]["study"], &result["run"]["state"]),
        (&"pipe".into(), &"complete".into())
    );
    let layers = result["result"]["layers"].as_array().expect("a list");
    assert_eq!(layers.iter().map(|layer| &layer["kind"]).collect::<Vec<_>>(), ["udp", "tcp"]);
    for layer in layers {
        let ratio = &layer["sizes"][1]["throughput_ratio"];
        assert!(
            ratio["value"].as_f64() > Some(0.0) && ratio["interval"]["low"].is_number(),
            "{layer}"
        );
    }
    // Two sizes of UDP, three of the others, each with its share of the first.
    assert_eq!(std::fs::read_to_string(csv).expect("a file").lines().count(), 9);
    let points = json(here, &["show", "--cells"]);
    let order: Vec<u64> = points
        .as_array()
        .expect("points")
        .iter()
        .filter_map(|point| point["series"].as_u64())
        .collect();
    // A pass for each trial.
    let expected = [0, 1, 2, 2, 1, 0, 0, 2].repeat(6);
    assert_eq!(order, expected, "every second size goes the other way round");
    assert!(printed(here, &["show", "--all"]).contains("What it costs"));
    printed(here, &["runs", "export", "r1", "--output", archive]);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    printed(elsewhere.path(), &["runs", "import", archive]);
    assert_eq!(json(elsewhere.path(), &["show", "--cells"]), points);
}

#[test]
fn a_busy_machine_is_compared_with_the_idle_one() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let asked = ["20 ms", "--local", "--load", "cpu", "--sizes", "1,1000"];
    let result = json(directory.path(), &[&QUICK[..], &asked].concat());
    let loads: Vec<&Value> = result["result"]["signatures"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["load"])
        .collect();
    assert_eq!(loads, ["idle", "cpu"]);
    assert!(result["result"]["loads"][0]["latency_ratio"]["value"].is_number());
    let events = result["run"]["events"].to_string();
    assert!(events.contains("the load `cpu` did") && !events.contains("did 0 rounds"), "{events}");
    assert!(printed(directory.path(), &["show", "--all"]).contains("What it costs"));
}

#[test]
fn signatures_are_compared_with_signatures() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = directory.path();
    for transport in ["tcp", "unix-stream"] {
        let asked = ["2 ms", "--local", "--sizes", "1,64,4096", "--transport", transport];
        json(here, &[&QUICK[..], &asked].concat());
    }
    json(here, &[&QUICK[..], &["2 ms", "--local", "--sizes", "1,64", "--load", "cpu"]].concat());
    let compared = json(here, &["compare", "r1", "r2", "--all"]);
    assert_eq!((&compared["base"], &compared["others"][0]["run"]), (&"r1".into(), &"r2".into()));
    assert_eq!(compared["others"][0]["sizes"].as_array().map(Vec::len), Some(3));
    assert!(printed(here, &["compare", "r1", "r2", "--all"]).contains("r2 compared with r1"));
    let missing = command(here, &["compare", "r1", "r99"]).output().expect("btu runs");
    assert!(text(&missing.stderr).contains("r99"), "{}", text(&missing.stderr));
    for (arguments, word) in [
        (&["compare", "r1", "r1"][..], "the same run was given twice"),
        (&["compare", "r1", "r3"], "is not a run of a single signature"),
        (&["compare", "r1", "r2", "--fail-if-slower", "5%"], "are for ratings"),
        (&["compare", "r1"], "name two or more"),
    ] {
        let output = command(here, arguments).output().expect("btu runs");
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains(word),
            "`{word}` is not in: {}",
            text(&output.stderr)
        );
    }
}

/// Killed, then resumed: the stored points stay, the missing ones are added.
#[test]
fn a_run_that_broke_off_is_finished() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = directory.path();
    for way in [&["--transport", "tcp"][..], &["--layers", "--transport", "unix-stream,tcp"]] {
        let long = [
            &[
                "pipe",
                "--quiet",
                "--local",
                "--trials",
                "3",
                "--target-time",
                "30 ms",
                "--sizes",
                "1..64",
            ],
            way,
        ]
        .concat();
        let before = json(here, &["runs"]).as_array().map_or(0, Vec::len);
        let mut child = command(here, &long).spawn().expect("btu starts");
        let deadline = Instant::now() + LONG;
        let stored = || json(here, &["runs"])[before]["cells"].as_u64().unwrap_or(0);
        while stored() < 3 {
            assert!(Instant::now() < deadline, "no three sizes after {LONG:?}");
        }
        let directories = directories_of(child.id());
        assert!(!directories.is_empty(), "a run that goes on has a directory");
        send(child.id().cast_signed(), Signal::SIGKILL);
        child.wait().expect("it ended");
        let kept = json(here, &["show", "--cells"]);
        let kept = kept.as_array().expect("points");
        let result = json(here, &["pipe", "--resume", "latest", "--quiet"]);
        assert_eq!(result["run"]["state"], "complete");
        let is_swept = directories.iter().all(|directory| !directory.exists());
        assert!(is_swept, "the next run sweeps: {directories:?}");
        let all = json(here, &["show", "--cells"]);
        let all = all.as_array().expect("points");
        assert_eq!(&all[..kept.len()], &kept[..], "what was stored stays as it was");
        // 1..64: 1 2 3 4 6 8 12 13 16 19 21 24 27 29 32 35 45 48 51 61 64.
        let passes = 3;
        assert_eq!(all.len(), 21 * passes * if way.contains(&"--layers") { 2 } else { 1 });
        let again = command(here, &["pipe", "--resume", "latest", "--quiet", "--json"])
            .output()
            .expect("btu runs");
        assert!(
            again.status.success()
                && text(&again.stderr).ends_with("is complete; nothing to do.\n")
        );
        let again: serde_json::Value =
            serde_json::from_slice(&again.stdout).expect("--json prints JSON");
        assert_eq!(again["run"], result["run"], "a complete run stays as it is");
    }
    let output = command(here, &["pipe", "--resume", "r9"]).output().expect("btu runs");
    assert!(
        !output.status.success() && text(&output.stderr).contains("r9"),
        "{}",
        text(&output.stderr)
    );
}

/// The directories of sockets that a process owns, by its locks. They are named while it lives: any
/// other btu of this user that starts after its death takes them away.
fn directories_of(process: u32) -> Vec<PathBuf> {
    let open = fs::read_dir(format!("/proc/{process}/fd")).expect("its open files").flatten();
    let files = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let locks = files.filter(|file| file.ends_with("btu-testbed.lock"));
    locks.filter_map(|lock| lock.parent().map(Path::to_path_buf)).collect()
}

/// Every load in the stations of a network, with the file transfer's server in the other one.
#[test]
fn every_load_works_in_a_station() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let asked = ["5 ms", "--load", "cpu,disk,transfer", "--sizes", "64,65536"];
    let result = laboratory.json(&[&QUICK[..], &asked].concat());
    assert_eq!(result["result"]["loads"].as_array().map(Vec::len), Some(3));
    let events = result["run"]["events"].to_string();
    for load in ["cpu", "disk", "transfer"] {
        assert!(events.contains(&format!("the load `{load}` did")), "{load} in {events}");
    }
    laboratory.assert_down();
    laboratory.assert_swept();
}

/// Two real processes, with 1 Mb/s between them: bounds hold, Q = P n - 1, and an exchange is two
/// messages. The messages of HINT have 24 bytes, those of the pipe that is measured with it 16:
/// with 90 more of headers, preamble and gap, 114 octets on the line are 7.5 % more than 106.
#[test]
fn hint_by_two_processes_over_a_network() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let result = laboratory.json(&[
        "pipe",
        "--hint",
        "--network",
        "1 Mb/s",
        "--precision",
        "quick",
        "--quiet",
    ]);
    let two = &result["result"]["two"];
    assert_eq!((&two["outside"], &two["off_law"]), (&0.into(), &0.into()), "{two}");
    let qualities: Vec<i64> = two["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| Some(step["quality"].as_f64()?.round() as i64))
        .collect();
    assert_eq!(qualities[..8], [7, 9, 11, 13, 15, 19, 23, 29], "1996, figure 6");
    let ratio = two["exchange_ratio"].as_f64().expect("a ratio");
    judge!(laboratory, (0.95..1.2).contains(&ratio), "an exchange is {ratio} times two messages");
    assert!(result["result"]["one"]["peak_quips"].as_f64() > Some(0.0));
    assert!(laboratory.json(&["show", "--cells"]).as_array().expect("records").len() > 40);
    laboratory.assert_down();
}
