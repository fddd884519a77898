//! `btu model --check`: predictions compared with the simulator and with real packets, with the
//! real program.

use crate::drawn::{Lab, finish};
use crate::share::Share;
use crate::support::text;
use btu_conditions::judge;
use btu_medium::sim::offers;
use btu_network::Drawing;
use btu_units::Span;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A line of 1 Mb/s with random traffic in one direction and periodic traffic in the other.
const LINE: &str = "name = \"line\"\n[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mb/s\"\n\
                    [traffic.chance]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\nload = \"50 %\"\n\
                    [traffic.beat]\nfrom = \"b\"\nto = \"a\"\nsize = \"1000 B\"\nload = \"50 %\"\n\
                    arrivals = \"periodic\"\n";

/// Octets that a frame of 1000 occupies until its last bit, and until the next may begin: a
/// preamble of 8, a gap of 12.
const UNTIL_LAST: f64 = 1008.0 * 8.0 / 1e6;
const UNTIL_NEXT: f64 = 1020.0 * 8.0 / 1e6;

/// The mean time that a packet may take in addition to the time of the line and the recorded
/// lateness: for the path through the kernel on both sides, on a busy machine. Other tests allow
/// the same for a drawn delay.
const KERNEL: f64 = 0.2e-3;

/// The largest difference of the clocks of stamps and deadlines.
const CLOCKS: f64 = 2e-6;

fn btu(arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_btu"))
        .args(arguments)
        .output()
        .expect("btu runs")
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text"))
}

fn points(check: &Value, flow: usize) -> &Vec<Value> {
    check["cases"][0]["flows"][flow]["points"].as_array().unwrap_or_else(|| panic!("{check}"))
}

fn file(directory: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn the_prediction_of_a_line_is_what_the_simulator_says() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (line, csv) = (
        file(&directory, "line.toml", LINE),
        directory.path().join("check.csv").display().to_string(),
    );
    let svg = directory.path().join("check.svg").display().to_string();
    let common =
        ["model", &line, "--check", "sim", "--points", "2", "--replications", "3", "--quiet"];
    let check = json(&btu(&[&common[..], &["--csv", &csv, "--svg", &svg, "--json"]].concat()));
    assert_eq!(check["cases"][0]["answers"], serde_json::json!(["simulated"]));
    let low = &points(&check, 0)[0];
    let (predicted, simulated) =
        (number(&low["predicted_seconds"]), number(&low["simulated_seconds"]["value"]));
    // Within 1 %: at 5 % load there is hardly any waiting.
    assert!((predicted / simulated - 1.0).abs() < 0.01, "{predicted} {simulated}");
    assert!(low.get("measured").is_none());
    let rows = std::fs::read_to_string(csv).expect("the rows");
    assert_eq!(rows.lines().count(), 1 + 2 * 2, "{rows}");
    assert!(std::fs::read_to_string(svg).expect("the picture").contains("simulated"));
}

#[test]
fn what_cannot_be_offered_is_refused_before_anything_is_raised() {
    let _share = Share::one();
    let directory = tempfile::tempdir().expect("a directory");
    let line = file(&directory, "line.toml", LINE);
    let greedy = file(
        &directory,
        "greedy.toml",
        &LINE.replace("load = \"50 %\"\narrivals = \"periodic\"", "saturated = true"),
    );
    for (more, code, said) in [
        (vec![greedy.as_str(), "--check", "net"], 2, "always has one more"),
        (vec!["satellite", "--check", "net"], 2, "when a reply has come"),
        (vec!["campus", "--check", "net"], 3, "1000 is the most"),
        (vec![&line, "--check", "net", "--net-time", "0.5 s"], 2, "--net-time"),
        (vec![&line, "--net-time", "5 s"], 2, "--check"),
    ] {
        let output = btu(&[&["model"], &more[..]].concat());
        assert_eq!(output.status.code(), Some(code), "{more:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{more:?}: {}", text(&output.stderr));
    }
}

