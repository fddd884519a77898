//! `btu speed` on drawn networks: known rates, round trips and queues, and fault drills.

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::group::Group;
use crate::support::{send, text};

/// The tolerances of a rate, relative to the closed form, and of a round trip.
const RATE: f64 = 0.02;
const TRIP: f64 = 0.05;

/// Reno is allowed to every station on every kernel, fills queues, and does not pace.
fn speed(laboratory: &Laboratory, arguments: &[&str]) -> Value {
    let always = ["speed", "--quiet", "-C", "reno"];
    let output =
        laboratory.command(&[&always[..], arguments].concat()).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    println!("{}", text(&output.stdout));
    laboratory.json(&["show"])["result"].clone()
}

fn row<'a>(result: &'a Value, phase: &str) -> &'a Value {
    let rows = result["rows"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["phase"] == phase)
        .unwrap_or_else(|| panic!("no phase {phase}: {result}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn median(row: &Value) -> f64 {
    number(&row["round_trip"]["median"]["value"])
}

#[test]
fn a_line_gives_what_its_closed_form_says() {
    let Some(laboratory) = Laboratory::open_slow_lines() else { return };
    let line = [
        "--network",
        "10 Mb/s",
        "--delay",
        "8 ms",
        "--udp",
        "5 Mb/s",
        "-t",
        "2 s",
        "--bidirectional",
    ];
    let result = speed(&laboratory, &line);
    let expected = number(&result["expected_round_trip_seconds"]);
    let idle = median(row(&result, "idle"));
    println!("idle {idle} s of {expected} s");
    // The ends add 0.1 to 0.35 ms, the more the farther a hypervisor has their processors apart: the
    // tolerance is 0.8 ms.
    judge!(
        laboratory,
        (idle - expected) / expected < TRIP && idle > expected * 0.99,
        "{idle}, not {expected}"
    );
    for phase in ["up", "down"] {
        let row = row(&result, phase);
        assert_eq!(row["invalid"], 0, "{row}");
        let ratio = number(&row["flows"][0]["transfer_time_ratio"]);
        println!("{phase}: transfer time ratio {ratio}");
        judge!(laboratory, (ratio - 1.0).abs() < RATE, "{row}");
        let breakdown = &row["flows"][0]["breakdown"];
        for part in ["connection", "sender", "receiver"] {
            let shares = breakdown[part].as_object().unwrap_or_else(|| panic!("{row}"));
            let sum: f64 = shares.values().filter_map(Value::as_f64).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{part}: {breakdown}");
        }
        // Both ends wait for a line of 10 Mb/s, but while the windows of a young connection grow.
        let path = number(&breakdown["connection"]["path"]);
        println!("{phase}: on the path {path}");
        judge!(laboratory, path > 0.8, "{breakdown}");
        assert!(
            number(&row["queue_seconds"]) >= 0.0 && number(&row["near_processors"]) > 0.0,
            "{row}"
        );
    }
    assert_eq!(row(&result, "both")["flows"].as_array().map(Vec::len), Some(2));
    for phase in ["datagrams-up", "datagrams-down"] {
        let flow = &row(&result, phase)["flows"][0];
        for rate in [&flow["sent_bits_per_second"], &flow["goodput"]["value"]] {
            judge!(laboratory, (number(rate) / 5e6 - 1.0).abs() < RATE, "{phase}: {flow}");
        }
        assert_eq!(flow["overtaken"], 0, "{flow}");
        judge!(laboratory, flow["lost"]["share"] == 0.0, "{flow}");
    }
}

/// The modem of the bloated home holds 256 KiB, two seconds at its 1 Mb/s; `fq_codel` keeps a small
/// flow's packets out of it.
#[test]
fn a_bloated_queue_is_seen_and_a_fair_one_is_not() {
    let Some(laboratory) = Laboratory::open_slow_lines_if_changed() else { return };
    let ends = ["--from", "laptop", "--to", "server"];
    let queue = |network: &str, time: &str| {
        let line = ["--network", network, "-t", time];
        let result = speed(&laboratory, &[&line[..], &ends].concat());
        let queue = number(&row(&result, "up")["queue_seconds"]);
        println!("{network}: {queue} s, {}", result["bloat"]);
        queue
    };
    // The measurement begins when the queue is full: 256 KiB at 1 Mb/s, and what runs agree on.
    let [bloated, again] = [(); 2].map(|()| queue("home-bloated", "3 s"));
    judge!(laboratory, (1.7..2.2).contains(&bloated), "{bloated} s");
    judge!(laboratory, (again / bloated - 1.0).abs() < 0.1, "{bloated} s, then {again} s");
    let fair = queue("home-fq-codel", "2 s");
    judge!(laboratory, fair < 0.02, "{fair} s");
}

/// Both ends together have half a processor: each of them is ready and stopped for most of the time.
#[test]
fn a_quota_is_named_and_not_other_work() {
    let Some(laboratory) = Laboratory::open_alone_as_root() else { return };
    let half = ["50000", "50000 100000"];
    let group = Group::limited(("cpu", "cpu.cfs_quota_us"), "cpu.max", half);
    let Some(group) = group else { return };
    let arguments = ["speed", "--quiet", "-C", "reno", "--network", "veth", "-t", "3 s"];
    let output = group.run(laboratory.command(&arguments));
    assert!(output.status.success(), "{}", text(&output.stderr));
    println!("{}", text(&output.stdout));
    let result = laboratory.json(&["show"])["result"].clone();
    for phase in ["up", "down"] {
        let breakdown = &row(&result, phase)["flows"][0]["breakdown"];
        println!("{phase}: {breakdown}");
        let of = |end: &str, part: &str| number(&breakdown[end][part]);
        let both = of("sender", "on_processor") + of("receiver", "on_processor");
        judge!(laboratory, both < 0.6, "half a processor for both: {breakdown}");
        let throttled = of("sender", "throttled").max(of("receiver", "throttled"));
        judge!(laboratory, throttled > 0.4, "{breakdown}");
    }
    let said = text(&output.stdout).contains("the CPU quota of");
    judge!(laboratory, said, "{}", text(&output.stdout));
}

/// On a bare network the kernel alone carries packets, and no emulator accounts for them.
#[test]
fn a_bare_network_has_a_speed_too() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let result = speed(&laboratory, &["--network", "veth", "-t", "300 ms", "-P", "2"]);
    for phase in ["up", "down"] {
        let row = row(&result, phase);
        assert_eq!(
            (&row["invalid"], &row["flows"][0]["expected_bits_per_second"]),
            (&0.into(), &Value::Null),
            "{row}"
        );
        judge!(laboratory, number(&row["flows"][0]["goodput"]["value"]) > 1e8, "{row}");
    }
}

