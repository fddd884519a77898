//! `btu fleet`: slow hosts and slow links of drawn networks are found, and nothing else is.

use btu_conditions::judge;
use serde_json::Value;

use crate::common::Laboratory;

/// The usual rate of a line, and that of a slow one, in Mb/s.
const USUAL: u32 = 40;
const SLOW: u32 = 12;

/// Hosts on a switch, of which the first two have a switch of their own, behind a trunk.
fn drawing(hosts: usize, slow_host: Option<usize>, trunk: u32) -> String {
    let line = |host: usize| {
        let switch = if host < 2 { "rack" } else { "core" };
        let rate = if slow_host == Some(host) { SLOW } else { USUAL };
        format!(
            "[stations.h{host}]\n[links.l{host}]\nbetween = [\"h{host}\", \"{switch}\"]\nrate = \"{rate} Mb/s\"\nqueue = \"64 KiB\"\n"
        )
    };
    let lines: String = (0..hosts).map(line).collect();
    format!(
        "{lines}[bridges.core]\n[bridges.rack]\n[links.trunk]\nbetween = [\"rack\", \"core\"]\nrate = \"{trunk} Mb/s\"\nqueue = \"64 KiB\"\n"
    )
}

/// The model of a fleet on that network: who is slow, who is behind a slow link, and which pairs are slow.
fn found(laboratory: &Laboratory, network: &str) -> [String; 3] {
    let file = laboratory.directory.path().join("fleet.toml");
    std::fs::write(&file, network).expect("a file");
    let file = file.to_str().expect("a path in UTF-8");
    let fleet = ["fleet", "--network", file, "-C", "reno", "--per-pair", "200 ms", "--quiet"];
    let result = laboratory.json(&fleet)["result"].clone();
    of_result(&result)
}

fn of_result(result: &Value) -> [String; 3] {
    let model = &result["model"];
    let links = model["behind_a_slow_link"].clone();
    let is_behind = |host: usize| {
        links.as_array().expect("groups").iter().any(|group| {
            group.as_array().expect("hosts").iter().any(|one| one.as_u64() == Some(host as u64))
        })
    };
    let is_marked = |host: usize| {
        ["hosts", "senders", "receivers"]
            .iter()
            .any(|way| model[way][host]["is_slow"] == Value::Bool(true))
    };
    let count = result["hosts"].as_array().expect("hosts").len();
    let hosts: Vec<usize> =
        (0..count).filter(|host| is_marked(*host) && !is_behind(*host)).collect();
    println!("{hosts:?}, {links}, {}", model["slow_pairs"]);
    [format!("{hosts:?}"), links.to_string(), model["slow_pairs"].to_string()]
}

/// Four equal hosts, and one of them with a slow line.
#[test]
fn a_slow_host_of_four_is_named() {
    let Some(laboratory) = Laboratory::open_slow_lines() else { return };
    for (slow, named) in [(None, "[]"), (Some(3), "[3]")] {
        let [hosts, links, pairs] = found(&laboratory, &drawing(4, slow, 2 * USUAL));
        judge!(
            laboratory,
            [hosts.as_str(), &links, &pairs] == [named, "[]", "[]"],
            "{slow:?}: {hosts}, {links}, {pairs}"
        );
    }
    laboratory.assert_down();
}

/// Hosts on a switch by lines of these rates in Mb/s, 5 ms, which lose 3 of 1000 frames: their pairs differ.
fn lossy(rates: &[u32]) -> String {
    let line = |(host, rate): (usize, &u32)| {
        format!(
            "[stations.h{host}]\n[links.l{host}]\nbetween = [\"h{host}\", \"core\"]\nrate = \"{rate} Mb/s\"\ndelay = \"5 ms\"\nloss = \"0.3 %\"\nqueue = \"64 KiB\"\n"
        )
    };
    rates.iter().enumerate().map(line).collect::<String>() + "[bridges.core]\n"
}

/// Few hosts, and lines whose rates differ by chance: the run names the slow host, and a health check fails.
#[test]
fn a_slow_host_of_few_is_named_and_fails_a_health_check() {
    let Some(laboratory) = Laboratory::open_slow_lines() else { return };
    for (rates, named) in [(&[20, 1, 20, 20][..], "h1"), (&[20, 20, 8], "h2")] {
        let file = laboratory.directory.path().join("lossy.toml");
        std::fs::write(&file, lossy(rates)).expect("a file");
        let file = file.to_str().expect("a path in UTF-8");
        let fleet = ["fleet", "--network", file, "-C", "reno", "--fail-if-slow", "--quiet"];
        let output = laboratory.command(&fleet).output().expect("btu runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{rates:?}: {said}");
        let is_named = said.starts_with(&format!("{named} is slow: "));
        judge!(laboratory, is_named && output.status.code() == Some(4), "{rates:?}: {said}");
    }
    laboratory.assert_down();
}

/// Hosts of which none is slow, one is, two are behind a slow link, and both: of eight then, since the usual rate is that of more than half. Each pair is measured alone: several at once would share
/// the slow link unevenly.
#[test]
fn slow_hosts_and_slow_links_are_told_apart() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    for (hosts, slow, trunk, named) in [
        (6, None, 4 * USUAL, ["[]", "[]"]),
        (6, Some(5), 4 * USUAL, ["[5]", "[]"]),
        (6, None, SLOW, ["[]", "[[0,1]]"]),
        (8, Some(5), SLOW, ["[5]", "[[0,1]]"]),
    ] {
        let [hosts, links, pairs] = found(&laboratory, &drawing(hosts, slow, trunk));
        judge!(
            laboratory,
            [hosts.as_str(), &links, &pairs] == [named[0], named[1], "[]"],
            "{slow:?}, {trunk}: {hosts}, {links}, {pairs}"
        );
    }
    laboratory.assert_down();
}
