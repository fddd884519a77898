//! `btu speed --iperf3` to the real iperf3's server and to btu's, over a line whose rate is known.

use std::io::{BufRead, BufReader, Read};
use std::thread;
use std::time::Duration;

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::drawn::{Lab, is_there};
use crate::support::{send, text};

/// Of the rate of the closed form, as in other tests of speed.
const RATE: f64 = 0.02;

/// TCP's payload of a frame: 1448 of 1538 octets, which a segment of 1448 takes with all headers.
const PAYLOAD: f64 = 1448.0 / 1538.0;

/// Queues of 100 packets: some 120 ms at 10 Mb/s.
const NETWORK: &str = r#"
[stations.client]
[stations.server]
[links.trunk]
between = ["client", "server"]
rate = "10 Mb/s"
delay = "5 ms"
"#;

/// What a client in this station prints as JSON with these options.
fn measured(lab: &Lab, station: &str, options: &[&str]) -> Value {
    let btu = env!("CARGO_BIN_EXE_btu");
    let data = lab.home.path().join("runs");
    let command = [btu, "--data", data.to_str().expect("a path"), "--json", "speed"];
    let command = [&command[..], &["--iperf3", "server", "--quiet"], options].concat();
    let output = lab.exec(station, &command).output().expect("btu runs");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The one value of a result.
fn value(run: &Value, name: &str) -> f64 {
    let results = run["result"]["quantities"].as_array().unwrap_or_else(|| panic!("{run}"));
    let found = results.iter().find(|one| one["name"] == name);
    found.and_then(|one| one["values"][0].as_f64()).unwrap_or_else(|| panic!("{name}: {results:?}"))
}

fn check(lab: &Lab, run: &Value) {
    for name in ["goodput up", "goodput down"] {
        let rate = value(run, name);
        let expected = 10e6 * PAYLOAD;
        println!("{name}: {rate:.0} b/s, {expected:.0} by the frames");
        judge!(lab, (rate / expected - 1.0).abs() < RATE, "{name} {rate} instead of {expected}");
    }
    let idle = value(run, "round trip idle");
    judge!(lab, (0.010..0.014).contains(&idle), "{idle} s on the idle line");
    for name in ["round trip while uploading", "round trip while downloading"] {
        judge!(lab, value(run, name) > idle, "{name} is not longer than {idle}");
    }
}

#[test]
fn rates_are_those_of_the_line_with_either_server() {
    let Some(lab) = Lab::open_slow_lines_if_changed().filter(|_| is_there("iperf3")) else {
        return;
    };
    lab.up(NETWORK);
    {
        let _server = lab.iperf3_server("server");
        // It has to listen, since btu does not wait for a server.
        thread::sleep(Duration::from_secs(1));
        check(&lab, &measured(&lab, "client", &["-t", "2 s", "--udp", "2 Mb/s"]));
    }
    let btu = env!("CARGO_BIN_EXE_btu");
    let data = lab.home.path().join("served");
    let command = [
        btu,
        "--data",
        data.to_str().expect("a path"),
        "iperf3",
        "--server",
        "--listen",
        "0.0.0.0",
    ];
    let mut server = lab.exec("server", &command).spawn().expect("btu runs");
    let mut line = String::new();
    let output = server.stdout.take().expect("a pipe");
    let mut output = BufReader::new(output);
    output.read_line(&mut line).expect("a line");
    assert!(line.contains("listening on 0.0.0.0:5201"), "{line}");
    check(&lab, &measured(&lab, "client", &["-t", "2 s", "-P", "2", "--bidirectional"]));
    send(server.id().cast_signed(), Signal::SIGTERM);
    // What it printed is read: a server whose output is full would not end.
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert!(server.wait().expect("an end").success(), "{rest}");
    let runs = lab.output(&["--data", data.to_str().expect("a path"), "runs", "--json"]);
    let runs = text(&runs.stdout);
    // That of the idle line, in which nothing arrived, is not kept; up, down and both ways are.
    assert_eq!(runs.matches("iperf3's client at").count(), 3, "{runs}");
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}

/// A SYN that waits for more than a second is repeated by its kernel, and still has its whole time. The
/// queue of 256 KiB takes 2.1 s at 1 Mb/s.
#[test]
fn a_queue_of_seconds_is_seen() {
    let Some(lab) = Lab::open_slow_lines_if_changed().filter(|_| is_there("iperf3")) else {
        return;
    };
    let up = lab.output(&["net", "up", "home-bloated", "-C", "reno"]);
    assert!(up.status.success(), "{}", text(&up.stderr));
    let server = lab.iperf3_server("server");
    thread::sleep(Duration::from_secs(1));
    let run = measured(&lab, "laptop", &[]);
    drop(server);
    let wait = value(&run, "round trip while uploading");
    println!("{wait:.3} s while uploading");
    judge!(lab, (1.5..2.5).contains(&wait), "a handshake takes {wait} s");
    let answer = run["result"]["answer"].as_str().expect("an answer");
    judge!(lab, answer.starts_with("Bloated"), "{answer}");
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}
