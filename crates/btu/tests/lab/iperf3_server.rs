//! `btu iperf3 --server` over a line with known loss: iperf3's client and the server say the same,
//! and both the truth.

use std::io::{BufRead, BufReader, Read};

use btu_conditions::judge;
use serde_json::Value;

use crate::drawn::{Lab, is_there};
use crate::support::text;

/// One in a hundred frames is lost, each way.
const LOSS: f64 = 0.01;

const NETWORK: &str = r#"
[stations.client]
[stations.server]
[links.trunk]
between = ["client", "server"]
rate = "20 Mb/s"
loss = "1 %"
"#;

/// The client waits for the answer to its UDP greeting, either of which may be lost: one in fifty
/// times it has to be started again.
const ATTEMPTS: usize = 5;

/// What the client says after 5 s of 5 Mb/s.
fn client(lab: &Lab) -> Value {
    for _ in 0..ATTEMPTS {
        let command = "timeout 12 iperf3 -J -c server -u -b 5M -t 5 -l 1400";
        let command: Vec<&str> = command.split(' ').collect();
        let output = lab.exec("client", &command).output().expect("btu runs");
        let said: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        match said.filter(|said| said.get("error").is_none()) {
            Some(said) if output.status.success() => return said,
            _ => println!("again: {}{}", text(&output.stdout), text(&output.stderr)),
        }
    }
    panic!("iperf3 fails {ATTEMPTS} times");
}

#[test]
fn both_ends_say_what_was_lost() {
    let Some(lab) = Lab::open_slow_lines().filter(|_| is_there("iperf3")) else { return };
    lab.up(NETWORK);
    let btu = env!("CARGO_BIN_EXE_btu");
    let command =
        [btu, "iperf3", "--server", "--one-off", "--no-store", "--json", "--listen", "0.0.0.0"];
    let mut server = lab.exec("server", &command).spawn().expect("btu runs");
    let mut notes = BufReader::new(server.stderr.take().expect("a pipe"));
    let mut line = String::new();
    notes.read_line(&mut line).expect("a line");
    assert!(line.contains("listening on 0.0.0.0:5201"), "{line}");
    let theirs = client(&lab);
    let mut ours = String::new();
    server.stdout.take().expect("a pipe").read_to_string(&mut ours).expect("a result");
    assert!(server.wait().expect("an end").success());
    let ours: Value = serde_json::from_str(&ours).expect("one line of JSON");
    let [sent, lost] = ["packets", "lost_packets"]
        .map(|key| theirs["end"]["sum"][key].as_u64().unwrap_or_else(|| panic!("{theirs}")));
    let datagrams = &ours["to_server"]["datagrams"];
    assert_eq!(datagrams["sent"].as_u64(), Some(sent), "{ours} {theirs}");
    assert_eq!(datagrams["received"].as_u64(), Some(sent - lost), "{ours} {theirs}");
    assert_eq!(datagrams["lost"].as_u64(), Some(lost), "{ours} {theirs}");
    let share = lost as f64 / sent as f64;
    let deviation = (LOSS * (1.0 - LOSS) / sent as f64).sqrt();
    println!("lost {lost} of {sent}: {share:.4}, and {LOSS} +- {:.4} expected", 4.0 * deviation);
    judge!(lab, (share - LOSS).abs() <= 4.0 * deviation, "lost {share} instead of {LOSS}");
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}
