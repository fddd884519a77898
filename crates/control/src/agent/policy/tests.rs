use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use btu_contract::activity::{
    Activity, Broadcast, Cpu, Disk, FileClient, FileServer, FilesPlace, FilesServe, FilesStation,
    FilesTask, Order, Receiving, Relay, Rendezvous, Rounds, TcpReceive, TcpSend, UdpSend, Work,
};
use btu_contract::copy::{Cache, FilePlace, Program, Storage};
use btu_contract::lan::{FileSizes, Pattern, StationProgram, StationWork, Task};
use btu_contract::network::Impairment;
use btu_units::{BitRate, Bytes, Span};
use proptest::prelude::*;

use super::super::budget::Demand;
use super::super::caller::{Caller, Connection, Who};
use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

const FILE: &str = r#"
activities = ["tcp-send", "udp-send", "disk", "cpu"]
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
    Order::new(1, Span::from_seconds(10), activity)
}

fn sends(to: &str, work: Work) -> Order {
    let meeting = Rendezvous::Connect(to.parse().unwrap());
    order(Activity::TcpSend(TcpSend {
        meeting,
        token: [0; 16],
        message: Bytes::new(1000),
        work,
        window: None,
        unsent: None,
    }))
}

fn datagrams(megabits: u64, seconds: u64) -> Order {
    order(Activity::UdpSend(UdpSend {
        meeting: Rendezvous::Connect("192.0.2.1:9".parse().unwrap()),
        token: [0; 16],
        message: Bytes::new(1000),
        offered: BitRate::from_megabits_per_second(megabits),
        duration: Span::from_seconds(seconds),
        hold: None,
    }))
}

fn disk(file: u64, source: Option<&str>) -> Order {
    let work = Work::Bytes(Bytes::new(file));
    let (directory, source) = ("/etc".into(), source.map(Into::into));
    order(Activity::Disk(Disk { directory, source, file: Bytes::new(file), work }))
}

/// A controller that came in from 203.0.113.9.
fn elsewhere() -> Caller {
    let connection = Connection {
        local: "203.0.113.1".parse().unwrap(),
        remote: "203.0.113.9".parse().unwrap(),
    };
    Caller { who: Who::Job, connection: Some(connection) }
}

/// A user of this machine.
fn here() -> Caller {
    Caller { who: Who::Local, connection: None }
}

fn refusal(policy: &Policy, order: Order) -> String {
    let admitted = policy.admit(order, &elsewhere(), None).and_then(|bounded| {
        let demand = Demand::of(&bounded.order.activity);
        policy.check_sums(bounded.order.activity.kind(), demand, demand)
    });
    admitted.expect_err("must be refused").to_string()
}

/// A bulk receiver on this host.
fn receives() -> Order {
    order(Activity::TcpReceive(TcpReceive {
        meeting: Rendezvous::Listen(HERE),
        token: [0; 16],
        message: Bytes::new(1),
        window: None,
        volume: None,
        receiving: Receiving::Plain,
    }))
}

#[test]
fn a_refusal_names_the_rule_and_its_line() {
    let policy = policy();
    assert_eq!(
        refusal(&policy, receives()),
        "activity tcp-receive is not one of tcp-send, udp-send, disk, cpu: `activities` in line 2 of the agent's policy \
         btu.toml forbids it"
    );
    let long = Order {
        deadline: Span::from_seconds(31),
        ..order(Activity::Cpu(Cpu::of(Rounds::Count(1))))
    };
    assert!(refusal(&policy, long).contains("`limits.duration` in line 9"));
    assert!(refusal(&policy, datagrams(2, 1)).contains("`limits.rate` in line 7"));
    assert!(refusal(&policy, sends("192.0.2.1:5", Work::Bytes(Bytes::new(1)))).contains("no rate"));
    let alone = Policy { runs_at_once: Rule::default_of(1), ..policy.clone() };
    assert!(refusal(&alone, datagrams(1, 81)).contains("`limits.bytes` in line 8"));
    assert!(refusal(&policy, disk(600_000, None)).contains("`scratch.bytes` in line 13"));
    assert!(policy.admit(datagrams(1, 80), &elsewhere(), None).is_ok(), "10 MB are allowed");
}

