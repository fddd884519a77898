use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use btu_suite::activity::{Activity, Cpu, Disk, FtpRelay, Meeting, Order, Rounds, TcpReceive, TcpSend, UdpSend, Work};
use btu_units::{BitRate, Bytes, Span};
use proptest::prelude::*;

use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

const FILE: &str = r#"
activities = ["tcp-send", "udp-send", "disk", "cpu"]
controllers = ["carol", "dave"]
peers = ["192.0.2.0/24"]
runs_at_once = 2

[limits]
rate = "1 Mb/s"
bytes = "10 MB"
duration = "30 s"

[scratch]
directory = "/var/lib/btu/scratch"
bytes = "1 MiB"
"#;

fn policy() -> Policy {
    Policy { source: Some("btu.toml".into()), ..read::parse("btu.toml", FILE).unwrap() }
}

fn order(activity: Activity) -> Order {
    Order { seed: 1, deadline: Span::from_seconds(10), activity }
}

fn sends(to: &str, work: Work) -> Order {
    let meeting = Meeting::Connect(to.parse().unwrap());
    order(Activity::TcpSend(TcpSend { meeting, token: [0; 16], message: Bytes::new(1000), work, window: None }))
}

fn datagrams(megabits: u64, seconds: u64) -> Order {
    order(Activity::UdpSend(UdpSend {
        meeting: Meeting::Connect("192.0.2.1:9".parse().unwrap()),
        token: [0; 16],
        message: Bytes::new(1000),
        offered: BitRate::from_megabits_per_second(megabits),
        duration: Span::from_seconds(seconds),
    }))
}

fn disk(file: u64, source: Option<&str>) -> Order {
    let work = Work::Bytes(Bytes::new(file));
    let (directory, source) = ("/etc".into(), source.map(Into::into));
    order(Activity::Disk(Disk { directory, source, file: Bytes::new(file), work }))
}

fn refusal(policy: &Policy, order: Order) -> String {
    policy.admit(order, false, None).expect_err("must be refused").to_string()
}

#[test]
fn a_refusal_names_the_rule_and_its_line() {
    let policy = policy();
    let receive = TcpReceive { meeting: Meeting::Listen(HERE), token: [0; 16], message: Bytes::new(1), window: None };
    assert_eq!(
        refusal(&policy, order(Activity::TcpReceive(receive))),
        "activity tcp-receive is not one of tcp-send, udp-send, disk, cpu: `activities` in line 2 of the agent's policy \
         btu.toml forbids it"
    );
    let long = Order { deadline: Span::from_seconds(31), ..order(Activity::Cpu(Cpu { rounds: Rounds::Count(1) })) };
    assert!(refusal(&policy, long).contains("`limits.duration` in line 10"));
    assert!(refusal(&policy, datagrams(2, 1)).contains("`limits.rate` in line 8"));
    assert!(refusal(&policy, sends("192.0.2.1:5", Work::Bytes(Bytes::new(1)))).contains("no rate"));
    assert!(refusal(&policy, datagrams(1, 81)).contains("`limits.bytes` in line 9"));
    assert!(refusal(&policy, disk(600_000, None)).contains("`scratch.bytes` in line 14"));
    assert!(policy.admit(datagrams(1, 80), false, None).is_ok(), "10 MB are allowed");
    let stranger = policy.check_controller("mallory").unwrap_err().to_string();
    assert!(stranger.contains("`controllers` in line 3") && policy.check_controller("carol").is_ok(), "{stranger}");
}

#[test]
fn nobody_outside_is_connected_to() {
    let usual = Policy::default();
    let work = Work::Bytes(Bytes::new(1));
    for peer in ["8.8.8.8:53", "224.0.0.1:5", "255.255.255.255:5", "0.0.0.0:5", "[ff02::1]:5", "[::ffff:8.8.8.8]:5"] {
        assert!(refusal(&usual, sends(peer, work)).contains("`peers`"), "{peer}");
    }
    for peer in ["10.1.2.3:5", "127.0.0.1:5", "[fd00::1]:5"] {
        assert!(usual.admit(sends(peer, work), false, None).is_ok(), "{peer}");
    }
    assert!(policy().peers.value[0].holds("192.0.2.9".parse().unwrap()));
}

