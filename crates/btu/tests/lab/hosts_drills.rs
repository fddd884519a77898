//! Fault drills with real hosts: after any kill, stop, disconnection or restart, a
//! rating continues, or ends with a clear message; only the affected cells are measured again, and
//! the accounts of all others do not change.
//!
//! The drills wait most of their time, so three trios of hosts go through them side by side.

use std::fs;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use crate::drawn::is_there;
use crate::hosts_lab::{Hosts, Trio, ended, events};
use crate::support::{LONG, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Two rows in at least three blocks, in cells long enough for a fault within one.
const RATING: [&str; 8] =
    ["--component", "SEND,RECV", "--message", "65536", "--load", "idle", "--volume", "500 MB"];

/// Longer than the control network may be silent before it counts as lost (10 s), and than a lease
/// (5 s).
const AWAY: Duration = Duration::from_secs(15);

/// From the power cut to the agent's start.
const REBOOT: Duration = Duration::from_secs(10);

#[test]
fn bad_days_side_by_side() {
    let can = is_there("unshare") && is_there("cc");
    let Some(hosts) = can.then(|| Hosts::raise_trios_if_changed(3)).flatten() else { return };
    hosts.start_agents();
    thread::scope(|scope| {
        scope.spawn(|| {
            timed(hosts.trio(0), &[the_control_network_is_gone, a_host_reboots]);
        });
        scope.spawn(|| {
            timed(
                hosts.trio(1),
                &[
                    workers_are_killed_and_stopped,
                    a_host_sleeps_and_its_clock_is_set,
                    nothing_moves,
                ],
            );
        });
        timed(hosts.trio(2), &[clocks_that_disagree]);
    });
    hosts.lower();
}

fn timed(trio: Trio<'_>, drills: &[fn(Trio<'_>)]) {
    for (number, drill) in drills.iter().enumerate() {
        let began = Instant::now();
        drill(trio);
        println!("trio {}, drill {number}: {:?}", trio.number, began.elapsed());
    }
}

/// A run that was complete in the end, with every cell stored once; the cells before the fault have
/// not changed.
fn complete(trio: Trio<'_>, output: &Output, before: &[Value]) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stored = trio.stored();
    assert_eq!(stored["run"]["state"], "complete");
    let cells = trio.cells();
    assert_eq!(&cells[..before.len()], before, "what was stored stays");
    let mut places: Vec<String> =
        cells.iter().map(|cell| format!("{} {}", cell["row"], cell["block"])).collect();
    let all = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), all, "each cell is stored once");
    assert!(all >= 6, "two rows in three blocks: {all}");
    stored
}

fn faults(cells: &[Value]) -> Vec<&Value> {
    let faults = |cell: &&Value| cell["faults"].as_array().is_some_and(|faults| !faults.is_empty());
    cells.iter().filter(faults).map(|cell| &cell["faults"]).collect()
}

fn nothing_is_void(stored: &Value) {
    assert_eq!(stored["result"]["invalid_cells"], 0, "{}", stored["result"]["warnings"]);
}

/// Cuts an interface off, in both directions.
fn cut(hosts: &Hosts, name: &str, interface: &str) {
    hosts.shell(
        name,
        &format!(
            "nft add table inet drill && \
             nft add chain inet drill in {{ type filter hook input priority 0 \\; }} && \
             nft add chain inet drill out {{ type filter hook output priority 0 \\; }} && \
             nft add rule inet drill in iifname {interface} drop && \
             nft add rule inet drill out oifname {interface} drop"
        ),
    );
}

fn restore(hosts: &Hosts, name: &str) {
    hosts.shell(name, "nft delete table inet drill");
}

fn the_control_network_is_gone(trio: Trio<'_>) {
    let child = trio.begin(trio.rate(&RATING), 2);
    let before = trio.cells();
    trio.names().iter().for_each(|name| cut(trio.hosts, name, "eth0"));
    thread::sleep(AWAY);
    trio.names().iter().for_each(|name| restore(trio.hosts, name));
    let stored = complete(trio, &ended(child), &before);
    nothing_is_void(&stored);
    let again = events(&stored, "is measured again");
    assert_eq!(again.len(), 1, "one cell was hit: {again:?}");
    println!("{again:?}");
    for name in trio.names() {
        assert!(again[0].contains(&format!("{name} came back after ")), "{again:?}");
    }
    assert!(
        again[0].contains("(the same agent)") && !again[0].contains("started again"),
        "{again:?}"
    );
}