#[test]
fn nobody_outside_is_connected_to() {
    let usual = Policy::default();
    let work = Work::Bytes(Bytes::new(1));
    for peer in [
        "8.8.8.8:53",
        "224.0.0.1:5",
        "255.255.255.255:5",
        "0.0.0.0:5",
        "[ff02::1]:5",
        "[::ffff:8.8.8.8]:5",
    ] {
        assert!(refusal(&usual, sends(peer, work)).contains("`peers`"), "{peer}");
    }
    for peer in ["10.1.2.3:5", "[::ffff:10.1.2.3]:5", "[fd00::1]:5"] {
        assert!(usual.admit(sends(peer, work), &elsewhere(), None).is_ok(), "{peer}");
    }
    assert!(policy().peers.value[0].holds("192.0.2.9".parse().unwrap()));
}

#[test]
fn by_default_a_controller_s_own_address_is_a_peer_and_loopback_only_of_who_has_it() {
    let work = Work::Bytes(Bytes::new(1));
    let admits = |policy: &Policy, caller: &Caller, peer: &str| {
        let order = order(Activity::TcpSend(TcpSend {
            meeting: Rendezvous::Connect(peer.parse().unwrap()),
            token: [0; 16],
            message: Bytes::new(1000),
            work,
            window: None,
            unsent: None,
        }));
        let admitted = policy.admit(order, caller, None);
        // The peers that it may call may call it.
        let listener = policy.admit(receives(), caller, None).unwrap();
        let address = peer.parse::<SocketAddr>().unwrap().ip();
        assert_eq!(listener.bounds.callers.hold(address), admitted.is_ok(), "{peer}");
        admitted.is_ok()
    };
    let usual = Policy::default();
    assert!(
        admits(&usual, &elsewhere(), "203.0.113.9:5")
            && !admits(&usual, &elsewhere(), "203.0.113.8:5")
    );
    let over = |who: Who, remote: &str| {
        let remote = remote.parse().unwrap();
        Caller { who, connection: Some(Connection { local: remote, remote }) }
    };
    for loopback in ["127.0.0.1:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
        assert!(!admits(&usual, &elsewhere(), loopback), "{loopback}");
        assert!(admits(&usual, &here(), loopback), "{loopback}");
        assert!(
            admits(&usual, &over(Who::Starter, "203.0.113.9"), loopback),
            "who has an account here: {loopback}"
        );
        assert!(admits(&usual, &over(Who::Job, "127.0.0.1"), loopback), "{loopback}");
    }
    let activities = Rule::default_of(vec!["tcp-send".to_owned(), "tcp-receive".to_owned()]);
    let written = Policy {
        activities,
        rate: Rule::default_of(None),
        bytes: Rule::default_of(None),
        ..policy()
    };
    assert!(
        !admits(&written, &elsewhere(), "203.0.113.9:5")
            && !admits(&written, &here(), "127.0.0.1:5")
    );
    assert!(admits(&written, &elsewhere(), "192.0.2.77:5"));
}

#[test]
fn what_is_in_hand_is_bounded_by_session_and_by_host() {
    let policy = policy();
    let sum = |session: Demand, all: Demand| {
        policy.check_sums("udp-send", session, all).map_err(|error| error.to_string())
    };
    let rate = |bits| Demand { rate: bits, ..Demand::default() };
    // Two runs at once share a megabit per second.
    assert!(sum(rate(500_000), rate(1_000_000)).is_ok());
    let said = sum(rate(600_000), rate(600_000)).unwrap_err();
    assert!(
        said.contains("its session would send 600 kb/s in all, and 500 kb/s is the most"),
        "{said}"
    );
    assert!(said.contains("`limits.rate` in line 7"), "{said}");
    assert!(sum(rate(1), rate(1_000_001)).unwrap_err().contains("this host would send"));
    let scratch = |bytes| Demand { scratch: bytes, ..Demand::default() };
    assert!(sum(scratch(1 << 19), scratch(1 << 20)).is_ok());
    assert!(
        sum(scratch(1 << 19), scratch((1 << 20) + 1))
            .unwrap_err()
            .contains("`scratch.bytes` in line 13")
    );
    let volume = |bytes| Demand { volume: bytes, ..Demand::default() };
    assert!(
        sum(volume(5_000_001), volume(5_000_001)).unwrap_err().contains("`limits.bytes` in line 8")
    );
    let workers = |count| Demand { workers: count, ..Demand::default() };
    assert!(sum(workers(32), workers(64)).is_ok());
    assert!(sum(workers(33), workers(33)).unwrap_err().contains("the default of `limits.workers`"));
    assert!(Policy::default().check_sums("null", workers(64), workers(64)).is_ok());
    assert!(Policy::default().check_sums("null", workers(65), workers(65)).is_err());
    let memory = |bytes| Demand { memory: bytes, ..Demand::default() };
    assert!(sum(memory(4 << 30), memory(8 << 30)).is_ok());
    let said = sum(memory((4 << 30) + 1), memory((4 << 30) + 1)).unwrap_err();
    assert!(
        said.contains("its session would take") && said.contains("the default of `limits.memory`"),
        "{said}"
    );
    let open_files = |count| Demand { open_files: count, ..Demand::default() };
    assert!(sum(open_files(4096), open_files(8192)).is_ok());
    assert!(
        sum(open_files(4096), open_files(8193))
            .unwrap_err()
            .contains("this host would have 8193 files and sockets open")
    );
    assert!(sum(Demand::words(32 << 20), Demand::words(64 << 20)).is_ok());
    let said = sum(Demand::words((32 << 20) + 1), Demand::words(0)).unwrap_err();
    assert!(
        said.contains("kept of what workers said") && said.contains("no policy changes"),
        "{said}"
    );
    let most = u128::from(u64::MAX) * 3;
    let everything =
        Demand { workers: most, rate: most, volume: most, scratch: most, ..memory(most) };
    assert!(sum(everything, rate(most)).is_err());
}

