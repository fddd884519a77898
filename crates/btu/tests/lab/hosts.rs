//! Real hosts: rated end to end, and under faults, with agents in stations of a raised network.

use std::thread;
use std::time::{Duration, Instant};

use crate::hosts_lab::{Hosts, RATED, SMALL_RATING, ended, events};
use crate::support::text;
use btu_conditions::judge;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn three_hosts_are_rated() {
    let Some(hosts) = Hosts::raise_once(3) else { return };
    hosts.start_agents();
    rated_end_to_end(&hosts);
    rated_over_ipv6(&hosts);
    not_reachable_where_it_is_measured(&hosts);
    without_a_certificate_that_counts(&hosts);
    busy(&hosts);
    hosts.lower();
}

#[test]
fn agents_that_end_or_stop_are_survived() {
    let Some(hosts) = Hosts::raise_once_if_changed(3) else { return };
    hosts.start_agents();
    an_agent_started_again(&hosts);
    an_agent_that_never_comes_back(&hosts);
    a_stopped_agent(&hosts);
    hosts.lower();
}

#[test]
fn a_bad_control_network_and_a_killed_controller_are_survived() {
    let Some(hosts) = Hosts::raise_once_if_changed(3) else { return };
    hosts.start_agents();
    a_partition(&hosts, Duration::from_secs(7));
    losses_on_the_control_network(&hosts);
    a_killed_controller(&hosts);
    hosts.lower();
}

fn rated_end_to_end(hosts: &Hosts) {
    let all = "SEND,2xRECV+DL,2xSEND+DR,INTERACTIVE/TCP,UDP";
    let began = Instant::now();
    let result = Hosts::json(hosts.rate(&[
        "--component",
        all,
        "--message",
        "65536",
        "--load",
        "idle,disk,transfer",
        "--seed",
        "5",
    ]));
    println!("rated in {:?}", began.elapsed());
    let run = &result["run"];
    assert_eq!(run["state"], "complete", "{}", run["events"]);
    assert_eq!(run["plan"]["network"]["kind"], "machines");
    let reached = &run["plan"]["network"]["hosts"][1];
    assert_eq!((&reached["name"], &reached["measured"]), (&"beta".into(), &"10.99.0.11".into()));
    assert_eq!(reached["reached"]["address"], "198.18.1.2:7417");
    // Three hosts before and after, each with its clock: all of this machine, so there is no
    // difference.
    let environments = run["environments"].as_array().unwrap();
    assert_eq!(environments.len(), 6);
    for (environment, name) in environments.iter().zip(RATED.iter().cycle()) {
        let environment = &environment[1];
        assert_eq!(environment["name"], *name);
        let offset = environment["clock"]["offset_ns"].as_i64().unwrap();
        let trip = environment["clock"]["round_trip_ns"].as_i64().unwrap();
        assert!(offset.abs() <= trip / 2 + 1, "{name}: {offset} of {trip}");
    }
    let rates = result["result"]["rates"].as_array().unwrap();
    assert!(
        rates.iter().all(|rate| rate["goodput_bits_per_second"]["value"]
            .as_f64()
            .is_none_or(|rate| rate > 1e6)),
        "{rates:?}"
    );
    assert_eq!(result["result"]["invalid_cells"], 0, "{}", result["result"]["warnings"]);
    can_impair_or_says_why(hosts, &result);
    let shown = text(&hosts.lab_command(&["show", "--all"]).output().unwrap().stdout);
    assert!(shown.contains("network hosts alpha, beta, gamma"), "{shown}");
    assert!(
        shown.contains(
            "passive is gamma, measured at 10.99.0.12, controlled by TLS to 198.18.1.3:7417"
        ),
        "{shown}"
    );
    keeps_no_secret(hosts);
    for format in ["html", "xlsx", "csv"] {
        let file = hosts.path(&format!("report.{format}"));
        let output =
            hosts.lab_command(&["report", "--format", format, "--output", &file]).output().unwrap();
        assert!(output.status.success(), "{format}: {}", text(&output.stderr));
    }
}

/// Neither the keys for calling the hosts nor any token or password is stored.
fn keeps_no_secret(hosts: &Hosts) {
    let identity = std::fs::read_to_string(hosts.path("me.pem")).unwrap();
    let key = identity.split("PRIVATE KEY-----").nth(1).unwrap().lines().nth(1).unwrap().to_owned();
    assert!(key.len() > 40, "{}", key.len());
    let archive = hosts.path("run.btu");
    assert!(
        hosts
            .lab_command(&["runs", "export", "latest", "-o", &archive])
            .output()
            .unwrap()
            .status
            .success()
    );
    let unpacked = std::process::Command::new("zcat").arg(&archive).output().unwrap();
    let all = text(&unpacked.stdout);
    assert!(all.contains("\"alpha\""), "{} bytes", all.len());
    for secret in [key.as_str(), "PRIVATE KEY", "\"token\"", "\"password\""] {
        assert!(!all.contains(secret), "{secret} is stored");
    }
}

