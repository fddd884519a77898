//! The client with the real iperf3's server on loopback, with btu's own, and with servers that misbehave.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what they leave out, and what they measured"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_iperf3::{
    Client, ClientDeadlines, ClientReport, Direction, Ending, Event, Iperf3Error, Protocol, Report,
    Server, Settings,
};
use serde_json::Value;

const SECOND: Duration = Duration::from_secs(1);
/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);
const DIRECTIONS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

fn client(server: SocketAddr, protocol: Protocol, direction: Direction) -> Client {
    // The server may not listen yet.
    Client { time: SECOND, grace: LONG, ..Client::of(server, protocol, direction) }
}

fn run(client: &Client) -> Result<ClientReport, Iperf3Error> {
    client.run(&Arc::default(), &mut |_| ())
}

fn why(result: Result<ClientReport, Iperf3Error>) -> Ending {
    match result {
        Err(Iperf3Error::Test { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// iperf3's server on a free port.
struct Theirs {
    address: SocketAddr,
    child: Child,
}

impl Theirs {
    /// `None` without iperf3: it prints that loudly, and fails if a lab is required.
    fn start(options: &str) -> Option<Self> {
        let is_there = Command::new("iperf3").arg("--version").output().is_ok();
        if !is_there {
            eprintln!("LAB SKIPPED: no iperf3");
            assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "a lab is required");
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let mut command = Command::new("iperf3");
        command.args(["-s", "-J", "-B", "127.0.0.1", "-p", &address.port().to_string()]);
        command.args(options.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped());
        Some(Self { address, child: command.spawn().expect("iperf3 starts") })
    }

    /// What a server says that ends after one test.
    fn says(mut self) -> Value {
        let mut text = String::new();
        self.child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
        assert!(self.child.wait().expect("an end").success());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// btu's own server, and what it says of one test.
fn with_ours(make: impl FnOnce(SocketAddr) -> ClientReport) -> (ClientReport, Report) {
    let (tell, events) = channel();
    let settings = Settings::at("127.0.0.1:0".parse().expect("an address"));
    let server = Server::open(settings, move |event| drop(tell.send(event))).expect("a server");
    let report = make(server.address());
    match events.recv_timeout(LONG) {
        Ok(Event::Finished(theirs)) => (report, *theirs),
        other => panic!("{other:?}"),
    }
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {value}"))
}

/// The most that the kernel gives the buffers of a sending and of a receiving socket of TCP (tcp(7): the last of three).
fn buffers_bytes() -> u64 {
    ["tcp_wmem", "tcp_rmem"]
        .map(|name| {
            let path = format!("/proc/sys/net/ipv4/{name}");
            let text = std::fs::read_to_string(&path).expect("the limits of buffers");
            text.split_whitespace().last().expect("a limit").parse::<u64>().expect("bytes")
        })
        .iter()
        .sum()
}

fn way(report: &ClientReport) -> &btu_iperf3::DirectionReport {
    report.to_server.as_ref().or(report.to_client.as_ref()).expect("a way")
}

#[test]
fn tcp_counts_are_those_of_iperf3s_server() {
    let conditions = Conditions::begin();
    for direction in DIRECTIONS {
        for streams in [1, 4] {
            let Some(server) = Theirs::start("-1") else { return };
            let client = Client { streams, ..client(server.address, Protocol::Tcp, direction) };
            let report = run(&client).expect("a report");
            let theirs = server.says();
            let way = way(&report);
            // A server prints nothing of what its client says.
            if direction == Direction::ToServer {
                let received = number(&theirs, "/end/sum_received/bytes");
                assert_eq!(way.received_bytes, received, "{theirs}");
            } else {
                assert_eq!(way.sent_bytes, number(&theirs, "/end/sum_sent/bytes"), "{theirs}");
            }
            assert!(way.resent_segments.is_some(), "{report:?}");
            assert!(way.received_bytes > 1_000_000, "{report:?}");
            assert_eq!(report.is_balanced(), Some(true), "{report:?}");
            let in_flight = way.sent_bytes - way.received_bytes;
            assert!(in_flight <= u64::from(streams) * buffers_bytes(), "{report:?}");
            judge!(conditions, (0.9..1.5).contains(&way.seconds), "{report:?}");
            assert!(report.congestion.is_some() && report.server_processor_percent.is_some());
        }
    }
}

#[test]
fn tcp_counts_are_those_of_btus_server() {
    for direction in [Direction::ToServer, Direction::ToClient, Direction::Both] {
        let (ours, theirs) = with_ours(|server| {
            let client = Client { streams: 2, ..client(server, Protocol::Tcp, direction) };
            run(&client).expect("a report")
        });
        for (way, other) in
            [(&ours.to_server, &theirs.to_server), (&ours.to_client, &theirs.to_client)]
        {
            assert_eq!(way.is_some(), other.is_some());
            let (Some(way), Some(other)) = (way, other) else { continue };
            assert_eq!(way.received_bytes, other.received_bytes);
            assert_eq!(way.sent_bytes, other.sent_bytes);
            assert!((way.seconds - other.seconds).abs() < 1e-6, "{way:?} {other:?}");
        }
        assert_eq!(ours.is_balanced(), Some(true), "{ours:?}");
        assert_eq!(ours.congestion, ours.server_congestion);
    }
}

#[test]
fn udp_accounts_balance_with_either_server() {
    let conditions = Conditions::begin();
    for direction in DIRECTIONS {
        let make = |server, streams| {
            let client = client(server, Protocol::Udp, direction);
            let rate_bits_per_second = Some(10_000_000);
            run(&Client { streams, rate_bits_per_second, ..client }).expect("a report")
        };
        let (ours, theirs) = with_ours(|server| make(server, 2));
        let other = theirs.to_server.or(theirs.to_client).expect("a way");
        let datagrams = way(&ours).datagrams.clone().expect("datagrams");
        assert_eq!(ours.is_balanced(), Some(true), "{ours:?}");
        let others = other.datagrams.expect("datagrams");
        assert_eq!((datagrams.sent, datagrams.received), (others.sent, others.received));
        let Some(server) = Theirs::start("-1") else { return };
        let ours = make(server.address, 1);
        let theirs = server.says();
        let datagrams = way(&ours).datagrams.as_ref().expect("datagrams");
        assert_eq!(ours.is_balanced(), Some(true), "{ours:?}");
        judge!(conditions, datagrams.sent.abs_diff(892) < 180, "{datagrams:?}");
        if direction == Direction::ToServer {
            let packets = number(&theirs, "/end/sum/packets");
            assert_eq!(datagrams.received + datagrams.lost, packets, "{theirs}");
            assert_eq!(datagrams.lost, number(&theirs, "/end/sum/lost_packets"), "{theirs}");
        }
    }
}

#[test]
fn omitted_seconds_do_not_count() {
    let conditions = Conditions::begin();
    let Some(server) = Theirs::start("-1") else { return };
    let client = client(server.address, Protocol::Tcp, Direction::ToServer);
    let report = run(&Client { omit: SECOND, ..client }).expect("a report");
    judge!(conditions, (0.8..1.4).contains(&report.seconds), "{report:?}");
    judge!(conditions, (0.9..1.4).contains(&report.omitted_seconds), "{report:?}");
    let omitted: Vec<bool> = report.course.iter().map(|second| second.is_omitted).collect();
    assert_eq!(omitted, [true, false], "{report:?}");
    assert_eq!(report.is_balanced(), None);
    let theirs = server.says();
    assert_eq!(way(&report).received_bytes, number(&theirs, "/end/sum_received/bytes"));
}

/// Handshakes before and while data move neither end a test nor count as one: the server that ends
/// after one test makes all of it.
#[test]
fn handshakes_leave_the_servers_test_alone() {
    let conditions = Conditions::begin();
    for sends_nothing in [true, false] {
        for direction in DIRECTIONS {
            let Some(server) = Theirs::start("-1") else { return };
            let client = client(server.address, Protocol::Tcp, direction);
            let client = Client { sends_nothing, handshakes: Some(7), time: 3 * SECOND, ..client };
            if sends_nothing && direction == Direction::ToClient {
                continue;
            }
            let report = run(&client).expect("a report");
            let theirs = server.says();
            assert!(theirs.get("error").is_none(), "{theirs}");
            let answered = report.handshakes.iter().filter_map(|one| one.round_trip_seconds);
            let answered: Vec<f64> = answered.collect();
            // Fifteen on average, of a Poisson process that the seed draws.
            judge!(conditions, (4..40).contains(&answered.len()), "{report:?}");
            assert_eq!(answered.len(), report.handshakes.len(), "{report:?}");
            judge!(conditions, answered.iter().all(|seconds| *seconds < 1.0), "{report:?}");
            assert_eq!(way(&report).received_bytes == 0, sends_nothing);
            judge!(conditions, report.course.len() == 3, "{:?}", report.course);
        }
    }
}

/// One test after the other with the same server, which needs a moment between them.
#[test]
fn tests_follow_each_other() {
    let Some(server) = Theirs::start("") else { return };
    for direction in [Direction::ToServer, Direction::ToClient, Direction::ToServer] {
        let client = client(server.address, Protocol::Tcp, direction);
        let report = run(&Client { handshakes: Some(3), ..client }).expect("a report");
        assert!(way(&report).received_bytes > 1_000_000, "{report:?}");
    }
}

#[test]
fn a_busy_server_is_named_so() {
    let Some(server) = Theirs::start("") else { return };
    let address = server.address;
    let first = thread::spawn(move || {
        run(&Client { time: 3 * SECOND, ..client(address, Protocol::Tcp, Direction::ToServer) })
    });
    thread::sleep(SECOND);
    let second = client(address, Protocol::Tcp, Direction::ToServer);
    let error = run(&Client { grace: Duration::ZERO, ..second }).expect_err("it is busy");
    assert!(error.to_string().contains("busy with another test"), "{error}");
    first.join().expect("an end").expect("the first test goes on");
}

#[test]
fn a_server_that_is_killed_ends_the_test_soon() {
    let conditions = Conditions::begin();
    for direction in DIRECTIONS {
        let Some(mut server) = Theirs::start("") else { return };
        let client = Client { time: LONG, ..client(server.address, Protocol::Tcp, direction) };
        let test = thread::spawn(move || run(&client));
        thread::sleep(2 * SECOND);
        server.child.kill().expect("a kill");
        let start = Instant::now();
        let ending = why(test.join().expect("an end"));
        judge!(conditions, start.elapsed() < 10 * SECOND, "{direction:?}: {ending}");
        assert!(matches!(ending, Ending::Gone(_)), "{ending}");
    }
}

#[test]
fn a_test_that_is_stopped_tells_the_server() {
    let conditions = Conditions::begin();
    let Some(server) = Theirs::start("-1") else { return };
    let client =
        Client { time: LONG, ..client(server.address, Protocol::Tcp, Direction::ToServer) };
    let stop = Arc::new(AtomicBool::new(false));
    let also = Arc::clone(&stop);
    let test = thread::spawn(move || client.run(&also, &mut |_| ()));
    thread::sleep(2 * SECOND);
    stop.store(true, Ordering::Relaxed);
    let start = Instant::now();
    assert!(matches!(why(test.join().expect("an end")), Ending::Stopped));
    judge!(conditions, start.elapsed() < SECOND, "{:?}", start.elapsed());
}

/// A server refuses with its number: of a congestion control that Linux does not have, and of users,
/// which comes without an error of the system (3.12).
#[test]
fn a_refusal_is_explained() {
    for (error, reads, words) in [
        (
            &[0xfe, 0, 0, 0, 134, 0, 0, 0, 2][..],
            true,
            "congestion control (iperf3's error 134, its system's No such file",
        ),
        (
            &[0xfe, 0, 0, 0, 142],
            true,
            "it asks for a user and a password, which btu does not send (iperf3's error 142)",
        ),
        // It may be gone before it has read all.
        (&[0xfe, 0, 0, 0, 142], false, "(iperf3's error 142)"),
        (&[0xfe], true, "it does not say why"),
    ] {
        let server = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = server.local_addr().expect("an address");
        let serving = thread::spawn(move || {
            let mut control = accepted(&server);
            control.write_all(&[9]).expect("a state");
            if reads {
                read_text(&mut control);
            }
            control.write_all(error).expect("an error");
        });
        let test = client(address, Protocol::Tcp, Direction::ToServer);
        let said = run(&Client { grace: Duration::ZERO, ..test }).expect_err(words).to_string();
        assert!(said.contains(words), "{said}");
        serving.join().expect("an end");
    }
}

fn accepted(server: &TcpListener) -> TcpStream {
    let (mut stream, _) = server.accept().expect("a connection");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream.read_exact(&mut [0; 37]).expect("a cookie");
    stream
}

fn read_text(control: &mut TcpStream) {
    let mut length = [0; 4];
    control.read_exact(&mut length).expect("a length");
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut text).expect("a text");
}

/// The states that a server says before it stalls; after the first the client sends its parameters,
/// after the second it opens streams.
const STATES: [&[u8]; 6] = [&[], &[9], &[9, 10], &[9, 10, 1], &[9, 10, 1, 2], &[9, 10, 1, 2, 13]];

#[test]
fn a_server_that_stalls_ends_by_a_deadline() {
    let conditions = Conditions::begin();
    let short = Duration::from_millis(300);
    let deadlines = ClientDeadlines { connect: short, answer: short, results: short };
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for states in STATES {
            let server = TcpListener::bind("127.0.0.1:0").expect("a listener");
            let address = server.local_addr().expect("an address");
            let states = states.to_vec();
            let serving = thread::spawn(move || {
                let mut control = accepted(&server);
                // The end of the test is answered when it has come: the test takes a second.
                let (last, first) = states.split_last().map_or((None, &[][..]), |(last, first)| {
                    if *last == 13 { (Some(13), first) } else { (None, &states[..]) }
                });
                control.write_all(first).expect("states");
                if let Some(last) = last {
                    thread::sleep(SECOND + SECOND / 2);
                    // Without UDP at this port the client is gone by now.
                    let _ = control.write_all(&[last]);
                }
                // Until the client has given up.
                let _ = control.read_to_end(&mut Vec::new());
            });
            let start = Instant::now();
            let test = client(address, protocol, Direction::ToServer);
            let ending = why(run(&Client { deadlines, grace: Duration::ZERO, ..test }));
            judge!(conditions, start.elapsed() < 4 * SECOND, "{ending}");
            let is_late = matches!(ending, Ending::Late { .. } | Ending::UdpUnanswered { .. });
            // No UDP port has this number there.
            let is_refused = protocol == Protocol::Udp && matches!(ending, Ending::Connect { .. });
            assert!(is_late || is_refused, "{ending:?}");
            serving.join().expect("an end");
        }
    }
}

/// Numbers without a pattern, of a fixed beginning (Knuth's linear congruential generator for MMIX).
fn noise(seed: u64, octets: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..octets).map(|_| next()).collect()
}

#[test]
fn noise_ends_the_test() {
    let conditions = Conditions::begin();
    let short = Duration::from_millis(500);
    let deadlines = ClientDeadlines { connect: LONG, answer: short, results: short };
    for (seed, states) in STATES.iter().cycle().take(24).enumerate() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = server.local_addr().expect("an address");
        let said = [states, &noise(seed as u64, 100_000)[..]].concat();
        let serving = thread::spawn(move || {
            let mut control = accepted(&server);
            // The client may close before it has read all.
            let _ = control.write_all(&said);
            let _ = control.read_to_end(&mut Vec::new());
        });
        let start = Instant::now();
        let test = client(address, Protocol::Tcp, Direction::ToServer);
        let ending = why(run(&Client { deadlines, grace: Duration::ZERO, ..test }));
        judge!(conditions, start.elapsed() < 10 * SECOND, "{ending}");
        serving.join().expect("an end");
    }
}

/// Copies what comes, each part so much later, until one end closes.
fn pump(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut buffer = [0; 4096];
    while let Ok(octets @ 1..) = from.read(&mut buffer) {
        thread::sleep(delay);
        if to.write_all(&buffer[..octets]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// The address of a relay that takes connections at once, and is 20 ms away from the server.
fn relay(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(server) else { continue };
            let clones = near.try_clone().and_then(|near| Ok((near, far.try_clone()?)));
            let Ok((from, to)) = clones else { continue };
            thread::spawn(move || pump(near, far, Duration::from_millis(10)));
            thread::spawn(move || pump(to, from, Duration::from_millis(10)));
        }
    });
    address
}

/// Handshakes end at the relay: they say nothing of the way behind it.
#[test]
fn a_relay_is_noticed_by_the_servers_own_answers() {
    let conditions = Conditions::begin();
    let asks = |server| {
        let client = client(server, Protocol::Tcp, Direction::ToServer);
        run(&Client { sends_nothing: true, handshakes: Some(5), ..client }).expect("a report")
    };
    let (relayed, _) = with_ours(|server| asks(relay(server)));
    println!("{} s, {:?}", relayed.answer_seconds, relayed.handshake_with_relay());
    let least = relayed.handshake_with_relay();
    judge!(conditions, least.is_some_and(|least| least < 0.005), "{relayed:?}");
    assert!(relayed.answer_seconds > 0.02, "{relayed:?}");
    let (direct, _) = with_ours(asks);
    judge!(conditions, direct.handshake_with_relay().is_none(), "{direct:?}");
}
