//! `btu speed --stamp` on a drawn line, against `--stamp-reflector`: the round trip is that of the line, and each
//! direction's loss is told from the other's.

use std::io::{BufRead, BufReader};

use btu_conditions::judge;
use serde_json::Value;

use crate::drawn::{Lab, finish};
use crate::support::text;

/// 10 ms each way, and 0.07 ms for the 90 octets of a frame, with its gap, each way.
const LINE: &str = r#"
[stations.client]
[stations.server]
[links.trunk]
between = ["client", "server"]
rate = "10 Mb/s"
delay = "10 ms"
[links.trunk.forth]
loss = "2 %"
[links.trunk.back]
loss = "5 %"
"#;

/// A packet every 5 ms for 20 s: some 80 are lost there, and 200 back.
const PACKETS: f64 = 4000.0;

/// Whether so many of these were lost with this probability, within four standard deviations of the binomial
/// distribution: a false alarm in 16,000.
fn is_binomial(lost: f64, of: f64, share: f64) -> bool {
    (lost - of * share).abs() <= 4.0 * (of * share * (1.0 - share)).sqrt()
}

fn result(said: &Value, name: &str) -> f64 {
    let all = said["quantities"].as_array().expect("results");
    let found = all.iter().find(|one| one["name"] == name);
    found.and_then(|one| one["values"][0].as_f64()).unwrap_or_else(|| panic!("no {name}: {said}"))
}

#[test]
fn losses_and_round_trips_are_those_of_each_direction() {
    let Some(lab) = Lab::open_alone_if_changed() else { return };
    lab.up(LINE);
    let btu = env!("CARGO_BIN_EXE_btu");
    let reflect = [btu, "speed", "--stamp-reflector", "--listen", "0.0.0.0"];
    let mut reflector = lab.exec("server", &reflect).spawn().expect("btu runs");
    let mut said = BufReader::new(reflector.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("listening on 0.0.0.0:862"), "{line}");
    let measure = [btu, "speed", "--stamp", "server", "--interval", "5 ms", "-t", "20 s"];
    let measure = [&measure[..], &["--json", "--quiet"]].concat();
    let output = finish(lab.exec("client", &measure).spawn().expect("btu runs"));
    reflector.kill().expect("it runs");
    drop(reflector.wait());
    assert!(output.status.success(), "{}", text(&output.stderr));
    println!("{}", text(&output.stdout));
    let said: Value = serde_json::from_slice(&output.stdout).expect("a result");
    let said = &said["result"];
    let round_trip = result(said, "round trip");
    judge!(lab, (round_trip / 0.02014 - 1.0).abs() < 0.05, "{round_trip} s instead of 20.14 ms");
    let unknown = result(said, "lost, way unknown");
    let (there, back) = (result(said, "lost there"), result(said, "lost back"));
    let sent = PACKETS - unknown;
    let reached = sent * (1.0 - there);
    println!("{there} lost there, {back} lost back, {unknown} unknown");
    judge!(lab, is_binomial(there * sent, sent, 0.02), "{there} of {sent} lost there");
    judge!(lab, is_binomial(back * reached, reached, 0.05), "{back} of {reached} lost back");
    // Half of what is never answered at the end is 0.04 packets; five are a false alarm in a million.
    assert!(unknown < 5.0, "{unknown}");
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}