/// The interfaces of the host go down before its processes end, so that no peer receives a
/// farewell, and its clock restarts.
fn a_host_reboots(trio: Trio<'_>) {
    let (hosts, name) = (trio.hosts, trio.active());
    let child = trio.begin(trio.rate(&RATING), 2);
    let before = trio.cells();
    let everything = [hosts.workers(name), vec![hosts.agent(name)]].concat();
    hosts.shell(name, "ip link set eth0 down && ip link set m0 down");
    for process in everything {
        // A worker may have ended meanwhile.
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
    hosts.bury_agent(name);
    thread::sleep(REBOOT);
    hosts.shell(name, "ip link set eth0 up && ip link set m0 up");
    start_with_another_clock(hosts, name);
    let stored = complete(trio, &ended(child), &before);
    nothing_is_void(&stored);
    let warnings = stored["result"]["warnings"].to_string();
    assert!(
        !warnings.contains("clock-drift"),
        "a clock that began anew does not drift: {warnings}"
    );
    let again = events(&stored, "is measured again");
    println!("{again:?}");
    assert_eq!(again.len(), 1, "one cell was hit: {again:?}");
    assert!(again[0].contains(&format!("{name} came back after ")), "{again:?}");
    assert!(again[0].contains("(its agent was started again)"), "{again:?}");
}

/// An agent with a monotonic clock that began a day and an hour earlier than that of the machine.
fn start_with_another_clock(hosts: &Hosts, name: &str) {
    let before = ["unshare", "--time", "--monotonic", "90000", "--boottime", "90000", "--fork"];
    hosts.start_agent_after(name, &before);
}

/// The bytes on a worker's interface after which it is certainly past its preparation, in which it
/// only sends a greeting.
const AT_WORK_BYTES: u64 = 1_000_000;

/// A worker in the middle of its work: while it runs, data pass the measured interface of its host.
fn working(trio: Trio<'_>, name: &str) -> i32 {
    let deadline = Instant::now() + LONG;
    let mut first: Option<(i32, u64)> = None;
    loop {
        let now =
            trio.hosts.workers(name).first().and_then(|&worker| Some((worker, passed(worker)?)));
        match (first, now) {
            (Some((before, then)), Some((worker, passed))) if before == worker => {
                if passed - then > AT_WORK_BYTES {
                    return worker;
                }
            }
            _ => first = now,
        }
        assert!(Instant::now() < deadline, "{name} has no worker that moves data");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes that have passed the measured interface of a process's host, either way; `None` once the
/// process is gone.
fn passed(process: i32) -> Option<u64> {
    let interfaces = fs::read_to_string(format!("/proc/{process}/net/dev")).ok()?;
    let line = interfaces.lines().find_map(|line| line.trim().strip_prefix("m0:"))?;
    let counts: Vec<u64> = line.split_whitespace().filter_map(|count| count.parse().ok()).collect();
    // Received bytes are the first number, sent ones the ninth (proc_pid_net(5)).
    Some(counts.first()? + counts.get(8)?)
}

/// Each makes only its own cell void: a cell with a failed activity is stored with its fault, and
/// not hidden.
fn workers_are_killed_and_stopped(trio: Trio<'_>) {
    let long = [&RATING[..6], &["--volume", "1 GB"]].concat();
    let child = trio.begin(trio.rate(&long), 1);
    let before = trio.cells();
    kill(Pid::from_raw(working(trio, trio.active())), Signal::SIGKILL).unwrap();
    let cells = trio.runs().1;
    let deadline = Instant::now() + LONG;
    while trio.runs().1 < cells + 2 {
        assert!(Instant::now() < deadline, "the run does not go on");
        thread::sleep(Duration::from_millis(50));
    }
    kill(Pid::from_raw(working(trio, trio.active())), Signal::SIGSTOP).unwrap();
    let stored = complete(trio, &ended(child), &before);
    assert_eq!(stored["result"]["invalid_cells"], 2, "{}", stored["result"]["warnings"]);
    let cells = trio.cells();
    let faults = faults(&cells);
    println!("{faults:?}");
    let [killed, stopped] = &faults[..] else { panic!("two cells are marked: {faults:?}") };
    assert!(killed.to_string().contains("on active died: killed by signal 9"), "{killed}");
    assert!(stopped.to_string().contains("on active was killed: not finished after"), "{stopped}");
    assert!(
        events(&stored, "is measured again").is_empty(),
        "no host was lost: {}",
        stored["run"]["events"]
    );
}

/// The hosts answer, but their data do not pass.
fn nothing_moves(trio: Trio<'_>) {
    let (hosts, name) = (trio.hosts, trio.active());
    let child = trio.begin(trio.rate(&RATING), 2);
    let before = trio.cells();
    cut(hosts, name, "m0");
    let output = ended(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the hosts answer but move no data: the last 3 cells waited in vain"),
        "{said}"
    );
    assert!(said.contains("btu rate --resume"), "{said}");
    println!("{said}");
    restore(hosts, name);
    let stored = complete(
        trio,
        &trio.desk(&["rate", "--resume", "latest", "--quiet"]).output().unwrap(),
        &before,
    );
    assert_eq!(stored["result"]["invalid_cells"], 3, "{}", stored["result"]["warnings"]);
}

/// Builds the library that shifts the clocks of every program that starts with it.
fn shifting(trio: Trio<'_>) -> String {
    let [library, source] =
        ["so", "c"].map(|ending| trio.hosts.path(&format!("shift-{}.{ending}", trio.number)));
    fs::write(&source, include_str!("hosts_lab/shift.c")).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]).output().unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    library
}

/// A peer sleeps during one cell, which then does not count, and its clock is set during another
/// one, which is reported.
fn a_host_sleeps_and_its_clock_is_set(trio: Trio<'_>) {
    let (hosts, name) = (trio.hosts, trio.active());
    let preload = format!("LD_PRELOAD={}", shifting(trio));
    let [slept, stepped] =
        ["slept", "stepped"].map(|what| hosts.path(&format!("{what}-{}", trio.number)));
    let files = [format!("SHIFT_SLEPT={slept}"), format!("SHIFT_STEPPED={stepped}")];
    hosts.end_agent(name);
    hosts.start_agent_after(name, &["env", &preload, &files[0], &files[1]]);
    hosts.await_agent(name);
    let long = [&RATING[..6], &["--volume", "1 GB"]].concat();
    let child = trio.begin(trio.rate(&long), 1);
    working(trio, name);
    fs::write(&slept, "").unwrap();
    let cells = trio.runs().1;
    let deadline = Instant::now() + LONG;
    while trio.runs().1 < cells + 2 {
        assert!(Instant::now() < deadline, "the run does not go on");
        thread::sleep(Duration::from_millis(50));
    }
    working(trio, name);
    fs::write(&stepped, "").unwrap();
    let stored = complete(trio, &ended(child), &[]);
    let cells = trio.cells();
    let faults = faults(&cells);
    let [fault] = &faults[..] else { panic!("one cell is marked: {faults:?}") };
    assert_eq!(**fault, serde_json::json!(["the machine slept 1200 s meanwhile"]));
    let warnings = stored["result"]["warnings"].as_array().expect("a list");
    let warning = warnings
        .iter()
        .find(|warning| warning["kind"] == "clock-stepped")
        .expect("a warning of the step");
    println!("{}", warning["observed"]);
    assert_eq!(
        (&warning["cells"], &warning["of"]),
        (&Value::from(1), &Value::from(cells.len() - 1)),
        "{warning}"
    );
    assert!(warning["observed"].to_string().contains("by up to 1200 s"), "{warning}");
    hosts.end_agent(name);
    hosts.start_agent(name);
    hosts.await_agent(name);
}

/// A monotonic clock that began a day and an hour earlier, and a wall clock that is three hours
/// ahead.
fn clocks_that_disagree(trio: Trio<'_>) {
    let hosts = trio.hosts;
    let [_, active, passive] = trio.names() else { panic!("a trio has three hosts") };
    let preload = format!("LD_PRELOAD={}", shifting(trio));
    for name in [active, passive] {
        hosts.end_agent(name);
    }
    start_with_another_clock(hosts, active);
    hosts.start_agent_after(passive, &["env", &preload]);
    for name in [active, passive] {
        hosts.await_agent(name);
    }
    let stored = complete(trio, &trio.rate(&RATING).output().unwrap(), &[]);
    nothing_is_void(&stored);
    let clock = |name: &String, field: &str| {
        let environments = stored["run"]["environments"].as_array().expect("a list");
        let found = environments.iter().find(|environment| environment[1]["name"] == **name);
        found.and_then(|found| found[1]["clock"][field].as_i64()).expect("a clock")
    };
    let seconds = |nanoseconds: i64| nanoseconds as f64 / 1e9;
    // Each is known to half its round trip, which is far below a second.
    assert!(
        (seconds(clock(active, "offset_ns")) - 90_000.0).abs() < 1.0,
        "{}",
        clock(active, "offset_ns")
    );
    assert!(
        (seconds(clock(passive, "wall_offset_ns")) - 10_800.0).abs() < 1.0,
        "{}",
        clock(passive, "wall_offset_ns")
    );
    assert!(
        seconds(clock(active, "wall_offset_ns")).abs() < 1.0
            && seconds(clock(passive, "offset_ns")).abs() < 1.0
    );
    for cell in trio.cells() {
        let skew = cell["start_skew_ns"].as_u64().expect("a skew");
        assert!(skew < 5_000_000_000, "starts are compared by the controller's clock: {skew} ns");
    }
    let warnings = stored["result"]["warnings"].to_string();
    assert!(warnings.contains("clocks-apart") && !warnings.contains("clock-drift"), "{warnings}");
    for name in [active, passive] {
        hosts.end_agent(name);
        hosts.start_agent(name);
        hosts.await_agent(name);
    }
}
