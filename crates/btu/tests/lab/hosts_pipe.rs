//! `btu pipe` between this machine and another one, with an agent there, and under faults.

use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::once;
use crate::hosts_lab::{Hosts, ended, events};
use crate::support::{LONG, text};
use btu_conditions::judge;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The other machine's address on the measured network.
const ALPHA: &str = "10.99.0.10";

/// An inventory of the other machine, with its address on the measured network.
fn inventory(hosts: &Hosts, measured: &str) -> String {
    let path = hosts.path("alpha.toml");
    let text = format!("[hosts.alpha]\ncontrol = \"198.18.1.1\"\nmeasured = \"{measured}\"\n");
    std::fs::write(&path, text).unwrap();
    path
}

/// The time within which a kill there ends the run.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

#[test]
fn a_pipe_between_two_machines_is_measured_and_survives_bad_days() {
    let Some(mut hosts) = Hosts::raise_once_if_changed(1) else { return };
    // The controller's machine takes part in the measurement, too.
    hosts.shell("desk", "ip address add 10.99.0.1/24 dev measured");
    hosts.start_agents();
    signature(&hosts);
    layers(&hosts);
    under_load(&hosts);
    hint(&hosts);
    over_ipv6(&hosts);
    refused(&hosts);
    if !once::tested_already() {
        bad_days(&mut hosts);
    }
    hosts.lower();
}

/// A quick run to that machine.
fn measured(hosts: &Hosts, arguments: &[&str]) -> Value {
    measured_to(hosts, ALPHA, arguments)
}

fn measured_to(hosts: &Hosts, measured: &str, arguments: &[&str]) -> Value {
    let inventory = inventory(hosts, measured);
    let quick = ["pipe", "--hosts", &inventory, "--to", "alpha", "--precision", "quick", "--quiet"];
    let result = Hosts::json(hosts.desk(&[&quick[..], arguments].concat()));
    assert_eq!(result["run"]["state"], "complete", "{}", result["run"]["events"]);
    result
}

fn signature(hosts: &Hosts) {
    let result = measured(hosts, &["--sizes", "1,1KiB,64KiB,1MiB", "--integrity"]);
    let place = &result["run"]["plan"]["signature"]["place"];
    assert_eq!(
        (&place["where"], &place["name"], &place["measured"]),
        (&"machines".into(), &"alpha".into(), &"10.99.0.10".into())
    );
    let sizes = result["result"]["sizes"].as_array().expect("a signature has sizes");
    assert_eq!(sizes.len(), 4);
    let accounts = &result["result"]["accounts"];
    assert_eq!(accounts["wrong"], 0, "{accounts}");
    assert!(
        accounts["sent"] == accounts["received"] && accounts["checked"] == accounts["received"],
        "{accounts}"
    );
    // The desk and the host, before and after; the host's clock is this machine's own.
    let environments = result["run"]["environments"].as_array().unwrap();
    let names: Vec<Option<&str>> = environments.iter().map(|one| one[1]["name"].as_str()).collect();
    assert_eq!(names, [None, Some("alpha"), Some("alpha"), None]);
    let clock = &environments[1][1]["clock"];
    let (offset, trip) =
        (clock["offset_ns"].as_i64().unwrap(), clock["round_trip_ns"].as_i64().unwrap());
    assert!(offset.abs() <= trip / 2 + 1, "{offset} of {trip}");
    let shown = text(&hosts.lab_command(&["show", "--all"]).output().unwrap().stdout);
    let told =
        "the far end is on alpha, measured at 10.99.0.10, controlled by TLS to 198.18.1.1:7417";
    assert!(shown.contains(told), "{shown}");
}

fn layers(hosts: &Hosts) {
    let result = measured(hosts, &["--layers", "--sizes", "64,32KiB"]);
    let series = result["run"]["plan"]["set"]["series"].as_array().unwrap();
    let kinds: Vec<&str> = series.iter().filter_map(|plan| plan["kind"].as_str()).collect();
    assert_eq!(kinds[..5], ["udp", "tcp", "tls", "http2", "quic"], "no transport of one machine");
    assert_eq!(
        result["run"]["cells"].as_u64(),
        Some(2 * kinds.len() as u64),
        "{}",
        result["run"]["summary"]
    );
}

