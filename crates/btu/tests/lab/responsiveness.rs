//! `btu speed --rpm` on drawn networks, against `--rpm-server`: round trips per minute are those of the
//! line, and a bloated queue costs most of them.

use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

use btu_conditions::judge;
use serde_json::Value;

use crate::drawn::{Lab, finish};
use crate::support::text;

/// 20 ms of delay each way, and 1.4 ms for the octets of the longest handshake each way.
const LINE: &str = r#"
[stations.client]
[stations.server]
[links.trunk]
between = ["client", "server"]
rate = "20 Mb/s"
delay = "20 ms"
"#;

/// Round trips per minute of a line whose round trip is 40 ms.
const IDLE: f64 = 60.0 / 0.040;

/// What a measurement from one station to another says, with a server of btu's there.
fn measured(lab: &Lab, ends: [&str; 2], more: &[&str]) -> Value {
    measured_while(lab, ends, more, || ())
}

/// The same; `meanwhile` is called again and again until it ends.
fn measured_while(
    lab: &Lab,
    [near, far]: [&str; 2],
    more: &[&str],
    mut meanwhile: impl FnMut(),
) -> Value {
    let btu = env!("CARGO_BIN_EXE_btu");
    let serve = [btu, "speed", "--rpm-server", "--listen", "0.0.0.0"];
    let mut server = lab.exec(far, &serve).spawn().expect("btu runs");
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("listening on 0.0.0.0:4043"), "{line}");
    let url = format!("https://{far}:4043");
    let measure = [btu, "speed", "--rpm", &url, "--any-certificate", "--json", "--quiet"];
    let client = lab.exec(near, &[&measure[..], more].concat()).spawn().expect("btu runs");
    let output = thread::scope(|scope| {
        let client = scope.spawn(move || finish(client));
        while !client.is_finished() {
            meanwhile();
            thread::sleep(Duration::from_millis(50));
        }
        client.join().expect("no panic")
    });
    server.kill().expect("it runs");
    drop(server.wait());
    assert!(output.status.success(), "{}", text(&output.stderr));
    println!("{}", text(&output.stdout));
    let said: Value = serde_json::from_slice(&output.stdout).expect("a result");
    said["result"].clone()
}

fn result(said: &Value, name: &str) -> f64 {
    let all = said["quantities"].as_array().expect("results");
    let found = all.iter().find(|one| one["name"] == name);
    found.and_then(|one| one["values"][0].as_f64()).unwrap_or_else(|| panic!("no {name}: {said}"))
}

#[test]
fn an_idle_line_has_the_round_trips_of_its_delay() {
    let Some(lab) = Lab::open_slow_lines() else { return };
    lab.up(LINE);
    let said = measured(&lab, ["client", "server"], &["-R", "-t", "300 ms"]);
    let idle = result(&said, "responsiveness idle");
    // Six handshakes and requests take up to 1.4 kB, 0.6 ms, and the cryptography of unoptimised builds some 1 ms.
    judge!(lab, (idle / IDLE - 1.0).abs() < 0.05, "{idle} instead of {IDLE}");
    let down = result(&said, "goodput down");
    judge!(lab, (0.8..1.0).contains(&(down / 20e6)), "{down} of 20 Mb/s");
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}

#[test]
fn a_bloated_queue_costs_nine_of_ten_round_trips() {
    let Some(lab) = Lab::open_slow_lines_if_changed() else { return };
    let of = |network: &str| {
        let up = lab.output(&["net", "up", network]);
        assert!(up.status.success(), "{}", text(&up.stderr));
        let said = measured(&lab, ["laptop", "server"], &["-t", "500 ms"]);
        assert!(lab.output(&["net", "down"]).status.success());
        result(&said, "responsiveness while uploading")
    };
    let [bloated, fair] = ["home-bloated", "home-fq-codel"].map(of);
    println!("{bloated} with a bloated queue, {fair} with a fair one");
    judge!(lab, fair > 10.0 * bloated, "{bloated}, {fair}");
    lab.assert_gone();
}

/// The octets that wait unsent in the sockets of a station, connection by connection, as `ss` says them.
fn unsent(lab: &Lab, station: &str) -> Vec<u64> {
    let output = finish(lab.exec(station, &["ss", "-tinH"]).spawn().expect("ss runs"));
    let words = text(&output.stdout);
    let notsent = words.split_whitespace().filter_map(|word| word.strip_prefix("notsent:"));
    notsent.map(|number| number.parse().expect("a number")).collect()
}

/// On a line of 5 Mb/s 5 ms are 3125 octets, so 4 KiB may wait in a socket; before, up to 58 kB did. Whatever
/// else the machine does, no more may.
#[test]
fn no_more_waits_unsent_than_is_promised() {
    const MOST: u64 = 4 << 10;
    let Some(lab) = Lab::open_slow_lines_if_changed() else { return };
    // A queue of 25 ms: handshakes of further connections need not wait for seconds. Several senders with BBR, which do not
    // give way to losses, would keep these handshakes from so short a queue.
    let line = LINE.replace("rate = \"20 Mb/s\"", "rate = \"5 Mb/s\"\nqueue = \"10 frames\"");
    lab.up_with(&line, &["-C", "reno"]);
    let mut seen = Vec::new();
    let both = || ["client", "server"].map(|station| unsent(&lab, station));
    let said = measured_while(&lab, ["client", "server"], &["-t", "500 ms"], || {
        seen.extend(both().concat());
    });
    println!("{seen:?}");
    assert!(seen.len() > 20, "few samples: {seen:?}");
    assert!(seen.iter().all(|octets| *octets <= MOST), "{seen:?}");
    for way in ["up", "down"] {
        let goodput = result(&said, &format!("goodput {way}"));
        judge!(lab, (0.8..1.0).contains(&(goodput / 5e6)), "{goodput} of 5 Mb/s {way}");
    }
    assert!(lab.output(&["net", "down"]).status.success());
    lab.assert_gone();
}
