//! `btu run`: known answers, bad days, comparisons, resuming, and the library of examples. Programs
//! are of every Debian: a shell, coreutils and perl-base.

mod apart;
mod bad_days;
mod examples;
mod hyperfine;
mod recipes;

use std::path::PathBuf;
use std::process::Output;
use std::time::Instant;

use btu_conditions::judge;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Laboratory, finish};
use crate::support::{LONG, lab_skipped, send, text};

/// Writes an experiment file and measures it.
fn experiment(laboratory: &Laboratory, file: &str, arguments: &[&str]) -> Output {
    let path = written(laboratory, file);
    let path = path.to_str().expect("a path");
    let output = laboratory
        .command(&[&["run", "--quiet", path], arguments].concat())
        .output()
        .expect("btu starts");
    println!("{}{}", text(&output.stdout), text(&output.stderr));
    laboratory.assert_down();
    output
}

fn written(laboratory: &Laboratory, file: &str) -> PathBuf {
    let path = laboratory.directory.path().join("experiment.toml");
    std::fs::write(&path, file).expect("a file is written");
    path
}

fn result(laboratory: &Laboratory) -> Value {
    laboratory.json(&["show"])["result"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// The mean of a row of the first value.
fn mean(result: &Value, row: usize) -> f64 {
    number(&result["values"][0]["rows"][row]["value"]["value"])
}

/// Starting a shell and a program, on an idle machine, takes some ms: 20 are allowed.
#[test]
fn a_sleeper_takes_as_long_as_it_sleeps() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let output =
        laboratory.command(&["run", "-q", "--", "sleep", "0.1"]).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = result(&laboratory);
    let slept = mean(&result, 0);
    println!("slept {slept} s");
    judge!(laboratory, (0.1..0.12).contains(&slept), "{slept} s");
    let used = &result["uses"][0]["programs"][0];
    judge!(
        laboratory,
        number(&used["user_seconds"]) + number(&used["system_seconds"]) < 0.02,
        "{used}"
    );
    assert!(
        number(&used["peak_memory_bytes"]) > 1e5 && number(&used["voluntary_switches"]) >= 1.0,
        "{used}"
    );
}

/// perl itself has some MB, and `true` less than what btu has when it starts it, which the test's
/// build keeps below 8 MB.
#[test]
fn peak_memory_is_the_programs_own() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let file = r#"
network = "veth"
[measure.fill]
on = "test"
run = ["perl", "-e", "vec($s, (64 << 20) - 1, 8) = 1"]
[measure.true]
on = "test"
run = ["true"]
[order]
blocks = 2
"#;
    assert!(experiment(&laboratory, file, &[]).status.success());
    let used = result(&laboratory)["uses"][0]["programs"].clone();
    let of = |program: usize, key: &str| number(&used[program][key]);
    println!("{used}");
    let (filled, nothing) = (of(0, "peak_memory_bytes"), of(1, "peak_memory_bytes"));
    let text = f64::from(64 << 20);
    judge!(laboratory, (text..text + 10e6).contains(&filled), "{filled} B with a text of {text} B");
    judge!(
        laboratory,
        nothing <= of(1, "least_memory_bytes") && nothing < 8e6,
        "{nothing} B of `true`"
    );
}

/// 250 kB over a line of 10 Mb/s: 172.7 segments of 1448 octets, each 1538 octets on the line, take
/// 212.4 ms; TCP's start on a line without delay and two interpreters take some 10 ms, of which 40
/// are allowed.
#[test]
fn a_download_takes_what_the_line_does() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let file = r#"
network = "10 Mb/s"
[service.source]
on = "active"
run = ["perl", "-MIO::Socket::INET", "-e", "my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 5, ReuseAddr => 1); while (my $c = $s->accept) { print $c 'x' x 250000; close $c }"]
ready = { port = 5000 }
[measure.read]
on = "test"
run = ["bash", "-c", "cat < /dev/tcp/{active}/5000 | wc -c"]
values = { took = "elapsed", got = { pattern = "[0-9]+", unit = "B", better = "higher" } }
[order]
blocks = 5
"#;
    assert!(experiment(&laboratory, file, &["-C", "reno"]).status.success());
    let result = result(&laboratory);
    let took = mean(&result, 0);
    println!("took {took} s");
    let expected = 250_000.0 * 8.0 * 1538.0 / 1448.0 / 10e6;
    judge!(
        laboratory,
        took > expected * 0.99 && took < expected + 0.04,
        "{took} s, not {expected} s"
    );
    let got = number(&result["values"][1]["rows"][0]["value"]["value"]);
    assert!((got - 250_000.0).abs() < 1e-3, "{got} B");
}