/// A connection for one request takes two round trips: SYN and its answer, then the request and its
/// answer, behind which the far host closes. With 10 ms each way that is 40 ms, and the frames of
/// one connection take 0.66 ms of a line of 10 Mb/s (`connect_seconds` has them one by one).
#[test]
fn a_connection_takes_two_round_trips() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let line = ["--network", "10 Mb/s", "--delay", "10 ms", "-t", "2 s", "-R", "--connects"];
    let result = speed(&laboratory, &line);
    let row = row(&result, "connects");
    let connects = &row["connects"];
    let [measured, expected] =
        [&connects["per_second"]["value"], &connects["expected_per_second"]].map(number);
    println!("{measured} connections a second of {expected}, each {} s", median(row));
    assert!((expected - 1.0 / 0.040_66).abs() < 0.01, "{expected}");
    assert_eq!((&row["invalid"], &connects["refused"]), (&0.into(), &0.into()), "{row}");
    // No host is faster than the line. The ends add 0.1 to 0.35 ms to each round trip, and the near
    // one makes a socket: together less than 1 ms, or 2.5 %. As of a round trip, 5 % are allowed.
    // Frames that the kernel sends together or not at all are some of 0.07 ms: 1 % for four of them.
    judge!(
        laboratory,
        (1.0 - TRIP..1.01).contains(&(measured / expected)),
        "{measured} of {expected}"
    );
    judge!(laboratory, (median(row) * expected - 1.0).abs() < TRIP, "{row}");
    let round_trips = number(&connects["idle_round_trips"]);
    judge!(laboratory, (2.0 * (1.0 - TRIP)..2.0 * (1.0 + TRIP)).contains(&round_trips), "{row}");
}

/// Without a line the hosts are the limit. The old connections of two seconds are more than a tenth
/// of all ports; they wait at the end that closed first, the far one.
#[test]
fn connections_of_a_bare_network_use_up_no_ports() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let result = speed(&laboratory, &["--network", "veth", "-t", "2 s", "-R", "--connects"]);
    let row = row(&result, "connects");
    assert_eq!((&row["invalid"], &row["connects"]["refused"]), (&0.into(), &0.into()), "{row}");
    judge!(laboratory, number(&row["connects"]["per_second"]["value"]) > 500.0, "{row}");
    assert_eq!(row["connects"]["expected_per_second"], Value::Null);
}