#[test]
fn sizes_that_no_packet_has_make_a_point_void() {
    let Some(_share) = Share::one_once() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    for size in ["\"40 B\"", "{ exponential = \"500 B\" }"] {
        let bare = LINE.replace("rate = ", "framing = \"bare\"\nrate = ");
        let odd = file(&directory, "odd.toml", &bare.replace("\"1000 B\"", size));
        let check = json(&btu(&["model", &odd, "--check", "net", "--points", "1", "--json"]));
        let measured = &points(&check, 0)[0]["measured"];
        assert!(measured["delay_seconds"].is_null(), "{measured}");
        assert!(text_of(&measured["void"][0]).contains("54 to 1518 B"), "{measured}");
    }
}

/// The mean delay of the packets that count, when they pass a line one after the other (Lindley
/// 1952).
fn on_paper(drawing: &Drawing, seed: u64, number: u32, flow: u32, duration: f64) -> f64 {
    let (mut free, mut delays) = (0.0_f64, Vec::new());
    let offers = offers(drawing, seed, number, Span::from_seconds_f64(duration));
    for at in offers.iter().filter(|offer| offer.flow == flow).map(|offer| offer.at.seconds()) {
        let begin = at.max(free);
        free = begin + UNTIL_NEXT;
        // The first tenth is warm-up.
        delays.extend((at >= duration / 10.0).then_some(begin + UNTIL_LAST - at));
    }
    delays.iter().sum::<f64>() / delays.len() as f64
}

fn assert_no_faster(lab: &Lab, means: &[f64], paper: &[f64]) {
    for (mean, paper) in means.iter().zip(paper) {
        // Two clocks are read one after the other: a program that waits in between adds to one.
        judge!(lab, *mean >= paper - CLOCKS, "faster than the line: {mean} of {paper}");
    }
}

/// The same packets simulated take as long as computed. The simulator does not count the last packets, which are on the
/// line at its end.
fn assert_simulated(measured: &Value, exact: f64) {
    let alike = number(&measured["simulated_seconds"]["value"]);
    assert!((alike / exact - 1.0).abs() < 0.005, "{alike} simulated, {exact} on paper");
}

fn assert_balanced(accounts: &Value) {
    let parts = ["received", "lost", "in_flight"].map(|part| number(&accounts[part]));
    assert!((number(&accounts["sent"]) - parts.iter().sum::<f64>()).abs() < 0.5, "{accounts}");
}

