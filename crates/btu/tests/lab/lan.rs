//! `btu lan` on drawn networks: a server with a known closed form, and fault drills.

use std::time::{Duration, Instant};

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::support::{LONG, send, text};

/// An office with a switch so fast that only the server's 2 ms count, and a second network with a
/// line of 1 Mb/s.
const OFFICE: &str = "
name = \"office\"
[segments.switch]
medium = \"switched-ethernet\"
rate = \"1 Gb/s\"
[segments.slow]
medium = \"switched-ethernet\"
rate = \"1 Mb/s\"
[stations.server]
segment = \"switch\"
[stations.bench]
segment = \"switch\"
[stations.station]
segment = \"switch\"
count = 10
[stations.throttled]
segment = \"slow\"
[bridges.between]
segments = [\"switch\", \"slow\"]
";

/// The tolerance, as a share of the closed form.
const TOLERANCE: f64 = 0.05;

/// `btu lan` at a server that takes 2 ms for each operation.
fn arguments<'a>(network: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let always = ["lan", "--quiet", "--service-time", "2 ms", "--network", network];
    [&always[..], more].concat()
}

fn office(laboratory: &Laboratory) -> String {
    file(laboratory, "office.toml", OFFICE)
}

fn file(laboratory: &Laboratory, name: &str, text: &str) -> String {
    let path = laboratory.directory.path().join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Measures, and returns the result as JSON.
fn measured(laboratory: &Laboratory, words: &[&str]) -> Value {
    let output = laboratory.command(words).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = laboratory.json(&["show"])["result"].clone();
    for row in result["rows"].as_array().expect("rows") {
        assert_eq!(row["invalid"], 0, "{row}: {}", result["warnings"]);
    }
    result
}

fn spread(result: &Value) -> Value {
    result["stations"].as_array().expect("levels").last().expect("stations")["spread"].clone()
}

/// Every station without a pause adds its own service: slowdown k + 1, less an operation's time
/// outside the server. Slowdown and queue are those of the closed form, equal stations are served
/// equally, and the counts of both ends agree.
#[test]
fn a_server_of_two_milliseconds_has_the_queue_of_its_closed_form() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    the_queue_is_that_of_the_closed_form(&laboratory, "0,1,4,10");
}

/// Like `a_server_of_two_milliseconds_has_the_queue_of_its_closed_form`, for every number of
/// stations up to ten.
#[test]
#[ignore = "takes some 40 s: scripts/lan-lab"]
fn every_number_of_stations_has_the_queue_of_its_closed_form() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    the_queue_is_that_of_the_closed_form(&laboratory, "0,1,2,3,4,5,6,7,8,9,10");
}

fn the_queue_is_that_of_the_closed_form(laboratory: &Laboratory, levels: &str) {
    let network = office(laboratory);
    let result = measured(
        laboratory,
        &arguments(
            &network,
            &["--task", "wp-load-document", "--stations", levels, "--most", "30 ms"],
        ),
    );
    for row in result["rows"].as_array().expect("rows") {
        let Some(count @ 1..) = row["level"]["stations"].as_u64() else { continue };
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
        let slowdown = row["slowdown"]["value"].as_f64().expect("a slowdown");
        // Of the queue a share of all who could stand in it: where there are few, what one does
        // outside of the server takes much of the time that it could.
        let all = count as f64 + 1.0;
        for (what, found, expected, whole) in [
            ("slowdown", slowdown, number("regular"), number("regular")),
            ("queue", number("queue"), number("regular_queue"), all),
        ] {
            println!("{count} stations: {what} {found:.3}, expected {expected:.3}");
            judge!(
                laboratory,
                (found - expected).abs() <= TOLERANCE * whole,
                "{count} stations, {what}: {found}, not {expected}"
            );
        }
        // Irregular times would make it longer; the closed form assumes them for any server.
        judge!(laboratory, slowdown <= number("expected") * (1.0 + TOLERANCE / 2.0), "{row}");
        let most = count as f64 + 1.0;
        judge!(
            laboratory,
            (0.75 * most..=1.02 * most).contains(&slowdown),
            "{slowdown} at {count} stations"
        );
    }
    let spread = spread(&result);
    let apart = spread["longest_over_shortest"].as_f64().expect("a spread");
    judge!(
        laboratory,
        apart < 1.05 && spread["fairness"].as_f64().expect("an index") > 0.99,
        "{spread}"
    );
    // While k stations do the task, a transaction of two operations takes 4 (k + 1) ms, which
    // crosses 30 ms between six stations and seven.
    let users = result["users"]["fit"]["stations"]["value"].as_f64().expect("users by the curve");
    judge!(laboratory, (6.0..=8.0).contains(&users), "{}", result["users"]);
}