/// One program of each kind: its time is where it was put, whatever the processes are called that spend it.
#[test]
fn a_programs_time_is_divided() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    let file = r#"
network = "10 Mb/s"
[service.source]
on = "active"
run = ["perl", "-MIO::Socket::INET", "-e", "my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 5, ReuseAddr => 1); while (my $c = $s->accept) { print $c 'x' x 1500000; close $c }"]
ready = { port = 5000 }
[measure.work]
on = "test"
run = ["bash", "-c", '''
burn() { perl -MTime::HiRes=time -e 'my $end = time + 1.3; 1 while time < $end'; }
one=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
case {what} in
sleeps) sleep 1.3 ;;
fetches) cat < /dev/tcp/{active}/5000 | wc -c ;;
computes) burn ;;
shares) taskset -cp $one $$ && { burn & burn & wait; } ;;
esac''']
[factors]
what = ["sleeps", "fetches", "computes", "shares"]
[order]
blocks = 2
"#;
    let output = experiment(&laboratory, file, &["-C", "reno"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let uses = result(&laboratory)["uses"].clone();
    // The tolerance is for the start of a shell and an interpreter.
    for (row, part, expected, tolerance) in [
        (0, "sleeping", 1.0, 0.2),
        (1, "sockets", 1.0, 0.2),
        (2, "on_processor", 1.0, 0.2),
        (3, "waiting", 0.5, 0.0),
    ] {
        let time = &uses[row]["programs"][0]["time"];
        println!("{time}");
        // Who looks has a processor late on a busy machine, and then looks too seldom to say anything.
        judge!(laboratory, time.is_object(), "{part}: not divided, {uses}");
        let Some(shares) = time.as_object() else { continue };
        let sum: f64 =
            shares.iter().filter(|(name, _)| *name != "moments").map(|one| number(one.1)).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{time}");
        // Three standard deviations of a share of so many moments.
        let scatter = 3.0 * (expected * (1.0 - expected) / number(&time["moments"])).sqrt();
        let distance = (number(&time[part]) - expected).abs();
        judge!(laboratory, distance <= scatter + tolerance, "{part}: {time}");
    }
}

/// A sleep of a product: both factors double it, do not interact, and a third one does nothing.
#[test]
fn effects_of_a_known_product_are_found() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let file = r#"
network = "veth"
[measure.sleep]
on = "test"
run = ["perl", "-e", "select undef, undef, undef, $ARGV[0] * $ARGV[1]", "{seconds}", "{times}"]
environment = { NOTHING = "{nothing}" }
[factors]
seconds = [0.1, 0.2]
times = [1, 2]
nothing = ["this", "that"]
[order]
blocks = 3
"#;
    assert!(experiment(&laboratory, file, &[]).status.success());
    let result = result(&laboratory);
    let effects = &result["values"][0]["effects"]["effects"];
    let share = |factors: &[u64]| {
        let terms = effects["terms"].as_array().expect("terms");
        let term = terms
            .iter()
            .find(|term| term["factors"] == serde_json::json!(factors))
            .expect("a term");
        let interval = &term["share"]["interval"];
        (number(&term["share"]["value"]), number(&interval["low"]))
    };
    println!("{effects}");
    // Each doubles: half of the variance of the logarithm each, less what starting perl takes of
    // the shorter ones.
    for factor in [0, 1] {
        let (value, low) = share(&[factor]);
        judge!(laboratory, (0.4..0.6).contains(&value) && low > 0.2, "factor {factor}: {value}");
    }
    // An interval of 95 % leaves zero out now and then, so zero is not asked for: the end nearest to
    // it must show less than a thousandth of the variance. How often it holds zero is simulated in
    // the crate of estimators.
    for none in [&[2][..], &[0, 2], &[1, 2]] {
        let (value, low) = share(none);
        judge!(laboratory, value < 0.02 && low < 1e-3, "{none:?}: {value} from {low}");
    }
    judge!(laboratory, share(&[0, 1]).0 < 0.02, "they multiply");
    let four = number(&result["values"][0]["rows"][6]["slowdown"]["value"]);
    // Starting perl takes some ms, at most 15 of them, besides: (400 + 15) / (100 + 15) is 3.6.
    judge!(laboratory, (3.6..4.05).contains(&four), "{four} times");
}