#[test]
fn only_what_may_be_is_impaired() {
    let wanted = |ms: u64, loss: f64| Impairment { delay: Span::from_milliseconds(ms), loss };
    let control = ["eth0".to_owned(), "bond0".to_owned()];
    let refused = |policy: &Policy, interface: &str, wanted| {
        policy
            .check_impair(interface, wanted, Some(&control))
            .map_err(|error| error.to_string())
            .unwrap_err()
    };
    let usual = Policy::default();
    for paper in [Impairment::DL, Impairment::DR] {
        assert!(usual.check_impair("eth1", paper, Some(&control)).is_ok());
    }
    assert!(refused(&usual, "lo", Impairment::DL).contains("no policy changes"));
    for carrier in &control {
        assert!(
            refused(&usual, carrier, Impairment::DL).contains("carries the control connection")
        );
    }
    assert!(refused(&usual, "eth1", wanted(0, 0.11)).contains("`impair.loss`"));
    assert!(refused(&usual, "eth1", wanted(0, f64::NAN)).contains("`impair.loss`"));
    assert!(refused(&usual, "eth1", wanted(101, 0.0)).contains("`impair.delay`"));
    assert!(refused(&policy(), "eth1", Impairment::DL).contains("activity impair is not one of"));
    let text =
        "activities = [\"impair\"]\n[impair]\ninterfaces = [\"eth1\"]\nloss = 1\ndelay = \"2 s\"\n";
    let written = read::parse("btu.toml", text).unwrap();
    assert!(written.check_impair("eth1", wanted(2000, 1.0), Some(&control)).is_ok());
    assert!(refused(&written, "eth2", Impairment::DL).contains("not one of eth1"));
    assert!(refused(&written, "eth0", Impairment::DL).contains("carries the control connection"));
    // If the agent does not know the interface of the control connection, it may be any, and no
    // policy changes that.
    let unknown = written.check_impair("eth1", Impairment::DL, None).unwrap_err().to_string();
    assert!(
        unknown.contains("SSH_CONNECTION") && unknown.contains("no policy changes"),
        "{unknown}"
    );
}

#[test]
fn a_worker_is_held_to_what_its_activity_states_and_all_to_the_policy() {
    let text = "[limits]\nmemory = \"200 MiB\"\nopen_files = 300\n";
    let policy =
        Policy { source: Some("btu.toml".into()), ..read::parse("btu.toml", text).unwrap() };
    let bounded = policy.admit(disk(1000, None), &elsewhere(), None).unwrap();
    let room = bounded.order.activity.room();
    assert_eq!(
        (bounded.bounds.memory, bounded.bounds.open_files),
        (Some(room.memory), Some(room.open_files))
    );
    assert_eq!(bounded.bounds.file, Some(Bytes::new(2 << 30)));
    let one = Demand::of(&bounded.order.activity);
    let two = Demand { memory: 2 * one.memory, ..one };
    assert!(policy.check_sums("disk", one, one).is_ok());
    let refused = policy.check_sums("disk", two, two).unwrap_err().to_string();
    assert!(
        refused.contains("268 MB of memory, and 210 MB is the most: `limits.memory` in line 2"),
        "{refused}"
    );
    let two = Demand { open_files: 3 * one.open_files, ..one };
    let refused = policy.check_sums("disk", two, two).unwrap_err().to_string();
    assert!(
        refused.contains(
            "384 files and sockets open, and 300 is the most: `limits.open_files` in line 3"
        ),
        "{refused}"
    );
}