/// A station behind a slow line is slower, and the test finds it among equal ones.
#[test]
fn a_throttled_station_is_found_among_equal_ones() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let network = office(&laboratory);
    // All others take part, so that the file's last station does, too; only this one waits some 10
    // ms for its line.
    let result = measured(
        &laboratory,
        &[
            "lan",
            "--quiet",
            "--service-time",
            "0.2 ms",
            "--network",
            &network,
            "--task",
            "fm-index",
            "--stations",
            "11",
        ],
    );
    let found = spread(&result);
    judge!(laboratory, found["longest_over_shortest"].as_f64().expect("a spread") > 1.5, "{found}");
    let shown = text(&laboratory.command(&["show", "--all"]).output().expect("btu starts").stdout);
    let line =
        shown.lines().find(|line| line.trim_start().starts_with("11 ") && line.contains("yes"));
    assert!(line.is_some(), "they differ: {shown}");
    let level = result["stations"][0]["stations"].as_array().expect("stations");
    let slowest = level.iter().max_by(|a, b| {
        a["mean_seconds"].as_f64().partial_cmp(&b["mean_seconds"].as_f64()).expect("numbers")
    });
    assert_eq!(slowest.expect("stations")["station"], "throttled");
}

/// A trace of one save.
const TRACE: &str = "0 stat letter\n0.002 open letter\n0.004 read letter 0 4096\n0.006 make new\n0.008 write new 0 4096\n0.010 flush \
                     new\n0.012 rename new letter\n";