/// `SCHED_DEADLINE` gives a program 5 ms of each 10 ms: half a processor, and so twice the time
/// (sched(7)). Only root may ask for it.
#[test]
fn half_a_processor_takes_twice_the_time() {
    let Some(laboratory) = Laboratory::open_alone_as_root() else { return };
    let quota = ["-d", "-T", "5000000", "-D", "10000000", "-P", "10000000", "0", "true"];
    let allowed = std::process::Command::new("chrt")
        .args(quota)
        .output()
        .is_ok_and(|output| output.status.success());
    if !allowed {
        eprintln!("LAB SKIPPED: chrt may not give half a processor here");
        assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "BTU_LAB=required");
        return;
    }
    let file = r#"
network = "veth"
[measure.compute]
on = "test"
run = ["perl", "-e", "for my $i (1 .. 3000000) { $s += $i }"]
values = { took = "elapsed", cpu = "cpu" }
[variant.whole]
measure.compute.run = ["perl", "-e", "for my $i (1 .. 3000000) { $s += $i }"]
[variant.half]
measure.compute.run = ["chrt", "-d", "-T", "5000000", "-D", "10000000", "-P", "10000000", "0", "perl", "-e", "for my $i (1 .. 3000000) { $s += $i }"]
[order]
blocks = 4
"#;
    assert!(experiment(&laboratory, file, &[]).status.success());
    let result = result(&laboratory);
    let half = |value: usize| number(&result["values"][value]["rows"][1]["value"]["value"]);
    let (elapsed, cpu) = (half(0), half(1));
    println!("{elapsed} s elapsed, {cpu} s of the processor");
    // The kernel gives 5 ms of every 10 ms before all others get any, so this holds on a busy
    // machine, too: the last period may be cut short by half of it, and perl starts first. A
    // comparison with the other variant would hold on a quiet machine only.
    judge!(laboratory, (1.7..2.3).contains(&(elapsed / cpu)), "{} times", elapsed / cpu);
    let slowdown = number(&result["values"][1]["rows"][1]["slowdown"]["value"]);
    // Arithmetic of a virtual machine has two speeds, 1.46 times apart, and switches within seconds. With the
    // time without a processor in it, this would be 2.
    judge!(laboratory, (0.65..1.55).contains(&slowdown), "processor time: {slowdown} times");
}

/// Every kernel allows Reno and its own default, which is CUBIC on most; `None` where that is Reno,
/// too.
fn other_than_reno() -> Option<String> {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let list = list.expect("the kernel's list");
    let other = list.split_whitespace().find(|name| *name != "reno").map(str::to_owned);
    if other.is_none() {
        lab_skipped("this kernel allows stations no congestion control but Reno");
    }
    other
}

/// Two congestion controls in one run, interleaved: each row's stations have their own, so the same
/// program prints 1 with one of them and 2 with the other, and btu's activities work with both.
#[test]
fn congestion_controls_are_compared_in_one_run() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let Some(other) = other_than_reno() else { return };
    let file = r#"
network = "10 Mb/s"
[measure.which]
on = "test"
run = ["sh", "-c", "grep -q reno /proc/sys/net/ipv4/tcp_congestion_control && echo 1 || echo 2"]
value = { pattern = "[0-9]", unit = "number", better = "lower" }
[measure.upload]
on = "test"
to = "active"
activity = "tcp-stream"
amount = "20 kB"
values = { rate = "goodput" }
[factors]
congestion_control = ["reno", "cubic"]
[order]
blocks = 2
"#;
    let file = &file.replace("cubic", &other);
    assert!(experiment(&laboratory, file, &[]).status.success());
    let result = result(&laboratory);
    let prints = |row, number: f64| (mean(&result, row) - number).abs() < 1e-9;
    assert!(prints(0, 1.0) && prints(1, 2.0), "{result}");
    let rates = &result["values"][1]["rows"];
    judge!(laboratory, (0..2).all(|row| number(&rates[row]["value"]["value"]) > 1e6), "{rates}");
    let head = text(&laboratory.command(&["show"]).output().expect("btu starts").stdout);
    assert!(!head.contains("congestion control: reno"), "{head}");
    let both = experiment(&laboratory, file, &["-C", "reno"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));
    // The same without a file: the levels are in their order, in turns within blocks.
    let controls = format!("reno,{other}");
    let which = "test reno = $(cat /proc/sys/net/ipv4/tcp_congestion_control) || sleep 0.2";
    let line = ["run", "-q", "-C", &controls, "--blocks", "4", "--", "sh", "-c", which];
    let output = laboratory.command(&line).output().expect("btu starts");
    let first = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = format!("{other} is ");
    assert!(first.starts_with(&expected), "{first}");
    judge!(laboratory, first.contains(" times slower than reno ("), "{first}");
    let plan = laboratory.json(&["show"])["run"]["plan"].clone();
    assert_eq!(plan["factors"][0]["name"], "congestion_control");
    assert_eq!(plan["factors"][0]["levels"], serde_json::json!(["reno", other]));
    laboratory.assert_down();
}