/// The measured network speaks IPv6, file transfer and all; the control network continues with
/// IPv4.
fn rated_over_ipv6(hosts: &Hosts) {
    if !RATED
        .iter()
        .zip(10..)
        .all(|(name, place)| hosts.speak_ipv6(name, "m0", &format!("fd99::{place}")))
    {
        return;
    }
    let inventory = hosts.inventory(|text| text.replace("10.99.0.", "fd99::"));
    let rows =
        ["--component", "SEND_RECV,INTERACTIVE/TCP,INTERACTIVE/UDP,UDP", "--message", "4096"];
    let rest = ["--load", "idle,transfer", "--quiet"];
    let result =
        Hosts::json(hosts.desk(&[&["rate", "--hosts", &inventory], &rows[..], &rest].concat()));
    assert_eq!(result["run"]["state"], "complete", "{}", result["run"]["events"]);
    assert_eq!(result["run"]["plan"]["network"]["hosts"][1]["measured"], "fd99::11");
    assert_eq!(result["result"]["invalid_cells"], 0, "{}", result["result"]["warnings"]);
    assert_eq!(
        result["result"]["rating"]["missing"].as_array().map(Vec::len),
        Some(0),
        "{}",
        result["result"]["rating"]
    );
}

/// This kernel may have netem or not; both are correct if they are reported. The impairments of
/// netem were probed before the first cell.
fn can_impair_or_says_why(hosts: &Hosts, result: &serde_json::Value) {
    let components = result["run"]["plan"]["components"].as_array().unwrap();
    let impaired =
        components.iter().any(|name| name.as_str().is_some_and(|name| name.contains('+')));
    let left_out = events(result, "left out, since packets cannot be delayed and dropped there");
    assert_ne!(impaired, left_out.len() == 1, "{components:?} {left_out:?}");
    let checked = result["run"]["calibration"]["network_check"]["items"].as_array().unwrap();
    let delay = checked.iter().find(|item| item["what"] == "delay added by DL in ms");
    assert_eq!(delay.is_some(), impaired, "{checked:?}");
    if let Some(delay) = delay {
        println!("impaired by netem: {delay}");
        let allowed = |end: usize| delay["allowed"][end].as_f64().unwrap();
        let seen = delay["seen"].as_f64().unwrap();
        judge!(hosts.lab, (allowed(0)..=allowed(1)).contains(&seen), "{delay}");
    }
}

fn refused(hosts: &Hosts, change: impl FnOnce(String) -> String, arguments: &[&str]) -> String {
    let inventory = hosts.inventory(change);
    let all = [&["rate", "--hosts", &inventory, "--quiet"], &SMALL_RATING[..], arguments].concat();
    let began = Instant::now();
    let output = hosts.desk(&all).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let took = began.elapsed();
    println!("refused in {took:?}: {said}");
    judge!(hosts.lab, took < Duration::from_secs(30), "refused in {took:?}");
    said
}

fn not_reachable_where_it_is_measured(hosts: &Hosts) {
    let runs = hosts.runs();
    let said = refused(hosts, |text| text.replace("10.99.0.12", "10.99.0.99"), &[]);
    assert!(said.contains("gamma") && said.contains("10.99.0.99"), "{said}");
    assert!(said.contains("measured"), "{said}");
    assert_eq!(hosts.runs(), runs, "nothing was begun");
}

fn without_a_certificate_that_counts(hosts: &Hosts) {
    hosts.bundle("other-bundle", "stranger.pem");
    let said = refused(hosts, |text| text, &["--identity", &hosts.path("stranger.pem")]);
    assert!(said.contains("is of another job"), "{said}");
    // One host behind another's address.
    let swapped = |text: String| text.replace("\"198.18.1.2\"", "\"198.18.1.3\"");
    let said = refused(hosts, swapped, &[]);
    assert!(said.contains("beta"), "{said}");
}

fn busy(hosts: &Hosts) {
    let first = hosts.begin(hosts.rate(&[&SMALL_RATING[..], &["--label", "first"]].concat()), 1);
    let said = refused(hosts, |text| text, &[]);
    assert!(said.contains("busy with run r"), "{said}");
    assert!(ended(first).status.success());
}

/// Begins a rating and causes a fault in the middle of it.
fn in_the_middle(
    hosts: &Hosts,
    arguments: &[&str],
    happen: impl FnOnce(&Hosts),
) -> std::process::Output {
    let all = [&SMALL_RATING[..], &["--profile", "quick"], arguments].concat();
    let child = hosts.begin(hosts.rate(&all), 3);
    happen(hosts);
    ended(child)
}

fn complete(hosts: &Hosts, output: &std::process::Output, told: &str) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stored = hosts.stored();
    assert_eq!(stored["run"]["state"], "complete");
    let found = events(&stored, told);
    assert!(!found.is_empty(), "no `{told}` among {}", stored["run"]["events"]);
    println!("{found:?}");
    assert_eq!(stored["result"]["invalid_cells"], 0, "{}", stored["result"]["warnings"]);
}

