//! The server with the real iperf3 on loopback, and with clients that misbehave.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_iperf3::{Deadlines, Ending, Event, Report, Server, Settings};
use serde_json::Value;
use socket2::{Domain, SockFilter, SockRef, Socket, Type};

/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// The time within which the place of a lost client is free.
const SOON: Duration = Duration::from_secs(1);
const COOKIE: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz2345672345\0";

/// A server on a free port, and what it tells.
struct Lab {
    server: Server,
    events: Receiver<Event>,
}

impl Lab {
    fn open(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::at("127.0.0.1:0".parse().expect("an address"));
        change(&mut settings);
        let (tell, events) = channel();
        let server = Server::open(settings, move |event| drop(tell.send(event))).expect("a server");
        Self { server, events }
    }

    fn usual() -> Self {
        Self::open(|_| ())
    }

    /// `None` without iperf3: it prints that loudly, and fails if a lab is required.
    fn with_iperf3(change: impl FnOnce(&mut Settings)) -> Option<Self> {
        let is_there = Command::new("iperf3").arg("--version").output().is_ok();
        if !is_there {
            eprintln!("LAB SKIPPED: no iperf3");
            assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "a lab is required");
        }
        is_there.then(|| Self::open(change))
    }

    fn client(&self, options: &str) -> Child {
        let port = self.server.address().port().to_string();
        let mut command = Command::new("iperf3");
        command.args(["-c", "127.0.0.1", "-p", &port, "-J"]).args(options.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("iperf3 starts")
    }

    /// What a client with these options says, and what the server says of it.
    fn measure(&self, options: &str) -> (Value, Report) {
        let said = said(&self.client(options).wait_with_output().expect("an end"), options);
        (said, self.report())
    }

    fn report(&self) -> Report {
        match self.events.recv_timeout(LONG) {
            Ok(Event::Finished(report)) => *report,
            other => panic!("{other:?}"),
        }
    }

    /// Why the next test ended early; that others found the server busy meanwhile does not count.
    fn failure(&self) -> Ending {
        let (start, conditions) = (Instant::now(), Conditions::begin());
        loop {
            match self.events.recv_timeout(LONG) {
                Ok(Event::Failed { why: Ending::Busy(_), .. }) => {}
                Ok(Event::Failed { why, .. }) => {
                    judge!(conditions, start.elapsed() < SOON, "{why} after {:?}", start.elapsed());
                    return why;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn connect(&self) -> TcpStream {
        connect(self.server.address())
    }

    /// A connection of a test that an exclusive server takes, which must be soon.
    fn taken(&self) -> TcpStream {
        let (start, conditions) = (Instant::now(), Conditions::begin());
        loop {
            let mut stream = self.connect();
            stream.write_all(COOKIE).expect("a cookie");
            if state(&mut stream) == 9 {
                judge!(conditions, start.elapsed() < SOON, "free after {:?}", start.elapsed());
                return stream;
            }
            assert!(start.elapsed() < LONG, "the place is not free");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).expect("a connection");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream
}

fn state(stream: &mut TcpStream) -> i8 {
    let mut octet = [0];
    stream.read_exact(&mut octet).expect("a state");
    octet[0].cast_signed()
}

fn said(output: &Output, options: &str) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    let succeeded = output.status.success() && value.get("error").is_none();
    assert!(succeeded, "{options}: {text}");
    value
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {value}"))
}

#[test]
fn tcp_counts_are_those_of_the_client() {
    let conditions = Conditions::begin();
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    for parallel in [1, 4] {
        for way in ["", "-R", "--bidir"] {
            let (said, report) = lab.measure(&format!("-t 1 -P {parallel} {way}"));
            let received = number(&said, "/end/sum_received/bytes");
            let first = if way == "-R" { &report.to_client } else { &report.to_server };
            assert_eq!(first.as_ref().expect("a way").received_bytes, received, "{way}");
            if way == "--bidir" {
                let received = number(&said, "/end/sum_received_bidir_reverse/bytes");
                assert_eq!(report.to_client.as_ref().expect("a way").received_bytes, received);
            }
            assert!(received > 1_000_000 && report.streams == parallel, "{report:?}");
            judge!(conditions, (0.9..1.5).contains(&report.seconds), "{report:?}");
            assert_eq!(report.company.tests, 0);
        }
    }
}

#[test]
fn udp_accounts_balance_and_are_those_of_the_client() {
    let conditions = Conditions::begin();
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    for (way, streams) in [("", 1), ("-R", 1), ("", 3), ("--bidir", 2)] {
        let (said, report) = lab.measure(&format!("-u -b 10M -l 1448 -t 1 -P {streams} {way}"));
        let first = if way == "-R" { &report.to_client } else { &report.to_server };
        let first = first.as_ref().expect("a way");
        let datagrams = first.datagrams.as_ref().expect("datagrams");
        assert!(first.is_balanced(), "{report:?}");
        let expected = u64::from(report.streams) * 10_000_000 / 8 / 1448;
        judge!(conditions, datagrams.sent.abs_diff(expected) < expected / 5, "{report:?}");
        if way != "--bidir" {
            assert_eq!(datagrams.sent, number(&said, "/end/sum/packets"), "{said}");
            assert_eq!(datagrams.lost, number(&said, "/end/sum/lost_packets"), "{said}");
        }
        judge!(conditions, datagrams.jitter_seconds < 0.1, "{report:?}");
    }
}

#[test]
fn amounts_arrive_whole() {
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    for (options, expected) in [("-n 1M", 1 << 20), ("-k 100", 100 * (128 << 10))] {
        let (said, report) = lab.measure(options);
        let received = report.to_server.expect("a way").received_bytes;
        assert_eq!(received, number(&said, "/end/sum_received/bytes"));
        // iperf3 stops at the end of a write.
        assert_eq!(received, number(&said, "/end/sum_sent/bytes"));
        assert!(received >= expected, "{options}: {received}");
    }
    let (_, report) = lab.measure("-n 1M -R");
    assert!(report.to_client.expect("a way").received_bytes >= 1 << 20);
}

#[test]
fn omitted_seconds_do_not_count() {
    let conditions = Conditions::begin();
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    for options in ["-O 1 -t 1", "-O 1 -t 1 -R", "-O 1 -t 1 -u -b 10M -l 1448"] {
        let (said, report) = lab.measure(options);
        judge!(conditions, (0.8..1.5).contains(&report.seconds), "{report:?}");
        judge!(conditions, (0.9..1.4).contains(&report.omitted_seconds), "{report:?}");
        let way = report.to_server.or(report.to_client).expect("a way");
        if let Some(datagrams) = way.datagrams {
            judge!(conditions, datagrams.sent.abs_diff(863) < 200, "{datagrams:?} {said}");
        }
    }
}

#[test]
fn the_servers_output_comes_when_asked_for() {
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    let (said, report) = lab.measure("-t 1 --get-server-output");
    assert_eq!(said["server_output_text"].as_str(), Some(&*report.text()));
    let Some(lab) = Lab::with_iperf3(|settings| settings.json = true) else { return };
    let (said, report) = lab.measure("-t 1 --get-server-output");
    assert_eq!(said["server_output_json"]["seconds"].as_f64(), Some(report.seconds));
}

#[test]
fn options_of_clients_are_taken() {
    let conditions = Conditions::begin();
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    for options in [
        "-t 1 -R -b 20M -l 1000 -N -M 1000 -w 64K -S 8 -C reno -T title --extra-data more",
        "-u -t 1 -R -b 5M/4 -l 200 --udp-counters-64bit --repeating-payload --dont-fragment",
        "-t 1 -Z --fq-rate 10M -R",
    ] {
        let (_, report) = lab.measure(options);
        let rate = report.to_client.expect("a way").rate_bits_per_second;
        judge!(conditions, (4e6..24e6).contains(&rate), "{options}: {rate}");
    }
}

#[test]
fn ten_clients_measure_at_once_and_each_knows_of_the_others() {
    let Some(lab) = Lab::with_iperf3(|settings| settings.limits.tests_per_address = 10) else {
        return;
    };
    let options = |number| if number % 2 == 0 { "-t 2 -b 5M" } else { "-u -t 2 -b 5M -P 2" };
    let clients: Vec<Child> = (0..10).map(|number| lab.client(options(number))).collect();
    for (number, client) in clients.into_iter().enumerate() {
        said(&client.wait_with_output().expect("an end"), options(number));
    }
    for _ in 0..10 {
        let report = lab.report();
        assert_eq!(report.company.tests, 9, "{report:?}");
        assert!(report.company.share > 0.5 && report.company.neighbours.len() == 1);
    }
}

#[test]
fn a_server_for_one_test_is_busy_for_others_and_ends() {
    let Some(lab) = Lab::with_iperf3(|settings| settings.one_off = true) else { return };
    let mut first = lab.client("-t 2");
    thread::sleep(Duration::from_secs(1));
    let second = lab.client("-t 1").wait_with_output().expect("an end");
    assert!(String::from_utf8_lossy(&second.stdout).contains("busy"), "{second:?}");
    let busy = lab.events.recv_timeout(LONG).expect("an event");
    assert!(matches!(busy, Event::Failed { why: Ending::Busy(_), .. }), "{busy:?}");
    assert!(first.wait().expect("an end").success());
    lab.report();
    let start = Instant::now();
    while !lab.server.has_ended() {
        assert!(start.elapsed() < LONG);
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_client_frees_its_place() {
    for options in ["-t 10", "-t 10 -R -P 4", "-u -t 10 -b 10M", "-t 10 --bidir"] {
        let Some(lab) = Lab::with_iperf3(|settings| settings.exclusive = true) else { return };
        let mut client = lab.client(options);
        thread::sleep(Duration::from_millis(700));
        client.kill().expect("a kill");
        client.wait().expect("an end");
        assert!(matches!(lab.failure(), Ending::Gone(_)), "{options}");
        lab.taken();
    }
}

#[test]
fn an_ending_server_tells_its_clients() {
    let conditions = Conditions::begin();
    let Some(lab) = Lab::with_iperf3(|_| ()) else { return };
    let client = lab.client("-t 10");
    thread::sleep(Duration::from_millis(700));
    let start = Instant::now();
    lab.server.stop();
    judge!(conditions, start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let output = client.wait_with_output().expect("an end");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("server has terminated"), "{text}");
}

/// What a client has sent when it stops.
fn parts() -> Vec<Vec<u8>> {
    let parameters = br#"{"tcp":true,"time":1,"parallel":2}"#;
    let udp = br#"{"udp":true,"time":1,"parallel":2}"#;
    let framed = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
    let after = |more: &[u8]| [&COOKIE[..], more].concat();
    vec![
        after(b""),
        after(&[0, 0]),
        after(&framed(parameters)[..20]),
        after(&framed(parameters)),
        after(&framed(udp)),
    ]
}

#[test]
fn a_client_that_leaves_at_any_state_frees_its_place() {
    let lab = Lab::open(|settings| settings.exclusive = true);
    for part in parts() {
        let mut client = lab.taken();
        client.write_all(&part[COOKIE.len()..]).expect("a part");
        thread::sleep(Duration::from_millis(50));
        drop(client);
        assert!(matches!(lab.failure(), Ending::Gone(_)), "{part:?}");
    }
    lab.taken();
}

#[test]
fn a_silent_client_ends_by_its_deadline() {
    let conditions = Conditions::begin();
    let short = Duration::from_millis(200);
    let deadlines = Deadlines {
        cookie: short,
        parameters: short,
        turn: short,
        streams: short,
        margin: short,
        results: short,
        done: short,
        vanished: LONG,
    };
    let lab = Lab::open(|settings| settings.deadlines = deadlines);
    let mut silent = lab.connect();
    let start = Instant::now();
    assert_eq!(silent.read(&mut [0]).expect("an end"), 0);
    judge!(conditions, start.elapsed() < SOON, "{:?}", start.elapsed());
    for part in parts() {
        let mut client = lab.connect();
        client.write_all(&part).expect("a part");
        assert!(matches!(lab.failure(), Ending::Late { .. }));
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).expect("an end");
        assert!(rest.contains(&0xfe), "{rest:?}");
    }
}

#[test]
fn long_parameters_are_refused() {
    let lab = Lab::usual();
    let mut client = lab.connect();
    let text = vec![b' '; 9 << 10];
    client.write_all(COOKIE).expect("a cookie");
    client.write_all(&(text.len() as u32).to_be_bytes()).expect("a length");
    client.write_all(&text).expect("parameters");
    assert!(matches!(lab.failure(), Ending::Refused { .. }));
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("an end");
    assert_eq!(rest, [9, 0xfe, 0, 0, 0, 114, 0, 0, 0, 0]);
}

/// Numbers without a pattern, of a fixed beginning (Knuth's linear congruential generator for MMIX).
fn noise(octets: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..octets).map(|_| next()).collect()
}

#[test]
fn noise_leaves_the_server_working() {
    let lab = Lab::usual();
    for (place, part) in noise(1_000_000).chunks(20_000).enumerate() {
        let mut client = lab.connect();
        if place % 2 == 0 {
            let _ = client.write_all(COOKIE);
        }
        // The server may close before it has read all.
        let _ = client.write_all(part);
    }
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for part in noise(100_000).chunks(1000) {
        udp.send_to(part, lab.server.address()).expect("a datagram");
    }
    lab.taken();
}

/// A greeting that no test waits for gets no answer, and neither does one from a client that has not
/// shown itself by TCP.
#[test]
fn strangers_get_no_datagram() {
    let lab = Lab::usual();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    udp.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    udp.send_to(&0x3637_3839_u32.to_ne_bytes(), lab.server.address()).expect("a datagram");
    assert!(udp.recv(&mut [0; 16]).is_err());
    // A test of 127.0.0.1 waits, and the greeting comes from another address.
    let mut client = lab.connect();
    client.write_all(&parts()[4]).expect("parameters");
    assert_eq!((state(&mut client), state(&mut client)), (9, 10));
    let other = std::net::UdpSocket::bind("127.0.0.2:0").expect("a socket");
    other.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    other.send_to(&0x3637_3839_u32.to_ne_bytes(), lab.server.address()).expect("a datagram");
    assert!(other.recv(&mut [0; 16]).is_err());
    udp.send_to(&0x3637_3839_u32.to_ne_bytes(), lab.server.address()).expect("a datagram");
    let mut answer = [0; 16];
    assert_eq!(udp.recv(&mut answer).expect("an answer"), 4);
    assert_eq!(answer[..4], 0x3938_3736_u32.to_ne_bytes());
}

/// Another connection with the cookie of a test that has all its streams is denied.
#[test]
fn a_stream_too_many_is_denied() {
    let lab = Lab::usual();
    let mut client = lab.connect();
    client.write_all(&parts()[3]).expect("parameters");
    assert_eq!((state(&mut client), state(&mut client)), (9, 10));
    let mut streams: Vec<TcpStream> = (0..3).map(|_| lab.connect()).collect();
    for stream in &mut streams {
        stream.write_all(COOKIE).expect("a cookie");
        // Cookies are read by a thread each.
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(state(&mut streams[2]), -1);
    assert_eq!((state(&mut client), state(&mut client)), (1, 2));
}

/// The name of a test that clients before 3.2 make: that of their host, the time, and digits.
const OLD_COOKIE: &[u8; 37] = b"BOX.1700000000.123456.0000a000123456\0";

/// Their streams of UDP are opened by another greeting, as those of all clients before 3.12.
#[test]
fn clients_before_3_2_are_served() {
    for part in [3, 4] {
        let lab = Lab::usual();
        let mut client = lab.connect();
        client.write_all(OLD_COOKIE).expect("a cookie");
        client.write_all(&parts()[part][COOKIE.len()..]).expect("parameters");
        assert_eq!((state(&mut client), state(&mut client)), (9, 10));
        let mut streams: Vec<TcpStream> = Vec::new();
        for _ in 0..2 {
            if part == 3 {
                let mut stream = lab.connect();
                stream.write_all(OLD_COOKIE).expect("a cookie");
                streams.push(stream);
            } else {
                let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
                socket.set_read_timeout(Some(LONG)).expect("a timeout");
                let greeting = 123_456_789_u32.to_ne_bytes();
                socket.send_to(&greeting, lab.server.address()).expect("a greeting");
                assert_eq!(socket.recv(&mut [0; 16]).expect("an answer"), 4);
            }
        }
        assert_eq!((state(&mut client), state(&mut client)), (1, 2));
    }
}

/// Whatever is turned away at its first octets is told of; what sends none is no caller.
#[test]
fn strangers_are_told_of() {
    let lab = Lab::usual();
    for (octets, words) in [
        (&b"GET /index.html HTTP/1.1\r\nHost: a.example\r\n\r\n"[..], "not a client of iperf3"),
        (b"abc", "it went away while it had to send the name of its test"),
    ] {
        // A probe of the port, and handshakes that measure round trips.
        drop(lab.connect());
        let mut client = lab.connect();
        client.write_all(octets).expect("a part");
        drop(client);
        let why = lab.failure().to_string();
        assert!(why.contains(words), "{why}");
    }
}

/// A test of one second of which the client's word of the end comes late, as where a segment of it
/// is lost: the rate is that of the second in which data arrived.
#[test]
fn time_ends_with_the_last_arrival() {
    let conditions = Conditions::begin();
    for protocol in ["udp", "tcp"] {
        let lab = Lab::usual();
        let mut control = lab.connect();
        let parameters = format!(r#"{{"{protocol}":true,"time":1,"parallel":1,"len":100}}"#);
        let framed =
            |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
        control.write_all(&[&COOKIE[..], &framed(&parameters)].concat()).expect("parameters");
        assert_eq!((state(&mut control), state(&mut control)), (9, 10));
        let mut send: Box<dyn FnMut(u32)> = if protocol == "udp" {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.connect(lab.server.address()).expect("the server");
            socket.send(&0x3637_3839_u32.to_ne_bytes()).expect("a greeting");
            socket.recv(&mut [0; 16]).expect("an answer");
            Box::new(move |number| {
                let datagram = [&[0; 8][..], &number.to_be_bytes(), &[0; 88]].concat();
                socket.send(&datagram).expect("a datagram");
            })
        } else {
            let mut stream = lab.connect();
            stream.write_all(COOKIE).expect("a cookie");
            Box::new(move |_| stream.write_all(&[0; 100]).expect("data"))
        };
        assert_eq!((state(&mut control), state(&mut control)), (1, 2));
        let start = Instant::now();
        for number in 1..=100 {
            send(number);
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(1500));
        let said = start.elapsed();
        control.write_all(&[4]).expect("the end");
        assert_eq!(state(&mut control), 13);
        let results = r#"{"streams":[{"id":1,"bytes":10000,"packets":100}]}"#;
        control.write_all(&framed(results)).expect("results");
        let report = lab.report();
        assert_eq!(report.to_server.as_ref().expect("a way").received_bytes, 10_000);
        judge!(conditions, report.seconds + 1.0 < said.as_secs_f64(), "{said:?}: {report:?}");
        assert!(report.seconds > 0.9, "{report:?}");
    }
}

/// A test both ways with 128 streams each, by a client at this loopback address; returns what the server says.
fn ask_for_many_streams(lab: &Lab, number: u8, from: u8) -> (TcpStream, i8) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, from], 0)).into()).expect("an address");
    socket.connect(&lab.server.address().into()).expect("a connection");
    let mut client = TcpStream::from(socket);
    client.set_read_timeout(Some(LONG)).expect("a timeout");
    let parameters = br#"{"tcp":true,"time":1,"parallel":128,"bidirectional":true}"#;
    let mut cookie = *COOKIE;
    cookie[0] = b'a' + number;
    client.write_all(&cookie).expect("a cookie");
    assert_eq!(state(&mut client), 9);
    client.write_all(&(parameters.len() as u32).to_be_bytes()).expect("a length");
    client.write_all(parameters).expect("parameters");
    let said = state(&mut client);
    (client, said)
}

#[test]
fn the_streams_of_one_address_leave_the_others_theirs() {
    let lab = Lab::usual();
    let greedy: Vec<_> = (0..4).map(|number| ask_for_many_streams(&lab, number, 1)).collect();
    let said: Vec<i8> = greedy.iter().map(|(_, said)| *said).collect();
    assert_eq!(said, [10, -1, -1, -1]);
    let (_modest, said) = ask_for_many_streams(&lab, 9, 2);
    assert_eq!(said, 10);
}

/// Its kernel answers nothing more, not even with a reset, as that of a host that lost its network.
#[test]
fn a_client_that_vanished_is_noticed() {
    let conditions = Conditions::begin();
    let lab = Lab::open(|settings| settings.deadlines.vanished = Duration::from_secs(2));
    let mut client = lab.connect();
    let parameters = br#"{"udp":true,"time":60,"reverse":true,"len":1000,"bandwidth":1000000}"#;
    client.write_all(COOKIE).expect("a cookie");
    client.write_all(&(parameters.len() as u32).to_be_bytes()).expect("a length");
    client.write_all(parameters).expect("parameters");
    assert_eq!((state(&mut client), state(&mut client)), (9, 10));
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    udp.send_to(&0x3637_3839_u32.to_ne_bytes(), lab.server.address()).expect("a greeting");
    assert_eq!((state(&mut client), state(&mut client)), (1, 2));
    // BPF_RET with 0: nothing that arrives gets to this socket.
    let nothing = SockFilter::new(6, 0, 0, 0);
    if let Err(error) = SockRef::from(&client).attach_filter(&[nothing]) {
        eprintln!("no filter of a socket here ({error}): tested as root, or elsewhere");
        return;
    }
    let start = Instant::now();
    match lab.events.recv_timeout(LONG) {
        Ok(Event::Failed { why: Ending::Gone(_), .. }) => {}
        other => panic!("{other:?}"),
    }
    judge!(conditions, start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
