//! Ten thousand hostile callers in a minute at a host during a measurement.
//!
//! They come from ten networks and in ten ways, to one agent. The run meanwhile is complete and has
//! a warning that its host was crowded; the agent counts each caller, uses little memory, and keeps
//! no state of them.

mod crowd;

use std::thread;
use std::time::Duration;

use btu_conditions::judge;

use crate::drawn::finish;
use crate::hosts_lab::{Hosts, RATED, ended, events};
use crate::support::{memory, text};
use crowd::{CROWD, KINDS, NETWORKS};

/// The most that an agent has in memory meanwhile, bytes: with the pages of its program 26.8 MB
/// were seen of the release program; of one for tests, with 50 % more code, 41.3 MB. Its own memory
/// was 4.6 and 5.6 MB.
const MOST: u64 = if cfg!(debug_assertions) { 45_000_000 } else { 30_000_000 };
const MOST_OWN: u64 = 10_000_000;

/// The longest time for which the agent serves a hostile caller: the handshake's limit, and the
/// time for reading from a refused caller.
const LONGEST: Duration = Duration::from_secs(15);

#[test]
#[ignore = "a part of another test, which runs it inside a station"]
fn crowd_part() {
    crowd::push();
}

#[test]
fn ten_thousand_strangers_in_a_minute_spoil_no_measurement() {
    let Some(hosts) = Hosts::raise_once_if_changed(4) else { return };
    for name in RATED {
        hosts.start_agent(name);
        hosts.await_agent(name);
    }
    let part = strangers(&hosts);
    let agent = hosts.agent("alpha");

    // The run outlasts the crowd, which comes for a minute, and ends before anybody stops waiting for it.
    let activities = ["--component", "SEND,RECV,SEND_RECV,INTERACTIVE/TCP,UDP", "--time", "80 s"];
    let rows = [&activities[..], &["--load", "idle,transfer"]].concat();
    let run = hosts.begin(hosts.rate(&rows), 1);
    let crowd = hosts
        .lab
        .exec("host-3", &part.each_ref().map(String::as_str))
        .env("BTU_TEST_PART", hosts.control("alpha"))
        .env("BTU_TEST_KEYS", hosts.lab.home.path())
        .spawn()
        .unwrap();
    let watched = thread::spawn(move || most_memory(agent));
    // Each of them gives up in time.
    let crowd = finish(crowd);
    let said = text(&crowd.stdout);
    assert!(crowd.status.success(), "{said}{}", text(&crowd.stderr));
    let cells = hosts.runs().1;
    println!("{said}\n{cells} cells were stored while they came");
    let output = ended(run);
    assert!(output.status.success(), "{}", text(&output.stderr));
    hosts.end_agent("alpha");
    let (own, all) = watched.join().unwrap();
    println!("the agent had {own} bytes of its own in memory, {all} with the pages of its program");

    accounts(&hosts, &said);
    let stored = hosts.stored();
    assert_eq!(stored["run"]["state"], "complete", "{stored}");
    assert!(cells > 0, "the run ended before they came");
    let told = events(&stored, "alpha: its agent turned away");
    assert_eq!(told.len(), 1, "{}", stored["run"]["events"]);
    assert!(own < MOST_OWN && all < MOST, "{own} and {all} bytes");
    for name in &RATED[1..] {
        hosts.end_agent(name);
    }
    hosts.lower();
}

/// Gives the fourth host an address in each of the callers' networks, and the first a route back to
/// them. Returns the commands there.
fn strangers(hosts: &Hosts) -> [String; 5] {
    let interface = |station: &str| {
        let all = hosts.shell(station, "ip -o -4 address");
        let line = all
            .lines()
            .find(|line| line.contains(" 198.18."))
            .expect("it is on the control network");
        line.split_whitespace().nth(1).expect("an interface").to_owned()
    };
    let theirs = interface("host-3");
    for network in 0..NETWORKS {
        hosts.shell("host-3", &format!("ip address add 10.66.{network}.1/32 dev {theirs}"));
    }
    hosts.shell("alpha", &format!("ip route add 10.66.0.0/16 dev {}", interface("alpha")));
    // A certificate that another authority has signed.
    hosts.authority("others");
    hosts.issue("others", "desk", "controller", "foreign.pem");
    let own = std::env::current_exe().expect("this program").display().to_string();
    [&own, "hostile::crowd_part", "--exact", "--ignored", "--nocapture"].map(str::to_owned)
}

/// The peak memory of a process until its end, in bytes: its own, and with the pages of its
/// program.
fn most_memory(process: i32) -> (u64, u64) {
    let (mut own, mut all) = (0, 0);
    while let Some(now) = memory(process) {
        (own, all) = (own.max(now.0), all.max(now.1));
        thread::sleep(Duration::from_millis(50));
    }
    (own, all)
}

/// Each hostile caller connected, got no answer and was disconnected in time; the agent's log
/// accounts for all of them, with the reasons.
fn accounts(hosts: &Hosts, said: &str) {
    let number = |what: &str| -> u64 {
        let found = said
            .lines()
            .find_map(|line| line.strip_prefix("crowd: ")?.strip_prefix(what)?.trim().parse().ok());
        found.unwrap_or_else(|| panic!("no {what} in {said}"))
    };
    assert_eq!((number("came"), number("welcomed")), (CROWD, 0), "{said}");
    assert_eq!(number("kinds"), KINDS, "{said}");
    judge!(hosts.lab, number("longest-ms") < LONGEST.as_millis() as u64, "{said}");
    let log = hosts.log("alpha");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("turned away ")).collect();
    let counted = |line: &&str| -> u64 {
        let count = line.split_once("turned away ").map_or("", |(_, rest)| rest);
        let count = count.split(' ').next().unwrap_or_default();
        if count == "a" {
            1
        } else {
            count.parse().unwrap_or_else(|_| panic!("no count in {line}"))
        }
    };
    let turned_away: u64 = lines.iter().map(counted).sum();
    assert_eq!(turned_away, CROWD, "the log accounts for all: {log}");
    // A line a second at most, from the first caller until the last one has left.
    let lasted = Duration::from_millis(number("lasted-ms").max(number("longest-ms")));
    let most = (lasted + LONGEST).as_secs() as usize + 2;
    assert!(lines.len() <= most, "{} lines: {log}", lines.len());
    for why in ["too many connections a second", "no handshake"] {
        assert!(lines.iter().any(|line| line.contains(why)), "nobody was told `{why}`: {log}");
    }
}
