//! btu and hyperfine measure one command in one pair of stations: both find an equal mean, and btu
//! adds no more to it than hyperfine.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use btu_conditions::judge;
use serde_json::Value;

use super::{number, result, written};
use crate::common::Laboratory;
use crate::support::text;

/// Repetitions of each.
const TIMES: u32 = 8;

/// Student's t for 95 % with seven degrees of freedom.
const STUDENT: f64 = 2.365;

/// It is ready when it has answered once: the first answer takes python some ms more, and btu starts
/// services anew for each repetition.
const SERVER: &str = "head -c 20000 /dev/zero > file; python3 -m http.server 80 & \
                      until curl -sfo /dev/null http://127.0.0.1/file; do sleep 0.05; done; echo warm; wait";
const SINK: &str = "my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 5, ReuseAddr => 1); while (my $c = $s->accept) { \
                    1 while sysread $c, my $b, 65536 }";
const SOURCE: &str = "my $s = IO::Socket::INET->new(PeerAddr => 'server:5000'); while (1) { syswrite $s, 'x' x 16384 }";

/// For each connection, starts the upload anew on an empty line, and answers when it has been at
/// work for 3 to 4.5 s, as btu's ([`LEAD_SECONDS`]): what the one before had in the queue, at most 256 KiB at 1 Mb/s, has
/// left after 2.1 s.
const FRESH_SOURCE: &str = "use Socket; my $l = IO::Socket::INET->new(LocalPort => 6000, Listen => 5, ReuseAddr => 1); my $p; \
                            while (my $c = $l->accept) { if ($p) { kill KILL => $p; waitpid $p, 0; sleep 3 } \
                            $p = fork; if (!$p) { close $c; close $l; my $s = IO::Socket::INET->new(PeerAddr => 'server:5000'); \
                            setsockopt $s, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0); while (1) { syswrite $s, 'x' x 16384 } } \
                            select undef, undef, undef, 3 + rand 1.5; close $c }";

/// Asks for a fresh upload, and waits until it has been at work long enough.
const ASK_FOR_UPLOAD: &str =
    "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(q(phone:6000)) or die; <$s>'";

/// So long, or up to half of that longer, the upload is at work before what is measured begins, with
/// either tool.
const LEAD_SECONDS: u32 = 3;

/// What both tools measure.
const FETCH: &str = "curl -sO http://server/file";

fn perl(program: &str) -> String {
    format!("[\"perl\", \"-MIO::Socket::INET\", \"-e\", {program:?}]")
}

/// btu's result: mean and half interval, in seconds, without and with the upload.
fn by_btu(laboratory: &Laboratory, network: &str) -> [(f64, f64); 2] {
    let file = format!(
        "network = \"{network}\"\n[service.web]\non = \"server\"\nrun = [\"sh\", \"-c\", {SERVER:?}]\nready = {{ output = \"warm\" }}\n\
         [service.sink]\non = \"server\"\nrun = {}\nready = {{ port = 5000 }}\n\
         [measure.curl]\non = \"laptop\"\nrun = [\"curl\", \"-sO\", \"http://server/file\"]\n\
         [load.upload]\non = \"phone\"\nrun = {}\n[factors]\nload = [\"none\", \"upload\"]\n[order]\nblocks = {TIMES}\nlead = \"{LEAD_SECONDS} s\"\n",
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
        let _ = self.laboratory.command(&["net", "down", "--name", self.name]).output();
    }
}

/// The arithmetic mean, and half of its interval by this quantile of Student's t.
fn mean_and_half(values: &[f64], student: f64) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, student * (variance / count).sqrt())
}

