//! btu and hyperfine measure one command in one pair of stations: both find an equal mean, and btu
//! adds no more to it than hyperfine.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{number, result, written};
use crate::common::Laboratory;
use crate::support::text;

/// Repetitions of each.
const TIMES: u32 = 8;

/// Student's t for 95 % with seven degrees of freedom.
const STUDENT: f64 = 2.365;

const SERVER: &str = "head -c 20000 /dev/zero > file; exec python3 -m http.server 80";
const SINK: &str = "my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 5, ReuseAddr => 1); while (my $c = $s->accept) { \
                    1 while sysread $c, my $b, 65536 }";
const SOURCE: &str = "my $s = IO::Socket::INET->new(PeerAddr => 'server:5000'); while (1) { syswrite $s, 'x' x 16384 }";

fn perl(program: &str) -> String {
    format!("[\"perl\", \"-MIO::Socket::INET\", \"-e\", {program:?}]")
}

/// btu's result: mean and half interval, in seconds, without and with the upload.
fn by_btu(laboratory: &Laboratory, network: &str) -> [(f64, f64); 2] {
    let file = format!(
        "network = \"{network}\"\n[service.web]\non = \"server\"\nrun = [\"sh\", \"-c\", {SERVER:?}]\nready = {{ port = 80 }}\n\
         [service.sink]\non = \"server\"\nrun = {}\nready = {{ port = 5000 }}\n\
         [measure.curl]\non = \"laptop\"\nrun = [\"curl\", \"-sO\", \"http://server/file\"]\n\
         [load.upload]\non = \"phone\"\nrun = {}\n[factors]\nload = [\"none\", \"upload\"]\n[order]\nblocks = {TIMES}\nlead = \"4 s\"\n",
        perl(SINK),
        perl(SOURCE)
    );
    let path = written(laboratory, &file);
    let output =
        laboratory.command(&["run", "-q", path.to_str().expect("a path")]).output().expect("btu");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = result(laboratory);
    [0, 1].map(|row| {
        let value = &result["values"][0]["rows"][row]["value"];
        let ends = &value["interval"];
        (number(&value["value"]), (number(&ends["high"]) - number(&ends["low"])) / 2.0)
    })
}

/// A raised network, with commands in its stations as long as this exists.
struct Network<'a> {
    laboratory: &'a Laboratory,
    name: &'a str,
    running: Vec<Child>,
}

impl<'a> Network<'a> {
    fn up(laboratory: &'a Laboratory, name: &'a str) -> Self {
        let output = laboratory.command(&["net", "up", name]).output().expect("btu starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        Self { laboratory, name, running: Vec::new() }
    }

    fn exec(&self, station: &str, command: &[&str]) -> Command {
        self.laboratory
            .command(&[&["net", "exec", "--name", self.name, station, "--"], command].concat())
    }

    fn start(&mut self, station: &str, command: &[&str]) {
        let child = self
            .exec(station, command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("btu starts");
        self.running.push(child);
    }

    fn end_last(&mut self) {
        if let Some(mut child) = self.running.pop() {
            // It ends its command with it.
            child.kill().and_then(|()| child.wait().map(drop)).expect("a child can be killed");
        }
    }
}

impl Drop for Network<'_> {
    fn drop(&mut self) {
        while !self.running.is_empty() {
            self.end_last();
        }
        let _ = self.laboratory.command(&["net", "down", self.name]).output();
    }
}

/// hyperfine's result on a network that is up.
fn by_hyperfine(network: &Network<'_>, command: &str, times: u32) -> (f64, f64) {
    let directory = network.laboratory.directory.path();
    let export = directory.join("hyperfine.json");
    let runs = times.to_string();
    let arguments = [
        "hyperfine",
        "-N",
        "--style",
        "none",
        "--runs",
        &runs,
        "--export-json",
        export.to_str().expect("a path"),
        command,
    ];
    let output =
        network.exec("laptop", &arguments).current_dir(directory).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let exported: Value =
        serde_json::from_slice(&std::fs::read(export).expect("a file")).expect("JSON");
    let found = &exported["results"][0];
    (number(&found["mean"]), STUDENT * number(&found["stddev"]) / f64::from(times).sqrt())
}

#[test]
#[ignore = "slow: needs hyperfine, curl and python3; scripts/run-lab hyperfine"]
fn slow_hyperfine_finds_the_same_means() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    for name in ["home-bloated", "home-fq-codel"] {
        let ours = by_btu(&laboratory, name);
        let mut network = Network::up(&laboratory, name);
        network.start("server", &["sh", "-c", &format!("cd $(mktemp -d) && {SERVER}")]);
        network.start("server", &["perl", "-MIO::Socket::INET", "-e", SINK]);
        std::thread::sleep(Duration::from_secs(2));
        let alone = by_hyperfine(&network, "curl -sO http://server/file", TIMES);
        network.start("phone", &["perl", "-MIO::Socket::INET", "-e", SOURCE]);
        std::thread::sleep(Duration::from_secs(4));
        let loaded = by_hyperfine(&network, "curl -sO http://server/file", TIMES);
        for (what, ours, theirs) in [("alone", ours[0], alone), ("with an upload", ours[1], loaded)]
        {
            println!(
                "{name}, {what}: btu {:.4} s +- {:.4}, hyperfine {:.4} s +- {:.4}",
                ours.0, ours.1, theirs.0, theirs.1
            );
            assert!(
                (ours.0 - theirs.0).abs() <= ours.1 + theirs.1,
                "{name}, {what}: intervals that do not meet"
            );
        }
    }
}

/// `true` does nothing: its measured time, and the further time of a repetition, are the cost of
/// the tool itself.
#[test]
#[ignore = "slow: needs hyperfine; scripts/run-lab hyperfine"]
fn slow_a_repetition_costs_no_more_than_hyperfines() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let ours = |blocks: u32| {
        let (count, began) = (blocks.to_string(), Instant::now());
        let arguments =
            ["run", "-q", "--network", "home-bloated", "--blocks", &count, "--", "true"];
        let output = laboratory.command(&arguments).output().expect("btu starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        (began.elapsed().as_secs_f64(), super::mean(&result(&laboratory), 0))
    };
    let (short, long) = (ours(50), ours(250));
    let network = Network::up(&laboratory, "home-bloated");
    let theirs = |times: u32| {
        let began = Instant::now();
        let (mean, _) = by_hyperfine(&network, "true", times);
        (began.elapsed().as_secs_f64(), mean)
    };
    let (brief, many) = (theirs(50), theirs(250));
    let beside = |short: (f64, f64), long: (f64, f64)| (long.0 - short.0) / 200.0 - long.1;
    println!(
        "`true` takes {:.3} ms by btu and {:.3} ms by hyperfine; a repetition takes {:.3} ms and {:.3} ms beside",
        long.1 * 1e3,
        many.1 * 1e3,
        beside(short, long) * 1e3,
        beside(brief, many) * 1e3
    );
    // The addition to a program's own time: within a fifth, because both tools fork and wait by
    // equal calls.
    assert!(long.1 <= many.1 * 1.2, "{} s and {} s", long.1, many.1);
}
