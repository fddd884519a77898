//! Signatures by the real program: stored and shown, true on an emulated Ethernet, and cut short by bad days.

mod common;

use std::path::Path;
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
    let directory = tempfile::tempdir().expect("a temporary directory");
    let btu = |arguments: &[&str]| printed(directory.path(), arguments);
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

const QUICK: [&str; 5] = ["pipe", "--quiet", "--trials", "6", "--target-time"];

/// The whole stack in turns; shown again, written as files, and carried to another machine.
#[test]
fn layers_are_measured_in_turns() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = directory.path();
    let (csv, archive) = (here.join("layers.csv"), here.join("layers.btu"));
    let [csv, archive] = [&csv, &archive].map(|path| path.to_str().expect("a path"));
    let transports = "unix-stream,udp,tcp";
    let asked = ["2 ms", "--local", "--layers", "--transport", transports, "--sizes", "1,64,70000", "--csv", csv];
    let result = json(here, &[&QUICK[..], &asked].concat());
    assert_eq!((&result["run"]["suite"], &result["run"]["state"]), (&"pipe-layers".into(), &"complete".into()));
    let layers = result["result"]["layers"].as_array().expect("a list");
    assert_eq!(layers.iter().map(|layer| &layer["kind"]).collect::<Vec<_>>(), ["udp", "tcp"]);
    for layer in layers {
        let ratio = &layer["sizes"][1]["throughput_ratio"];
        assert!(ratio["value"].as_f64() > Some(0.0) && ratio["interval"]["low"].is_number(), "{layer}");
    }
    // Two sizes of UDP, three of the others, each with its share of the first.
    assert_eq!(std::fs::read_to_string(csv).expect("a file").lines().count(), 9);
    let points = json(here, &["show", "--cells"]);
    let order: Vec<u64> =
        points.as_array().expect("points").iter().filter_map(|point| point["series"].as_u64()).collect();
    assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 2], "every second size goes the other way round");
    assert!(printed(here, &["show"]).contains("The cost of each layer above Unix stream"));
    printed(here, &["export", "r1", "--output", archive]);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    printed(elsewhere.path(), &["import", archive]);
    assert_eq!(json(elsewhere.path(), &["show", "--cells"]), points);
}

#[test]
fn a_busy_machine_stands_beside_the_idle_one() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let asked = ["5 ms", "--local", "--load", "cpu", "--sizes", "1,1000"];
    let result = json(directory.path(), &[&QUICK[..], &asked].concat());
    let loads: Vec<&Value> =
        result["result"]["signatures"].as_array().expect("a list").iter().map(|one| &one["load"]).collect();
    assert_eq!(loads, ["idle", "cpu"]);
    assert!(result["result"]["loads"][0]["latency_ratio"]["value"].is_number());
    let events = result["run"]["events"].to_string();
    assert!(events.contains("the load `cpu` did") && !events.contains("did 0 rounds"), "{events}");
    assert!(printed(directory.path(), &["show"]).contains("What the load costs"));
}

/// Killed, then resumed: what was stored stays, what was missing is added.
#[test]
fn a_run_that_broke_off_is_finished() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let here = directory.path();
    for way in [&["--transport", "tcp"][..], &["--layers", "--transport", "unix-stream,tcp"]] {
        let long =
            [&["pipe", "--quiet", "--local", "--trials", "3", "--target-time", "30 ms", "--sizes", "1..64"], way]
                .concat();
        let before = json(here, &["runs"]).as_array().map_or(0, Vec::len);
        let mut child = command(here, &long).spawn().expect("btu starts");
        let deadline = Instant::now() + Duration::from_secs(30);
        let stored = || json(here, &["runs"])[before]["cells"].as_u64().unwrap_or(0);
        while stored() < 3 {
            assert!(Instant::now() < deadline, "no three sizes after 30 s");
        }
        send(child.id().cast_signed(), Signal::SIGKILL);
        child.wait().expect("it ended");
        let kept = json(here, &["show", "--cells"]);
        let kept = kept.as_array().expect("points");
        let result = json(here, &["pipe", "--resume", "latest", "--quiet"]);
        assert_eq!(result["run"]["state"], "complete");
        let all = json(here, &["show", "--cells"]);
        let all = all.as_array().expect("points");
        assert_eq!(&all[..kept.len()], &kept[..], "what was stored stays as it was");
        // 1..64: 1 2 3 4 6 8 12 13 16 19 21 24 27 29 32 35 45 48 51 61 64.
        assert_eq!(all.len(), 21 * if way.contains(&"--layers") { 2 } else { 1 });
    }
    let output = command(here, &["pipe", "--resume", "r9"]).output().expect("btu runs");
    assert!(!output.status.success() && text(&output.stderr).contains("r9"), "{}", text(&output.stderr));
}

/// Every load in the stations of a network, with the file transfer's server in the other one.
#[test]
fn every_load_works_in_a_station() {
    let Some(laboratory) = Laboratory::open() else { return };
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

/// Two real processes, with 1 Mb/s between them: bounds hold, Q = P n - 1, and an exchange is two messages. Its messages
/// have 24 bytes and those beside it 16: with 90 more of headers, preamble and gap, 114 octets on the line are 7.5 % more
/// than 106.
#[test]
fn hint_by_two_processes_over_a_network() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let result = laboratory.json(&["pipe", "--hint", "--network", "1 Mb/s", "--precision", "quick", "--quiet"]);
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
    assert!((0.95..1.2).contains(&ratio), "an exchange is {ratio} times two messages");
    assert!(result["result"]["one"]["peak_quips"].as_f64() > Some(0.0));
    assert!(laboratory.json(&["show", "--cells"]).as_array().expect("records").len() > 40);
    laboratory.assert_down();
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table: [(&[&str], &str); 9] = [
        (&["--layers", "--transport", "tcp"], "--layers needs two transports or more"),
        (&["--layers", "--cold"], "leave one out"),
        (&["--load", "idle"], "there are cpu, disk, transfer"),
        (&["--resume", "latest", "--sizes", "1"], "cannot be used with"),
        (&["--transport", "udp", "--pattern", "streaming"], "UDP does not know any pattern but ping-pong"),
        (&["--transport", "pipe", "--nodelay", "off"], "pipe does not know Nagle's algorithm"),
        (&["--transport", "udp", "--sizes", "1MB"], "give smaller sizes"),
        (&["--network", "nowhere"], "there is no file and no library network `nowhere`"),
        (&["--network", "satellite", "--to", "moon"], "there is no station `moon`"),
    ];
    for (arguments, word) in table {
        let output = command(directory.path(), &[&["pipe"], arguments].concat()).output().expect("btu runs");
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