/// A sleep that is twice as long, by a word of the command line.
#[test]
fn values_of_a_word_are_compared_without_a_file() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let line =
        ["run", "-q", "--factor", "seconds=0.2,0.4", "--blocks", "3", "--", "sleep", "{seconds}"];
    let output = laboratory.command(&line).output().expect("btu starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    let result = result(&laboratory);
    let ratio = number(&result["values"][0]["rows"][1]["slowdown"]["value"]);
    // Starting a program takes some ms, and on a busy machine up to 40 of them.
    judge!(laboratory, (1.8..2.1).contains(&ratio), "{ratio}");
    let first = text(&output.stdout);
    assert!(first.starts_with("sleep with seconds=0.4 is "), "{first}");
}

/// A run with a seed that was killed is completed as if it had not been: equal cells in an equal
/// order.
#[test]
fn a_run_that_was_killed_is_finished_as_it_was_planned() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let file = r#"
network = "veth"
[measure.work]
on = "test"
run = ["sleep", "{a}"]
environment = { B = "{b}" }
[factors]
a = [0.01, 0.05]
b = [1, 2]
[order]
blocks = 3
"#;
    assert!(experiment(&laboratory, file, &["--seed", "7"]).status.success());
    let path = written(&laboratory, file);
    let begin = ["run", "--quiet", path.to_str().expect("a path"), "--seed", "7"];
    let mut child = laboratory.command(&begin).spawn().expect("btu starts");
    let deadline = Instant::now() + LONG;
    while !(1..12).contains(&laboratory.stored_cells()) || runs(&laboratory) < 2 {
        assert!(Instant::now() < deadline, "no second run after {LONG:?}");
    }
    send(child.id().cast_signed(), Signal::SIGKILL);
    child.wait().expect("it is dead");
    let before = laboratory.stored_cells();
    imported_programs_are_not_started(&laboratory);
    let resumed =
        laboratory.command(&["run", "--resume", "latest", "--quiet"]).spawn().expect("btu starts");
    let output = finish(resumed);
    assert!(output.status.success(), "{}", text(&output.stderr));
    laboratory.assert_down();
    println!("{before} of 12 cells were stored when it was killed");
    let plan = |run: &str| {
        let shown = laboratory.json(&["show", run]);
        (shown["run"]["plan"].to_string(), shown["run"]["plan_hash"].to_string())
    };
    assert_eq!(plan("r1"), plan("r2"));
    let cells = |run: &str| -> Vec<String> {
        let cells = laboratory.json(&["show", run, "--cells"]);
        let cell =
            |cell: &Value| format!("{} {} {}", cell["block"], cell["position"], cell["cell"]);
        let mut cells: Vec<String> = cells.as_array().expect("cells").iter().map(cell).collect();
        cells.sort();
        cells
    };
    assert_eq!(cells("r1"), cells("r2"));
    assert_eq!(cells("r1").len(), 12);
}

/// If the newest run is imported, resuming it does not start its programs.
fn imported_programs_are_not_started(laboratory: &Laboratory) {
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let archive = laboratory.directory.path().join("run.btu");
    let archive = archive.to_str().expect("a path");
    let exported = laboratory
        .command(&["runs", "export", "latest", "-o", archive])
        .output()
        .expect("btu starts");
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let there = |arguments: &[&str]| {
        laboratory
            .command(arguments)
            .env("BTU_DATA", elsewhere.path())
            .output()
            .expect("btu starts")
    };
    assert!(there(&["runs", "import", archive]).status.success());
    let refused = there(&["run", "--resume", "latest", "--quiet"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("--start-programs"), "{}", text(&refused.stderr));
}

fn runs(laboratory: &Laboratory) -> usize {
    laboratory.json(&["runs"]).as_array().map_or(0, Vec::len)
}