#[test]
fn no_group_of_hosts_is_a_peer_however_it_is_written() {
    let everybody: Vec<Cidr> = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
    let open = Policy { peers: Rule { value: everybody, line: Some(1) }, ..Policy::default() };
    for peer in [
        "[::ffff:224.0.0.251]:5",
        "[::ffff:0.0.0.0]:5",
        "[::ffff:255.255.255.255]:5",
        "224.0.0.1:5",
        "[::]:5",
    ] {
        assert!(
            refusal(&open, sends(peer, Work::Bytes(Bytes::new(1)))).contains("one host"),
            "{peer}"
        );
    }
}

#[test]
fn the_files_of_others_are_put_where_the_policy_says() {
    let policy = policy();
    let Activity::Disk(placed) =
        policy.admit(disk(1000, None), &elsewhere(), None).unwrap().order.activity
    else {
        panic!("a disk")
    };
    assert_eq!(placed.directory, Path::new("/var/lib/btu/scratch"));
    let Activity::Disk(own) = policy.admit(disk(1000, None), &here(), None).unwrap().order.activity
    else {
        panic!("a disk")
    };
    assert_eq!(own.directory, Path::new("/etc"), "on this machine it is the user's own business");
    assert!(
        refusal(&policy, disk(1000, Some("/etc/shadow")))
            .contains("not the file that this agent made")
    );
    let made = Some(Path::new("/proc/7/fd/5"));
    assert!(policy.admit(disk(1000, Some("/proc/7/fd/5")), &elsewhere(), made).is_ok());
    assert!(policy.admit(disk(1000, Some("/etc/shadow")), &elsewhere(), made).is_err());
}

/// Its volume and its file are held to the policy, in memory as on disk, its directory is the
/// policy's, and its peers must be allowed.
#[test]
fn a_copied_file_is_bounded_and_put_where_the_policy_says() {
    let send = |to: &str, size: u64, storage| {
        let file = FilePlace {
            size: Bytes::new(size),
            storage,
            cache: Cache::Cold,
            directory: "/etc".into(),
        };
        let (program, token, wait) = (Program::Bare, [0; 16], Span::ZERO);
        order(Activity::FileSend(FileClient {
            program,
            to: to.parse().unwrap(),
            token,
            file,
            wait,
        }))
    };
    let text = "activities = [\"file-send\"]\npeers = [\"192.0.2.0/24\"]\n[limits]\nbytes = \"4 MB\"\n\
                [scratch]\ndirectory = \"/srv/btu\"\nbytes = \"2 MB\"\n";
    let policy = read::parse("btu.toml", text).unwrap();
    for storage in Storage::ALL {
        let admitted =
            policy.admit(send("192.0.2.1:9", 1_000_000, storage), &elsewhere(), None).unwrap();
        let Activity::FileSend(placed) = admitted.order.activity else { panic!("a file") };
        assert_eq!(placed.file.directory, Path::new("/srv/btu"));
        assert!(
            refusal(&policy, send("192.0.2.1:9", 3_000_000, storage)).contains("scratch.bytes")
        );
        assert!(refusal(&policy, send("192.0.2.1:9", 5_000_000, storage)).contains("limits.bytes"));
        assert!(refusal(&policy, send("203.0.113.7:9", 1000, storage)).contains("peers"));
    }
}

