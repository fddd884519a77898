//! `btu watch`: a schedule of runs, what is said of each, and the numbers that Prometheus gets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::Laboratory;
use crate::support::{LONG, send};

/// A short measurement on a schedule.
fn watch(
    laboratory: &Laboratory,
    options: &[&str],
) -> (Child, BufReader<std::process::ChildStderr>, String) {
    let measured = ["speed", "--network", "10 Mb/s", "-t", "100 ms", "--quiet"];
    let all = [&["watch", "--listen", "127.0.0.1:0"], options, &["--"], &measured].concat();
    let mut child = laboratory.command(&all).spawn().expect("btu starts");
    let mut said = BufReader::new(child.stderr.take().expect("its error output"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.unwrap_or_else(|| panic!("no address in {line}")).to_owned();
    (child, said, address)
}

fn metrics(address: &str) -> String {
    let mut connection = TcpStream::connect(address).expect("it listens");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).expect("a request");
    let mut said = String::new();
    connection.read_to_string(&mut said).expect("an answer");
    said
}

fn wait_for(address: &str, line: &str) -> String {
    let start = Instant::now();
    loop {
        let said = metrics(address);
        if said.contains(line) {
            return said;
        }
        assert!(start.elapsed() < LONG, "no `{line}` in {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn runs_on_a_schedule_are_kept_and_served() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let (mut child, mut said, address) = watch(&laboratory, &["--every", "2 s", "--times", "3"]);
    let newest = wait_for(&address, "btu_watch_runs_total{result=\"complete\"} 1");
    let goodput = "btu_speed_rows_flows_goodput_bytes_per_second{network=\"10 Mb/s\",phase=\"up\"";
    for part in [
        goodput,
        "btu_run_info{run=\"r1\"",
        "btu_run_finished_timestamp_seconds{} 1",
        "btu_watch_last_attempt_succeeded 1",
        "btu_watch_runs_total{result=\"failed\"} 0",
    ] {
        assert!(newest.contains(part), "no `{part}` in {newest}");
    }
    let mut told = String::new();
    said.read_to_string(&mut told).expect("its error output");
    assert!(told.contains("watch: r2 compared with r1: "), "{told}");
    assert!(told.contains("watch: r3 compared with r1,r2: "), "{told}");
    assert!(!told.contains("cannot tell") && !told.contains("session"), "{told}");
    assert!(child.wait().expect("it ends").success(), "{told}");
    laboratory.assert_down();
}

#[test]
fn a_watch_ends_with_what_it_measures() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let (mut child, _said, _) = watch(&laboratory, &["--every", "1 h"]);
    laboratory.process("btu speed");
    send(child.id().cast_signed(), Signal::SIGTERM);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    laboratory.assert_down();
}