fn an_agent_started_again(hosts: &Hosts) {
    let output = in_the_middle(hosts, &[], |hosts| {
        hosts.signal_agent("beta", Signal::SIGKILL);
        hosts.bury_agent("beta");
        hosts.start_agent("beta");
    });
    complete(hosts, &output, "its agent was started again");
}

fn an_agent_that_never_comes_back(hosts: &Hosts) {
    let output = in_the_middle(hosts, &["--reconnect-timeout", "2 s"], |hosts| {
        hosts.signal_agent("beta", Signal::SIGKILL);
        hosts.bury_agent("beta");
    });
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("host beta was lost and not found again within 2 s (--reconnect-timeout)"),
        "{said}"
    );
    assert!(said.contains("btu rate --resume"), "{said}");
    hosts.start_agent("beta");
    hosts.await_agents();
    let output = hosts.desk(&["rate", "--resume", "latest", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn a_stopped_agent(hosts: &Hosts) {
    let child = hosts.begin(hosts.rate(&SMALL_RATING), 3);
    hosts.signal_agent("gamma", Signal::SIGSTOP);
    hosts.signal_agent("beta", Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(6));
    hosts.signal_agent("gamma", Signal::SIGCONT);
    hosts.signal_agent("beta", Signal::SIGCONT);
    let output = ended(child);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stored = hosts.stored();
    assert_eq!(stored["run"]["state"], "complete");
    assert_eq!(stored["result"]["invalid_cells"], 0, "{}", stored["result"]["warnings"]);
}

/// Control packets of one host are dropped for a while, as behind a switch that reboots.
fn a_partition(hosts: &Hosts, lasting: Duration) {
    let child = hosts.begin(hosts.rate(&SMALL_RATING), 3);
    hosts.shell(
        "beta",
        "nft add table ip drill && nft add chain ip drill in { type filter hook input priority 0 \\; } && \
                         nft add rule ip drill in iifname eth0 drop",
    );
    thread::sleep(lasting);
    hosts.shell("beta", "nft delete table ip drill");
    let output = ended(child);
    complete(hosts, &output, "beta");
}

fn losses_on_the_control_network(hosts: &Hosts) {
    let child = hosts.begin(hosts.rate(&SMALL_RATING), 3);
    let rule = "nft add table ip drill && nft add chain ip drill in { type filter hook input priority 0 \\; } && \
                nft add rule ip drill in iifname eth0 numgen random mod 100 \\< 30 drop";
    for name in RATED {
        hosts.shell(name, rule);
    }
    thread::sleep(Duration::from_secs(8));
    for name in RATED {
        hosts.shell(name, "nft delete table ip drill");
    }
    let output = ended(child);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(hosts.stored()["result"]["invalid_cells"], 0);
}

fn a_killed_controller(hosts: &Hosts) {
    let mut child = hosts.begin(hosts.rate(&SMALL_RATING), 3);
    let controller = hosts.controller();
    kill(Pid::from_raw(controller), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    let before = hosts.runs();
    let output = hosts.desk(&["rate", "--resume", "latest", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = hosts.runs();
    assert!(
        after.0 == before.0 && after.1 > before.1,
        "the same run went on: {before:?} {after:?}"
    );
    assert_eq!(hosts.stored()["run"]["state"], "complete");
}

#[test]
fn fifty_hosts_start_together() {
    let Some(hosts) = Hosts::raise_once_if_changed(50) else { return };
    let began = Instant::now();
    hosts.start_agents();
    println!("50 agents up after {:?}", began.elapsed());
    let inventory = hosts.inventory(|text| text);
    let began = Instant::now();
    let roll = Hosts::json(hosts.desk(&["hosts", "check", &inventory, "--quiet"]));
    let (skew, within) = (&roll["result"]["start_skew_ns"], &roll["result"]["skew_within_ns"]);
    println!(
        "50 hosts greeted in {:?}: start skew {skew} ns, known to {within} ns",
        began.elapsed()
    );
    assert_eq!(roll["run"]["study"], "hosts");
    let answers = roll["result"]["hosts"].as_array().unwrap();
    assert_eq!(answers.len(), 50);
    for host in answers {
        assert_eq!(host["trouble"], serde_json::Value::Null, "{host}");
        assert!(host["answer"]["clock"]["round_trip_ns"].as_u64().is_some(), "{host}");
    }
    // All on two processors: their agents and workers share them, so this only bounds what is
    // stored.
    judge!(hosts.lab, skew.as_u64().is_some_and(|skew| skew < 2_000_000_000), "{skew}");
    let shown = text(&hosts.lab_command(&["show", "--all"]).output().unwrap().stdout);
    assert!(shown.contains("50 of 50 hosts answer as they should"), "{shown}");
    hosts.lower();
}