/// The system's programs copy only where the policy names them, those of ssh alone can be named, and
/// the user who started the agent is no exception.
#[test]
fn programs_of_the_system_are_those_that_the_policy_names() {
    let receives = |program| {
        let (size, storage, cache) = (Bytes::new(1000), Storage::Disk, Cache::Cold);
        let file = FilePlace { size, storage, cache, directory: "/etc".into() };
        order(Activity::FileReceive(FileServer { program, on: HERE, token: [0; 16], file }))
    };
    let text = "activities = [\"file-receive\"]\n[copy]\nprograms = [\"scp\"]\n";
    let named =
        Policy { source: Some("btu.toml".into()), ..read::parse("btu.toml", text).unwrap() };
    let admitted = named.admit(receives(Program::Scp), &elsewhere(), None).unwrap();
    let Activity::FileReceive(placed) = admitted.order.activity else { panic!("a file") };
    assert_eq!(placed.file.directory, std::env::temp_dir(), "the policy's own");
    assert!(admitted.bounds.file.is_some());
    let refused = refusal(&named, receives(Program::Sftp));
    assert!(
        refused.contains("scp is named") && refused.contains("`copy.programs` in line 3"),
        "{refused}"
    );
    let starter = Caller { who: Who::Starter, ..elsewhere() };
    for program in [Program::Scp, Program::Sftp, Program::Rsync, Program::Vsftpd] {
        assert!(refusal(&Policy::default(), receives(program)).contains("none is named"));
        assert!(Policy::default().admit(receives(program), &starter, None).is_err());
    }
    for program in ["rsync", "vsftpd", "bare", "sh"] {
        let text = format!("[copy]\nprograms = [\"{program}\"]\n");
        let error = read::parse("btu.toml", &text).unwrap_err().to_string();
        assert!(error.contains("there are scp, sftp") && error.contains(":2:"), "{error}");
    }
}

/// A file server's files are held to the policy and put where it says, and so are those of a task
/// on the host's own disk; tasks and stations call peers alone.
#[test]
fn a_file_server_is_bounded_and_its_clients_call_peers_alone() {
    let text = "activities = [\"files-serve\", \"files-task\", \"files-station\"]\npeers = [\"192.0.2.0/24\"]\n\
                [scratch]\ndirectory = \"/srv/btu\"\nbytes = \"2 MB\"\n";
    let policy = read::parse("btu.toml", text).unwrap();
    let (token, service, directory) = ([0; 16], Span::ZERO, PathBuf::from("/etc"));
    let serve = |room| {
        let (address, room, directory) = (HERE, Bytes::new(room), directory.clone());
        order(Activity::FilesServe(FilesServe { address, token, directory, room, service }))
    };
    let task = |place| {
        let (sizes, lead, target) = (FileSizes::Paper, Span::ZERO, Span::ZERO);
        order(Activity::FilesTask(FilesTask {
            place,
            token,
            task: Task::FmSort,
            sizes,
            lead,
            target,
        }))
    };
    let own =
        |room| FilesPlace::Own { directory: directory.clone(), room: Bytes::new(room), service };
    let station = |server: &str| station(FilesPlace::Server(server.parse().unwrap()));
    for admitted in [serve(1_000_000), task(own(1_000_000))] {
        let mut placed = policy.admit(admitted, &elsewhere(), None).unwrap().order.activity;
        assert_eq!(
            placed.scratch_directory().map(|path| path.clone()),
            Some(PathBuf::from("/srv/btu"))
        );
    }
    for refused in [serve(3_000_000), task(own(3_000_000))] {
        assert!(refusal(&policy, refused).contains("scratch.bytes"));
    }
    let server = |address: &str| FilesPlace::Server(address.parse().unwrap());
    for admitted in [task(server("192.0.2.1:9")), station("192.0.2.1:9")] {
        assert!(policy.admit(admitted, &elsewhere(), None).is_ok());
    }
    for refused in [task(server("203.0.113.7:9")), station("203.0.113.7:9")] {
        assert!(refusal(&policy, refused).contains("peers"));
    }
}

fn station(place: FilesPlace) -> Order {
    let (pattern, program) = (Pattern::Record, StationProgram::Constant);
    let work = StationWork::Transactions { pattern, program, record: Bytes::new(512) };
    order(Activity::FilesStation(FilesStation { place, token: [0; 16], number: 1, work }))
}