/// Every replication gives the computed mean of exactly these packets, plus the machine's known
/// additions.
#[test]
fn real_packets_on_a_known_line_take_as_long_as_on_paper() {
    let Some(lab) = Lab::open_slow_lines() else { return };
    let line = lab.file(LINE).display().to_string();
    let common = [
        "model",
        &line,
        "--check",
        "sim,net",
        "--seed",
        "1989",
        "--replications",
        "3",
        "--net-time",
        "4500 ms",
    ];
    let output = lab
        .output(&[&common[..], &["--sweep", "traffic.chance.load=30..60 %:30", "--json"]].concat());
    let check = json(&output);
    let mut judged = 0;
    for (place, load) in [30, 60].into_iter().enumerate() {
        let drawn = LINE.replacen("50 %", &format!("{load} %"), 1);
        let drawing = Drawing::read(&drawn, "line.toml").expect("a drawing");
        for flow in 0..2 {
            let point = &points(&check, flow as usize)[place];
            let measured = &point["measured"];
            judge!(lab, measured["sent"] == measured["received"], "{measured}");
            assert_balanced(&measured["network"]);
            let late =
                number(&measured["sender_late_seconds"]) + number(&measured["wire_late_seconds"]);
            let means: Vec<f64> = measured["replications_seconds"]
                .as_array()
                .expect("means")
                .iter()
                .map(number)
                .collect();
            let paper: Vec<f64> =
                (0..3).map(|number| on_paper(&drawing, 1989, number, flow, 1.5)).collect();
            println!(
                "{load} %, flow {flow}: {means:?} of {paper:?}, {late} late, void {}",
                measured["void"]
            );
            assert_no_faster(&lab, &means, &paper);
            let exact = paper.iter().sum::<f64>() / 3.0;
            assert_simulated(measured, exact);
            let excess = means.iter().sum::<f64>() / 3.0 - exact;
            // A late packet delays those behind it, by up to 1/(1 - load) of its lateness.
            let known = late / (1.0 - f64::from(load) / 100.0);
            judge!(
                lab,
                excess <= known + KERNEL,
                "{excess} more than on paper, of which {known} is known"
            );
            // The seed fixes the random numbers: the interval's width does not change.
            let (interval, simulated) = (
                &measured["delay_seconds"]["interval"],
                number(&point["simulated_seconds"]["value"]),
            );
            let half = (number(&interval["high"]) - number(&interval["low"])) / 2.0;
            let value = number(&measured["delay_seconds"]["value"]);
            judge!(
                lab,
                (value - simulated).abs() <= 2.0 * half + known + KERNEL,
                "{value} measured, {simulated} simulated"
            );
            judged += 1;
        }
    }
    assert_eq!(judged, 4);
    lab.assert_gone();
    lab.assert_no_files();
}

#[test]
fn losses_and_overload_are_told_from_each_other() {
    let Some(lab) = Lab::open_slow_lines_if_changed() else { return };
    let lossy = LINE.replace("rate = ", "loss = \"20 %\"\nrate = ");
    let line = lab.file(&lossy).display().to_string();
    let common =
        ["model", &line, "--check", "net", "--replications", "2", "--net-time", "3 s", "--json"];
    let check = json(
        &lab.output(&[&common[..], &["--sweep", "traffic.chance.load=40..160 %:120"]].concat()),
    );
    for (point, overloaded) in points(&check, 0).iter().zip([false, true]) {
        let (measured, accounts) = (&point["measured"], &point["measured"]["network"]);
        judge!(lab, measured["overloaded"] == overloaded, "{point}");
        // A busy machine may be late, with a warning; no other fault is allowed.
        let void = measured["void"].as_array().expect("reasons");
        assert!(
            void.iter().all(|why| text_of(why).contains("lateness of this machine")),
            "{point}"
        );
        let dropped: f64 =
            accounts["dropped"].as_object().expect("causes").values().map(number).sum();
        assert!(
            number(&accounts["dropped"]["loss"]) > 0.0
                && (number(&accounts["lost"]) - dropped).abs() < 0.5,
            "{accounts}"
        );
    }
    lab.assert_gone();
}

#[test]
fn interrupted_it_leaves_nothing_behind() {
    let Some(lab) = Lab::open_once() else { return };
    let line = lab.file(LINE).display().to_string();
    for (signal, code) in
        [(Signal::SIGINT, Some(130)), (Signal::SIGTERM, Some(143)), (Signal::SIGKILL, None)]
    {
        let check = lab
            .btu(&["model", &line, "--check", "net", "--net-time", "10 min"])
            .spawn()
            .expect("btu runs");
        lab.process("offer", |line| line.contains("internal offer") && !line.contains("enter"));
        kill(Pid::from_raw(check.id().cast_signed()), signal).expect("it runs");
        let output = finish(check);
        assert_eq!(output.status.code(), code, "{signal}: {}", text(&output.stderr));
        lab.assert_gone();
    }
    // The next check removes the killed one's files.
    let short = ["--points", "1", "--replications", "1", "--net-time", "1 s", "--quiet"];
    let check = lab.output(&[&["model", &line, "--check", "net"], &short[..]].concat());
    assert!(check.status.success(), "{}", text(&check.stderr));
    lab.assert_no_files();
}