#[test]
fn the_files_of_others_are_put_where_the_policy_says() {
    let policy = policy();
    let Activity::Disk(placed) = policy.admit(disk(1000, None), false, None).unwrap().activity else {
        panic!("a disk")
    };
    assert_eq!(placed.directory, Path::new("/var/lib/btu/scratch"));
    let Activity::Disk(own) = policy.admit(disk(1000, None), true, None).unwrap().activity else { panic!("a disk") };
    assert_eq!(own.directory, Path::new("/etc"), "on this machine it is the user's own business");
    assert!(refusal(&policy, disk(1000, Some("/etc/shadow"))).contains("not the file that this agent made"));
    let made = Some(Path::new("/proc/7/fd/5"));
    assert!(policy.admit(disk(1000, Some("/proc/7/fd/5")), false, made).is_ok());
    assert!(policy.admit(disk(1000, Some("/etc/shadow")), false, made).is_err());
}

#[test]
fn a_relay_is_never_for_others() {
    let relay = || order(Activity::FtpRelay(FtpRelay { address: HERE, doorway: "/run/docker.sock".into() }));
    assert!(refusal(&Policy::default(), relay()).contains("activities"));
    let all = Policy { activities: Rule::default_of(vec!["ftp-relay".to_owned()]), ..Policy::default() };
    assert!(refusal(&all, relay()).contains("no policy changes"));
}

#[test]
fn what_is_wrong_in_a_file_is_shown_in_its_line() {
    let wrong = |text| read::parse("btu.toml", text).unwrap_err().to_string();
    assert_eq!(
        wrong("runs_at_once = 1\npeers = [\"10.0.0.0/8\", \"192.0.2.0/33\"]\n"),
        "btu.toml:2:24: `192.0.2.0/33` is no network: write 192.0.2.0/24, 2001:db8::/32, or an address\n    2 | peers = \
         [\"10.0.0.0/8\", \"192.0.2.0/33\"]\n      |                        ^^^^^^^^^^^^^^"
    );
    for (text, place, said) in [
        ("activities = [\"tcp\"]", "1:15", "no activity `tcp`"),
        ("[limits]\nrate = \"fast\"", "2:8", "fast"),
        ("[limits]\nspeed = \"1 Gb/s\"", "2:1", "unknown field `speed`"),
        ("runs_at_once = 0", "1:16", "at least 1"),
        ("[scratch]\ndirectory = \"tmp\"", "2:13", "begin with /"),
        ("peers = 7", "1:9", "invalid type"),
        ("peers = [", "1:", ""),
    ] {
        let error = wrong(text);
        assert!(error.starts_with(&format!("btu.toml:{place}")) && error.contains(said), "{error}");
        assert!(error.contains('^'), "{error}");
    }
}

#[test]
fn of_a_long_line_the_place_is_shown() {
    let text = format!("controllers = [{}7]", "\"somebody\", ".repeat(10_000));
    let error = read::parse("btu.toml", &text).unwrap_err().to_string();
    assert!(error.starts_with("btu.toml:1:120016: ") && error.ends_with('^') && error.len() < 500, "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z_= \\[\\]\"0-9./é\n]{0,120}") {
        read::parse("btu.toml", &text).ok();
    }

    #[test]
    fn no_peer_outside_the_list_passes(address in any::<[u8; 4]>(), port in any::<u16>()) {
        let peer = SocketAddr::new(address.into(), port);
        let admitted = policy().admit(Order { deadline: Span::ZERO, ..datagrams_to(peer) }, false, None).is_ok();
        prop_assert_eq!(admitted, address[..3] == [192, 0, 2]);
    }
}

fn datagrams_to(peer: SocketAddr) -> Order {
    let mut order = datagrams(1, 1);
    order.activity.connect_to(peer);
    order
}