fn under_load(hosts: &Hosts) {
    let result = measured(hosts, &["--load", "cpu,transfer", "--sizes", "1,64KiB,128KiB"]);
    let told = events(&result, "the load `transfer` did");
    assert_eq!(told.len(), 1, "{}", result["run"]["events"]);
    assert!(!told[0].contains("did 0 bytes"), "{told:?}");
    assert!(!is_at_work(hosts), "the load's server went with the reservation");
}

fn hint(hosts: &Hosts) {
    let result = measured(hosts, &["--hint"]);
    let steps = result["result"]["two"]["steps"].as_array();
    assert!(steps.is_some_and(|steps| steps.len() > 3), "{}", result["result"]["two"]);
}

/// Measures every transport of a network, and also the load `transfer`.
fn over_ipv6(hosts: &Hosts) {
    if !(hosts.speak_ipv6("desk", "measured", "fd99::1")
        && hosts.speak_ipv6("alpha", "m0", "fd99::10"))
    {
        return;
    }
    let to = "fd99::10";
    let result = measured_to(hosts, to, &["--layers", "--sizes", "64,32KiB"]);
    let series = result["run"]["plan"]["set"]["series"].as_array().unwrap();
    assert_eq!(series[0]["place"]["measured"], "fd99::10");
    assert_eq!(
        result["run"]["cells"].as_u64(),
        Some(2 * series.len() as u64),
        "{}",
        result["run"]["summary"]
    );
    let result = measured_to(hosts, to, &["--load", "transfer", "--sizes", "1,64KiB"]);
    assert!(!events(&result, "the load `transfer` did").is_empty(), "{}", result["run"]["events"]);
}