/// A share is used only where the policy names it, to the letter; the user who started the agent
/// has the account and its shares anyway.
#[test]
fn shares_are_those_that_the_policy_names() {
    let text = "activities = [\"files-station\"]\n[share]\ndirectories = [\"/mnt/nas\"]\n";
    let named =
        Policy { source: Some("btu.toml".into()), ..read::parse("btu.toml", text).unwrap() };
    let at = |directory: &str| station(FilesPlace::Share { directory: directory.into() });
    assert!(named.admit(at("/mnt/nas"), &elsewhere(), None).is_ok());
    for other in ["/mnt", "/mnt/nas/..", "/mnt/nas/deep", "/etc", "mnt/nas"] {
        let refused = refusal(&named, at(other));
        assert!(
            refused.contains("/mnt/nas are named")
                && refused.contains("`share.directories` in line 3"),
            "{refused}"
        );
    }
    assert!(refusal(&Policy::default(), at("/mnt/nas")).contains("none is named"));
    let starter = Caller { who: Who::Starter, ..elsewhere() };
    assert!(Policy::default().admit(at("/mnt/nas"), &starter, None).is_ok());
    assert!(named.admit(at("/etc"), &starter, None).is_err(), "what the file says holds for all");
}

#[test]
fn a_relay_is_never_for_others() {
    let relay = || {
        order(Activity::Relay(Relay {
            on: HERE,
            to: SocketAddr::from(([10, 0, 0, 7], 25)),
            token: [7; 16],
        }))
    };
    assert!(refusal(&Policy::default(), relay()).contains("activities"));
    let all =
        Policy { activities: Rule::default_of(vec!["relay".to_owned()]), ..Policy::default() };
    assert!(refusal(&all, relay()).contains("no policy changes"));
}

#[test]
fn broadcasts_are_never_for_others() {
    let broadcasts = "1000/s".parse().expect("a rate");
    let broadcast = || order(Activity::Broadcast(Broadcast { on: HERE, broadcasts }));
    assert!(refusal(&Policy::default(), broadcast()).contains("activities"));
    let all =
        Policy { activities: Rule::default_of(vec!["broadcast".to_owned()]), ..Policy::default() };
    assert!(refusal(&all, broadcast()).contains("no policy changes"));
}

#[test]
fn what_is_wrong_in_a_file_is_shown_in_its_line() {
    let wrong = |text| read::parse("btu.toml", text).unwrap_err().to_string();
    assert_eq!(
        wrong("runs_at_once = 1\npeers = [\"10.0.0.0/8\", \"192.0.2.0/33\"]\n"),
        "btu.toml:2:24: `192.0.2.0/33` is not a network: write 192.0.2.0/24, 2001:db8::/32, or an address\n    2 | peers = \
         [\"10.0.0.0/8\", \"192.0.2.0/33\"]\n      |                        ^^^^^^^^^^^^^^"
    );
    for (text, place, said) in [
        ("activities = [\"tcp\"]", "1:15", "no activity `tcp`"),
        ("[limits]\nrate = \"fast\"", "2:8", "fast"),
        ("[limits]\nspeed = \"1 Gb/s\"", "2:1", "unknown field `speed`"),
        ("runs_at_once = 0", "1:16", "at least 1"),
        ("[limits]\nworkers = 0", "2:11", "at least 1"),
        ("[limits]\nopen_files = 3", "2:14", "at least 128"),
        ("[impair]\nloss = 1.5", "2:8", "from 0 to 1"),
        ("[impair]\nloss = nan", "2:8", "from 0 to 1"),
        ("[scratch]\ndirectory = \"tmp\"", "2:13", "begin with /"),
        ("[share]\ndirectories = [\"tmp\"]", "2:16", "begins with /"),
        ("[share]\ndirectories = [\"/mnt/../etc\"]", "2:16", "no `..`"),
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
    let text = format!("peers = [{}7]", "\"somebody\", ".repeat(10_000));
    let error = read::parse("btu.toml", &text).unwrap_err().to_string();
    assert!(
        error.starts_with("btu.toml:1:120010: ") && error.ends_with('^') && error.len() < 500,
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z_= \\[\\]\"0-9./é\n]{0,120}") {
        let _ = read::parse("btu.toml", &text);
    }

    #[test]
    fn no_peer_outside_the_list_passes(address in any::<[u8; 4]>(), port in any::<u16>()) {
        let peer = SocketAddr::new(address.into(), port);
        let admitted = policy().admit(Order { deadline: Span::ZERO, ..datagrams_to(peer) }, &elsewhere(), None).is_ok();
        prop_assert_eq!(admitted, address[..3] == [192, 0, 2]);
    }
}

fn datagrams_to(peer: SocketAddr) -> Order {
    let mut order = datagrams(1, 1);
    order.activity.connect_to(peer);
    order
}