/// Progress is printed each second, by the receiver's count; and stations use IPv6 on request.
#[test]
fn each_second_is_a_line_of_json_and_the_last_line_the_result() {
    let Some(laboratory) = Laboratory::open_slow_lines_if_changed() else { return };
    let line = [
        "speed",
        "--quiet",
        "-C",
        "reno",
        "--network",
        "10 Mb/s",
        "-6",
        "-t",
        "3 s",
        "-R",
        "--udp",
        "1 Mb/s",
    ];
    let output =
        laboratory.command(&[&line[..], &["--json-lines"]].concat()).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let (result, intervals) = lines.split_last().expect("lines");
    assert_eq!((&result["kind"], &result["run"]["state"]), (&"result".into(), &"complete".into()));
    assert_eq!(result["run"]["plan"]["network"]["ipv6"], true);
    let of = |cell: &str| -> Vec<&Value> {
        intervals.iter().filter(|line| line["cell"] == cell).collect()
    };
    assert!(
        !of("idle").is_empty() && of("idle")[0]["request_seconds"].as_f64() > Some(0.0),
        "{intervals:?}"
    );
    let down = of("down");
    assert!(down.len() >= 3 && down[2]["from_seconds"] == 2.0, "{down:?}");
    // Full frames of 1538 octets on the line carry 1428 of payload over IPv6. A second may end
    // between two readings of the clock. The first two contain the losses of slow start and the
    // data behind them.
    let flow = &down[2]["flows"][0];
    let rate = number(&flow["goodput_bits_per_second"]) / (10e6 * 1428.0 / 1538.0);
    judge!(laboratory, (rate - 1.0).abs() < 0.05, "{flow}");
    assert!(
        number(&flow["congestion_window_bytes"]) > 0.0 && number(&flow["round_trip_seconds"]) > 0.0,
        "{flow}"
    );
    assert!(
        flow["segments_sent_again"].is_u64() && flow["from"] == "passive" && flow["to"] == "test",
        "{flow}"
    );
    // They are stored with the cell, for the report.
    let course = row(&result["result"], "down")["course"].as_array().expect("seconds").clone();
    assert_eq!(course.len(), down.len());
    assert_eq!(course[2]["flows"], down[2]["flows"]);
    let datagrams = of("datagrams-down");
    judge!(laboratory, datagrams[0]["flows"][0]["missed"] == 0, "{datagrams:?}");
    let flow = &row(&result["result"], "datagrams-down")["flows"][0];
    judge!(laboratory, number(&flow["jitter_seconds"]) < 0.02, "{flow}");
}

/// Runs of a study are compared cell by cell, and different measurements are refused.
#[test]
fn runs_of_a_study_are_compared() {
    let Some(laboratory) = Laboratory::open_once_if_changed() else { return };
    for rate in ["20 Mb/s", "10 Mb/s"] {
        let line = ["-t", "200 ms", "--profile", "standard", "-R", "--network", rate];
        speed(&laboratory, &line);
    }
    let refused = laboratory.command(&["compare", "r1", "r2"]).output().expect("btu starts");
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("--across network"), "{said}");
    let compared = laboratory.json(&["compare", "r1", "r2", "--across", "network"]);
    let cells = compared["comparison"]["others"][0]["cells"].as_array().expect("cells").clone();
    let down = cells
        .iter()
        .find(|cell| cell["row"]["cell"] == "down" && cell["row"]["quantity"] == "goodput");
    let down = down.unwrap_or_else(|| panic!("{cells:?}"));
    assert_eq!(down["unit"], "bits", "{down}");
    // One run of each does not show how far runs lie apart.
    assert_eq!(down["finding"], "cannot-tell", "{down}");
    judge!(laboratory, (0.4..0.6).contains(&number(&down["ratio"]["value"])), "{down}");
    let shown = laboratory
        .command(&["compare", "r1", "r2", "--across", "network"])
        .output()
        .expect("btu starts");
    assert!(text(&shown.stdout).contains("goodput down"), "{}", text(&shown.stdout));
    let page = laboratory.directory.path().join("page.html");
    let html =
        ["compare", "r1", "r2", "--force", "--format", "html", "-o", page.to_str().expect("text")];
    assert!(laboratory.command(&html).output().expect("btu starts").status.success());
}

/// When one process dies, all processes end, and the run can be resumed.
#[test]
fn a_killed_run_is_resumed_and_a_killed_worker_is_told() {
    let Some(laboratory) = Laboratory::open_once_if_changed() else { return };
    let line = ["--network", "10 Mb/s", "--profile", "standard", "-t", "400 ms"];
    let always = ["speed", "--quiet"];
    let start = |arguments: &[&str], cells: u64| {
        let child = laboratory.command(arguments).spawn().expect("btu starts");
        laboratory.wait_for_cells(child, cells)
    };
    let mut child = start(&[&always[..], &line].concat(), 2);
    send(child.id().cast_signed(), Signal::SIGKILL);
    child.wait().expect("it is dead");
    laboratory.assert_swept();
    let before = laboratory.stored_cells();
    let child = start(&["speed", "--resume", "latest", "--quiet"], before + 1);
    laboratory.kill("internal worker");
    let output = finish(child);
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = laboratory.json(&["show"]);
    assert_eq!(result["run"]["state"], "complete");
    // Five blocks of three phases; a worker that was killed during its work voids one of them.
    assert_eq!(laboratory.stored_cells(), 15);
    let invalid: u64 = result["result"]["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["invalid"].as_u64().unwrap_or(0))
        .sum();
    assert!(invalid <= 1, "{}", result["result"]["warnings"]);
}