/// hyperfine's result on a network that is up: geometric mean and half interval, as btu has them.
fn by_hyperfine(
    network: &Network<'_>,
    command: &str,
    times: u32,
    prepare: Option<&str>,
) -> (f64, f64) {
    let directory = network.laboratory.directory.path();
    let export = directory.join("hyperfine.json");
    let runs = times.to_string();
    let mut arguments = vec![
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
    arguments.extend(prepare.iter().flat_map(|prepare| ["--prepare", prepare]));
    let output =
        network.exec("laptop", &arguments).current_dir(directory).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let exported: Value =
        serde_json::from_slice(&std::fs::read(export).expect("a file")).expect("JSON");
    let found = exported["results"][0]["times"].as_array().expect("all times");
    let logarithms: Vec<f64> = found.iter().map(|time| number(time).ln()).collect();
    assert_eq!(logarithms.len(), times as usize);
    let (mean, half) = mean_and_half(&logarithms, STUDENT);
    (mean.exp(), ((mean + half).exp() - (mean - half).exp()) / 2.0)
}

/// The same mean within both intervals, without and with an upload that has been at work for the
/// same time before each repetition. One upload for all of hyperfine's repetitions would not do:
/// they are then not independent, as each changes the state of the upload for the next (with BBR
/// they grew from 0.25 to 0.44 s within 4 s).
fn assert_same_means(name: &str) {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let ours = by_btu(&laboratory, name);
    let mut network = Network::up(&laboratory, name);
    network.start("server", &["sh", "-c", &format!("cd $(mktemp -d) && {SERVER}")]);
    network.start("server", &["perl", "-MIO::Socket::INET", "-e", SINK]);
    network.start("phone", &["perl", "-MIO::Socket::INET", "-e", FRESH_SOURCE]);
    std::thread::sleep(Duration::from_secs(2));
    let alone = by_hyperfine(&network, FETCH, TIMES, None);
    let loaded = by_hyperfine(&network, FETCH, TIMES, Some(ASK_FOR_UPLOAD));
    for (what, ours, theirs) in [("alone", ours[0], alone), ("with an upload", ours[1], loaded)] {
        println!(
            "{name}, {what}: btu {:.4} s +- {:.4}, hyperfine {:.4} s +- {:.4}",
            ours.0, ours.1, theirs.0, theirs.1
        );
        judge!(
            laboratory,
            (ours.0 - theirs.0).abs() <= ours.1 + theirs.1,
            "{name}, {what}: intervals that do not meet"
        );
    }
}

#[test]
#[ignore = "slow: needs hyperfine, curl and python3; scripts/run-lab hyperfine"]
fn slow_hyperfine_finds_the_same_means_on_a_bloated_line() {
    assert_same_means("home-bloated");
}

#[test]
#[ignore = "slow: needs hyperfine, curl and python3; scripts/run-lab hyperfine"]
fn slow_hyperfine_finds_the_same_means_behind_fq_codel() {
    assert_same_means("home-fq-codel");
}

/// Rounds in which both tools measure `true`, by turns, so that what drifts affects both.
const ROUNDS: usize = 5;

/// Student's t for 95 % with four degrees of freedom.
const STUDENT_OF_ROUNDS: f64 = 2.776;

/// `true` does nothing: its measured time, and the further time of a repetition, are the cost of
/// the tool itself. hyperfine's repetitions follow one another at once and find caches warm, while
/// btu stores each one and checks that the network is empty before the next.
#[test]
#[ignore = "slow: needs hyperfine; scripts/run-lab hyperfine"]
fn slow_a_repetition_costs_no_more_than_hyperfines() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let network = Network::up(&laboratory, "home-bloated");
    let ours = |blocks: u32| {
        let (count, began) = (blocks.to_string(), Instant::now());
        let arguments =
            ["run", "-q", "--network", "home-bloated", "--blocks", &count, "--", "true"];
        let output = laboratory.command(&arguments).output().expect("btu starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        (began.elapsed().as_secs_f64(), super::mean(&result(&laboratory), 0))
    };
    let theirs = |times: u32| {
        let began = Instant::now();
        let (mean, _) = by_hyperfine(&network, "true", times, None);
        (began.elapsed().as_secs_f64(), mean)
    };
    // What a repetition takes in addition to the program, in seconds.
    let besides = |short: (f64, f64), long: (f64, f64)| (long.0 - short.0) / 80.0 - long.1;
    let round = |number: usize| {
        let (ours, theirs) = ([ours(20), ours(100)], [theirs(20), theirs(100)]);
        println!(
            "round {number}: `true` takes {:.3} ms by btu and {:.3} ms by hyperfine; a repetition takes {:.2} ms and {:.2} ms besides",
            ours[1].1 * 1e3,
            theirs[1].1 * 1e3,
            besides(ours[0], ours[1]) * 1e3,
            besides(theirs[0], theirs[1]) * 1e3
        );
        (ours[1].1 / theirs[1].1).ln()
    };
    let ratios: Vec<f64> = (1..=ROUNDS).map(round).collect();
    let (mean, half) = mean_and_half(&ratios, STUDENT_OF_ROUNDS);
    let [low, ratio, high] = [mean - half, mean, mean + half].map(f64::exp);
    println!("btu to hyperfine: {ratio:.3} ({low:.3} .. {high:.3})");
    // What is added to a program's own time is no more, as far as the rounds can tell; an interval
    // so wide that it tells nothing does not pass.
    judge!(laboratory, low <= 1.0 && ratio <= 1.2, "{ratio:.3} ({low:.3} .. {high:.3})");
}
