//! `btu lan` on drawn networks: a server whose closed form is known, and bad days.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::support::{send, text};

/// A switch so fast that a server of 2 ms is all there is.
const OFFICE: &str = "
name = \"office\"
[segments.switch]
medium = \"switched-ethernet\"
rate = \"1 Gb/s\"
[stations.server]
segment = \"switch\"
[stations.bench]
segment = \"switch\"
[stations.station]
segment = \"switch\"
count = 4
";

/// Of what the closed form expects.
const TOLERANCE: f64 = 0.05;

/// `btu lan` at a server that takes 2 ms for each operation.
fn arguments<'a>(network: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let always = ["lan", "--quiet", "--service-time", "2 ms", "--network", network];
    [&always[..], more].concat()
}

fn office(laboratory: &Laboratory) -> String {
    let path = laboratory.directory.path().join("office.toml");
    std::fs::write(&path, OFFICE).expect("a network file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Every station without a pause adds itself: slowdown k + 1, less what an operation takes outside the server. Slowdown and queue are
/// those of the closed form, equal stations are served alike, and both ends counted the same.
#[test]
fn a_server_of_two_milliseconds_has_the_queue_of_its_closed_form() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let network = office(&laboratory);
    let output = laboratory
        .command(&arguments(&network, &["--task", "wp-load-document", "--stations", "0,1,4"]))
        .output()
        .expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = laboratory.json(&["show"])["result"].clone();
    for row in result["rows"].as_array().expect("rows") {
        assert_eq!(row["invalid"], 0, "{row}");
        let Some(count @ 1..) = row["level"]["stations"].as_u64() else { continue };
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
        let slowdown = row["slowdown"]["value"].as_f64().expect("a slowdown");
        for (what, found, expected) in
            [("slowdown", slowdown, number("regular")), ("queue", number("queue"), number("regular_queue"))]
        {
            println!("{count} stations: {what} {found:.3}, expected {expected:.3}");
            assert!((found / expected - 1.0).abs() <= TOLERANCE, "{count} stations, {what}: {found}, not {expected}");
        }
        // Irregular times would make it longer, and were expected of a server of whatever kind.
        assert!(slowdown <= number("expected") * (1.0 + TOLERANCE / 2.0), "{row}");
        let most = count as f64 + 1.0;
        assert!((0.75 * most..=1.02 * most).contains(&slowdown), "{slowdown} at {count} stations");
    }
    let spread = &result["stations"].as_array().expect("levels").last().expect("four stations")["spread"];
    let apart = spread["longest_over_shortest"].as_f64().expect("a spread");
    assert!(apart < 1.05 && spread["fairness"].as_f64().expect("an index") > 0.99, "{spread}");
}

/// Whoever dies, everybody ends, the cell says why it does not count, and the run can be finished.
#[test]
fn a_killed_file_server_is_a_cell_that_does_not_count_and_a_killed_run_is_resumed() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let network = office(&laboratory);
    let long = arguments(&network, &["--task", "wp-load-program", "--stations", "2"]);
    let child = laboratory.command(&long).spawn().expect("btu starts");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !kill_a_server(&laboratory) {
        assert!(Instant::now() < deadline, "no file server after 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = laboratory.stored_cells();
    while laboratory.stored_cells() <= before {
        assert!(Instant::now() < deadline, "the cell did not end after 30 s");
        std::thread::sleep(Duration::from_millis(20));
    }
    send(child.id().cast_signed(), Signal::SIGINT);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("btu lan --resume r1"), "{}", text(&output.stderr));
    laboratory.assert_down();
    let stored = laboratory.stored_cells();
    let resumed = laboratory.command(&["lan", "--quiet", "--resume", "latest"]).output().expect("btu starts");
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    laboratory.assert_down();
    let cells = laboratory.json(&["show", "--cells"]);
    let cells = cells.as_array().expect("a list of cells");
    assert!(stored < 6 && cells.len() == 6, "{stored} of {}", cells.len());
    let faults = |cell: &Value| cell["faults"].as_array().expect("a list of faults").clone();
    let invalid: Vec<Vec<Value>> = cells.iter().map(faults).filter(|faults| !faults.is_empty()).collect();
    assert_eq!(invalid.len(), 1, "{invalid:?}");
    let names = |what: &str| invalid[0].iter().any(|fault| fault.as_str().is_some_and(|fault| fault.contains(what)));
    assert!(names("files-serve on server") && names("files-task on bench failed: NFS server"), "{invalid:?}");
}

/// Kills the file server of a cell that is under way: the only worker that listens.
fn kill_a_server(laboratory: &Laboratory) -> bool {
    let workers = laboratory.processes().into_iter().filter(|(_, line)| line.contains("internal worker"));
    let serving = workers.map(|(process, _)| process).find(|&process| has_thread(process, "nfs-client"));
    if let Some(process) = serving {
        // Its clients are connected; what is asked comes after `go`.
        std::thread::sleep(Duration::from_millis(250));
        send(process, Signal::SIGKILL);
    }
    serving.is_some()
}

/// Whether a process has a thread of this name.
fn has_thread(process: i32, name: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        .any(|comm| comm.trim() == name)
}