/// Invalid requests, and those that the other machine refuses, start nothing or end with the
/// reason.
fn refused(hosts: &Hosts) {
    let said = |arguments: &[&str], code: i32| {
        let output = hosts
            .desk(&[&["pipe", "--quiet", "--sizes", "64"], arguments].concat())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    let inventory = inventory(hosts, ALPHA);
    let to = ["--hosts", &inventory, "--to", "alpha"];
    let to = |more: &[&'static str]| [&to[..], more].concat();
    assert!(said(&["--to", "alpha"], 2).contains("--ssh alpha"));
    assert!(said(&["--hosts", &inventory, "--to", "omega"], 2).contains("there are alpha"));
    assert!(said(&["--hosts", &inventory], 2).contains("--to"));
    assert!(said(&to(&["--transport", "unix-stream"]), 2).contains("inside one machine"));
    assert!(said(&to(&["--from", "beta"]), 2).contains("--from"));
    let text = std::fs::read_to_string(&inventory).unwrap();
    std::fs::write(&inventory, text.replace("198.18.1.1", "198.18.1.1:9")).unwrap();
    assert!(said(&to(&[]), 3).contains("does `btu hosts agent` run there"));
    std::fs::write(&inventory, text.replace(ALPHA, "10.99.0.99")).unwrap();
    let elsewhere = said(&to(&[]), 1);
    assert!(
        elsewhere.contains("10.99.0.99, which is to be its address on the measured network"),
        "{elsewhere}"
    );
    assert_eq!(hosts.stored()["run"]["state"], "failed");
}

fn bad_days(hosts: &mut Hosts) {
    let send = |process: i32, signal| kill(Pid::from_raw(process), signal).unwrap();
    let (output, took) = in_the_middle(hosts, |hosts| send(worker_there(hosts), Signal::SIGKILL));
    interrupted(hosts, &output, "killed by signal 9");
    judge!(hosts.lab, took < ENDS_WITHIN, "{took:?}");
    let (output, took) = in_the_middle(hosts, |hosts| hosts.signal_agent("alpha", Signal::SIGKILL));
    interrupted(hosts, &output, "host alpha");
    judge!(hosts.lab, took < ENDS_WITHIN, "{took:?}");
    hosts.bury_agent("alpha");
    hosts.start_agent("alpha");
    hosts.await_agents();
    finished(hosts);
    // The agent ends its part with the lease and still can say so, unless TCP, which hears no
    // acknowledgement, sends it too late; then its silence is noticed.
    let (output, took) = in_the_middle(hosts, partition);
    let reasons = ["killed: its controller was not heard any more", "it gave no sign of life"];
    let reason = reasons.into_iter().find(|reason| text(&output.stderr).contains(reason));
    interrupted(hosts, &output, reason.unwrap_or(reasons[0]));
    judge!(hosts.lab, took < Duration::from_secs(15), "{took:?}");
    hosts.shell("alpha", "nft delete table ip drill");
    let (output, took) = in_the_middle(hosts, |hosts| send(controller(hosts), Signal::SIGINT));
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    judge!(hosts.lab, took < ENDS_WITHIN, "{took:?}");
    in_the_middle(hosts, |hosts| send(controller(hosts), Signal::SIGKILL));
    // The controller did not release the host; its lease ends, and the work with it.
    let killed = Instant::now();
    while is_at_work(hosts) {
        assert!(killed.elapsed() < LONG, "its worker lives on");
        thread::sleep(Duration::from_millis(100));
    }
    let took = killed.elapsed();
    judge!(hosts.lab, took < Duration::from_secs(8), "its worker ended after {took:?}");
    finished(hosts);
}

/// Begins a long run, causes a fault after two sizes, and measures the time until the run ends.
fn in_the_middle(hosts: &mut Hosts, happen: impl FnOnce(&Hosts)) -> (Output, Duration) {
    let inventory = inventory(hosts, ALPHA);
    let long = ["--precision", "quick", "--sizes", "1..64KiB", "--quiet"];
    let to = ["pipe", "--hosts", &inventory, "--to", "alpha"];
    let child = hosts.begin(hosts.desk(&[&to[..], &long].concat()), 2);
    let began = Instant::now();
    happen(hosts);
    let output = ended(child);
    println!("ended after {:?}: {}", began.elapsed(), text(&output.stderr));
    (output, began.elapsed())
}

fn interrupted(hosts: &Hosts, output: &Output, told: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(told) && said.contains("btu pipe --resume"), "{said}");
    let stored = hosts.stored();
    assert_eq!(stored["run"]["state"], "interrupted", "{said}");
    assert!(
        stored["result"]["sizes"].as_array().is_some_and(|sizes| sizes.len() >= 2),
        "finished sizes are kept"
    );
}

/// The newest run can be resumed.
fn finished(hosts: &Hosts) {
    let before = hosts.runs();
    let output = hosts.desk(&["pipe", "--resume", "latest", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = hosts.runs();
    assert!(
        after.0 == before.0 && after.1 > before.1,
        "the same run went on: {before:?} {after:?}"
    );
    assert_eq!(hosts.stored()["run"]["state"], "complete");
}

/// The agent's worker, by its process id in this test's namespace.
fn worker_there(hosts: &Hosts) -> i32 {
    let parent = format!("PPid:\t{}\n", hosts.agent("alpha"));
    let is_child = |process: i32| {
        std::fs::read_to_string(format!("/proc/{process}/status"))
            .is_ok_and(|status| status.contains(&parent))
    };
    let found = hosts.lab.processes().into_iter().find(|(process, _)| is_child(*process));
    found.expect("the agent has a worker").0
}

/// Whether a worker of any host is alive.
fn is_at_work(hosts: &Hosts) -> bool {
    hosts.lab.processes().iter().any(|(_, line)| line.contains("internal worker"))
}

fn controller(hosts: &Hosts) -> i32 {
    hosts.lab.process("the controller", |line| {
        line.contains(" pipe --hosts") && !line.contains(" exec ") && !line.contains(" enter ")
    })
}

/// No packets arrive there any more, as behind a switch without power.
fn partition(hosts: &Hosts) {
    hosts.shell(
        "alpha",
        "nft add table ip drill && nft add chain ip drill in { type filter hook input priority 0 \\; } && \
         nft add rule ip drill in iifname eth0 drop && nft add rule ip drill in iifname m0 drop",
    );
}