/// Several stations on one host work in a directory of a share; no file is left there, after a
/// complete or a stopped run.
#[test]
fn a_share_is_measured_by_several_stations_on_a_host_and_left_as_it_was() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let share = laboratory.directory.path().join("share");
    std::fs::create_dir(&share).expect("a directory");
    let at = share.to_str().expect("a path in UTF-8").to_owned();
    let trace = file(&laboratory, "save.trace", TRACE);
    let words =
        ["lan", "--quiet", "--at", &at, "--stations", "0,5", "--task", "fm-sort,small-files"];
    let result = measured(&laboratory, &[&words[..], &["--trace", &trace]].concat());
    assert!(
        result["share"]["filesystem"].as_str().is_some_and(|kind| !kind.is_empty()),
        "{}",
        result["share"]
    );
    let level = &result["stations"].as_array().expect("levels")[0];
    assert_eq!(
        (level["count"].as_u64(), level["stations"].as_array().map(Vec::len)),
        (Some(5), Some(5))
    );
    // Seven operations every 14 ms, of five stations: none is performed before it is due.
    let rate = level["per_second"].as_f64().expect("a rate");
    judge!(laboratory, (1000.0..=2600.0).contains(&rate), "{rate} operations a second");
    let entries = || std::fs::read_dir(&share).expect("readable").count();
    assert_eq!(entries(), 0);
    let child = laboratory
        .command(&[&words[..], &["--pattern", "mixed"]].concat())
        .spawn()
        .expect("btu starts");
    let deadline = Instant::now() + LONG;
    while entries() < 3 {
        assert!(Instant::now() < deadline, "no files on the share after {LONG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    send(child.id().cast_signed(), Signal::SIGINT);
    assert_eq!(finish(child).status.code(), Some(130));
    laboratory.assert_down();
    while entries() > 0 {
        assert!(
            Instant::now() < deadline,
            "left on the share: {:?}",
            std::fs::read_dir(&share).expect("readable").next()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Of a run that is killed with all its processes at once, the next one removes what is left.
    let mut child = laboratory.command(&words).spawn().expect("btu starts");
    while entries() == 0 {
        assert!(Instant::now() < deadline + LONG, "no files on the share");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    measured(&laboratory, &["lan", "--quiet", "--at", &at, "--stations", "0", "--task", "fm-sort"]);
    assert_eq!(entries(), 0);
}

/// Fifty stations on the processors of this machine: the result reports lateness and load, and
/// marks the numbers.
#[test]
#[ignore = "raises 52 stations: scripts/lan-lab"]
fn fifty_stations_are_the_machine_s_limit_and_said_to_be() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let crowd = OFFICE.replace("count = 10", "count = 50");
    let network = file(&laboratory, "crowd.toml", &crowd);
    let words =
        ["lan", "--quiet", "--network", &network, "--task", "fm-index", "--stations", "0,50"];
    let result = measured(&laboratory, &words);
    let machine =
        result["machine"].as_array().expect("levels").iter().find(|level| level["count"] == 50);
    let machine = machine.expect("fifty stations");
    println!("{machine}");
    assert!(
        machine["lateness_p99_seconds"].as_f64().is_some()
            && machine["busy_share"].as_f64().is_some(),
        "{machine}"
    );
    let causes: Vec<&Value> =
        result["warnings"].as_array().expect("warnings").iter().map(|one| &one["cause"]).collect();
    assert!(causes.contains(&&"the machine is the limit".into()), "{causes:?}");
    let shown = text(&laboratory.command(&["show", "--all"]).output().expect("btu starts").stdout);
    assert!(shown.contains("k = 50 *"), "{shown}");
}

/// A transaction of `--pattern small-files` as dbench plays it: made, 4 KiB written, flushed,
/// closed, its attributes read, opened, read, closed, removed.
const SMALL_FILES: &str = "\
Mkdir \"\\clients\" NT_STATUS_OK
NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX \"\\clients\\client1\\f\" 0x40 0x2 100 NT_STATUS_OK
WriteX 100 0 4096 4096 NT_STATUS_OK
Flush 100 NT_STATUS_OK
Close 100 NT_STATUS_OK
QUERY_PATH_INFORMATION \"\\clients\\client1\\f\" 1004 NT_STATUS_OK
NTCreateX \"\\clients\\client1\\f\" 0x0 0x1 101 NT_STATUS_OK
ReadX 101 0 4096 4096 NT_STATUS_OK
Close 101 NT_STATUS_OK
Unlink \"\\clients\\client1\\f\" 0x6 NT_STATUS_OK
";

/// dbench and one station perform equal operations in one directory, in turns, and reach an equal
/// number of transactions per second. Both results scatter with the device; the medians differ by
/// no more than both scatter, from their least to their most.
#[test]
#[ignore = "needs dbench: scripts/lan-lab"]
fn dbench_does_the_same_operations_as_often() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let load = file(&laboratory, "small-files.load", SMALL_FILES);
    let share = laboratory.directory.path().join("share");
    std::fs::create_dir(&share).expect("a directory");
    let at = share.to_str().expect("a path in UTF-8").to_owned();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        theirs.push(dbench(&load, &at));
        let what = [
            "--stations",
            "1",
            "--pattern",
            "small-files",
            "--record",
            "4096 B",
            "--task",
            "fm-serial-search",
        ];
        let result = measured(&laboratory, &[&["lan", "--quiet", "--at", &at][..], &what].concat());
        ours.push(result["stations"][0]["per_second"].as_f64().expect("a rate"));
    }
    println!("transactions a second: dbench {theirs:.0?}, btu lan {ours:.0?}");
    let scatter = |rates: &[f64]| {
        let (least, most) = (
            rates.iter().copied().fold(f64::INFINITY, f64::min),
            rates.iter().copied().fold(0.0, f64::max),
        );
        (most / least).ln()
    };
    let allowed = scatter(&theirs) + scatter(&ours);
    let apart = (median(&mut ours) / median(&mut theirs)).ln();
    println!("apart by {apart:.3}, scatter {allowed:.3} (logarithms)");
    judge!(
        laboratory,
        apart.abs() <= allowed && allowed < 1.5,
        "apart by {apart}, scatter {allowed}"
    );
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Transactions of dbench per second, which equal the removed files.
fn dbench(load: &str, directory: &str) -> f64 {
    const SECONDS: f64 = 2.0;
    let words = ["-t", "2", "-c", load, "-D", directory, "--no-resolve", "1"];
    let output =
        std::process::Command::new("dbench").args(words).output().expect("dbench is installed");
    let printed = text(&output.stdout);
    let removed = printed.lines().find_map(|line| line.trim().strip_prefix("Unlink"));
    let count: f64 = removed
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("{printed}"));
    count / SECONDS
}

/// When one process dies, all processes end, the cell has the reason why it does not count, and the
/// run can be resumed.
#[test]
fn a_killed_file_server_is_a_cell_that_does_not_count_and_a_killed_run_is_resumed() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let network = office(&laboratory);
    let long = arguments(&network, &["--task", "wp-load-program", "--stations", "2"]);
    let child = laboratory.command(&long).spawn().expect("btu starts");
    let deadline = Instant::now() + LONG;
    while !kill_a_server(&laboratory) {
        assert!(Instant::now() < deadline, "no file server after {LONG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let child = laboratory.wait_for_cells(child, laboratory.stored_cells() + 1);
    send(child.id().cast_signed(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("btu lan --resume r1"), "{}", text(&output.stderr));
    laboratory.assert_down();
    let stored = laboratory.stored_cells();
    let resumed =
        laboratory.command(&["lan", "--quiet", "--resume", "latest"]).output().expect("btu starts");
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    laboratory.assert_down();
    let cells = laboratory.json(&["show", "--cells"]);
    let cells = cells.as_array().expect("a list of cells");
    assert!(stored < 6 && cells.len() == 6, "{stored} of {}", cells.len());
    let faults = |cell: &Value| cell["faults"].as_array().expect("a list of faults").clone();
    let invalid: Vec<Vec<Value>> =
        cells.iter().map(faults).filter(|faults| !faults.is_empty()).collect();
    assert_eq!(invalid.len(), 1, "{invalid:?}");
    let names = |what: &str| {
        invalid[0].iter().any(|fault| fault.as_str().is_some_and(|fault| fault.contains(what)))
    };
    // A slow machine's clients still made their files when the server was killed.
    let is_told_early = names("station bench: preparing files-task: NFS server");
    let is_told = names("files-serve on server") && names("files-task on bench failed: NFS server");
    assert!(is_told || is_told_early, "{invalid:?}");
}

/// The task, the client that makes its files, and two stations.
const CLIENTS: usize = 4;

/// Kills the file server of a running cell: the only worker that listens.
fn kill_a_server(laboratory: &Laboratory) -> bool {
    let workers =
        laboratory.processes().into_iter().filter(|(_, line)| line.contains("internal worker"));
    let serving = workers
        .map(|(process, _)| process)
        .find(|&process| threads(process, "nfs-client") >= CLIENTS);
    if let Some(process) = serving {
        // Its clients are connected; requests follow after `go`.
        std::thread::sleep(Duration::from_millis(250));
        send(process, Signal::SIGKILL);
    }
    serving.is_some()
}

/// The number of threads of this name in a process.
fn threads(process: i32, name: &str) -> usize {
    let threads =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        .filter(|comm| comm.trim() == name)
        .count()
}
