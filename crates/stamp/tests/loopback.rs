//! Sender and reflector on one machine, and peers that do not behave.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use btu_stamp::{
    Losses, Reflector, ReflectorPacket, SenderSettings, StampError, StampReport, measure,
};
use btu_units::Span;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn reflector() -> Reflector {
    Reflector::open(ANY).expect("a reflector")
}

/// Fifty packets.
fn settings(reflector: SocketAddr) -> SenderSettings {
    let interval = Span::from_milliseconds(4);
    SenderSettings { reflector, interval, time: Span::from_milliseconds(200), seed: 1 }
}

fn measured(reflector: SocketAddr) -> StampReport {
    let report = measure(&settings(reflector), &mut |_| {}).expect("a result");
    let counts = report.counts;
    assert_eq!((counts.sent, counts.not_sent), (50, 0), "{report:?}");
    assert_eq!(counts.sent, counts.answered + report.losses.all(), "{report:?}");
    report
}

/// A caller with a time limit.
fn caller(reflector: &Reflector, from: &str) -> UdpSocket {
    let socket = UdpSocket::bind((from, 0)).expect("a socket");
    socket.connect(reflector.address()).expect("an address");
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a time limit");
    socket
}

/// The answer to these octets.
fn asked(caller: &UdpSocket, octets: &[u8]) -> Option<Vec<u8>> {
    caller.send(octets).expect("it is sent");
    let mut answer = vec![0; 65_535];
    let length = caller.recv(&mut answer).ok()?;
    Some(answer[..length].to_vec())
}

/// Another reflector, which does this with each packet.
fn reflecting(what: impl Fn(u32, &[u8]) -> Option<Vec<u8>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind(ANY).expect("a socket");
    let address = socket.local_addr().expect("an address");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
    thread::spawn(move || {
        let mut octets = [0; 1500];
        for count in 0.. {
            let Ok((length, from)) = socket.recv_from(&mut octets) else { return };
            if let Some(answer) = what(count, &octets[..length]) {
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    address
}

/// The answer of a reflector without a clock: what the sender wrote, with this number.
fn copied(number: [u8; 4], octets: &[u8]) -> Vec<u8> {
    let mut answer = [0; 44];
    answer[..4].copy_from_slice(&number);
    answer[12..14].copy_from_slice(&[0x3f, 0xff]);
    answer[24..38].copy_from_slice(&octets[..14]);
    answer.to_vec()
}

#[test]
fn the_accounts_balance_and_nothing_is_lost_here() {
    let reflector = reflector();
    let report = measured(reflector.address());
    assert_eq!(report.losses, Losses::ByDirection { there: 0, back: 0, unknown: 0 });
    assert_eq!((report.counts.answered, report.impossible), (50, 0));
    assert!(report.round_trips.iter().all(|one| one.seconds < 1.0), "{report:?}");
    assert_eq!(report.ttl, Some([64, 64]));
    assert!(
        report.one_way_seconds.is_some() == report.clocks.iter().all(|one| one.is_synchronised())
    );
}

#[test]
fn ipv6_has_its_hop_limit() {
    let Ok(reflector) = Reflector::open("[::1]:0".parse().expect("an address")) else { return };
    assert_eq!(measured(reflector.address()).ttl, Some([64, 64]));
}

#[test]
fn a_second_measurement_counts_anew() {
    let reflector = reflector();
    for _ in 0..2 {
        let report = measured(reflector.address());
        assert_eq!(report.losses, Losses::ByDirection { there: 0, back: 0, unknown: 0 });
    }
}

#[test]
fn answers_are_as_long_as_what_they_answer() {
    let reflector = reflector();
    let caller = caller(&reflector, "127.0.0.1");
    for length in [0, 1, 14, 43] {
        assert_eq!(asked(&caller, &vec![7; length]), None, "{length}");
    }
    for (number, length) in (0..).zip([44, 45, 60, 1472, 9000, 65_507]) {
        let octets: Vec<u8> =
            (0..length).map(|place| if place < 44 { 7 } else { place as u8 }).collect();
        let answer = asked(&caller, &octets).expect("an answer");
        assert_eq!(answer.len(), octets.len());
        assert_eq!(answer[44..], octets[44..]);
        let packet = ReflectorPacket::decode(&answer).expect("a packet");
        assert_eq!((packet.sequence, packet.sender_sequence), (number, 0x0707_0707));
        assert_eq!((packet.session, packet.sender_ttl), (0x0707, Some(64)));
    }
}

#[test]
fn a_hundred_thousand_datagrams_of_many_ports_keep_no_other_host_out() {
    let reflector = reflector();
    let callers: Vec<UdpSocket> = (0..200).map(|_| caller(&reflector, "127.0.0.1")).collect();
    for number in 0..100_000u32 {
        let mut octets = [0; 45];
        octets[14..16].copy_from_slice(&(number as u16).to_be_bytes());
        // What its socket has no room for is lost.
        let _ = callers[number as usize % callers.len()].send(&octets[..40 + number as usize % 6]);
    }
    let other = caller(&reflector, "127.0.0.2");
    let answer = (0..20).find_map(|_| asked(&other, &[0; 44])).expect("an answer");
    assert_eq!(answer.len(), 44);
}

#[test]
fn a_reflector_without_state_is_recognised() {
    let address = reflecting(|count, octets| {
        (count % 10 != 9).then(|| copied([octets[0], octets[1], octets[2], octets[3]], octets))
    });
    assert_eq!(measured(address).losses, Losses::Copied { lost: 5 });
}

#[test]
fn losses_are_told_by_direction() {
    // Every tenth is lost there, and the answer to every tenth back.
    let counter = AtomicU32::new(0);
    let address = reflecting(move |count, octets| {
        if count % 10 == 3 {
            return None;
        }
        let number = counter.fetch_add(1, Ordering::Relaxed);
        (count % 10 != 6).then(|| copied(number.to_be_bytes(), octets))
    });
    let losses = measured(address).losses;
    assert_eq!(losses, Losses::ByDirection { there: 5, back: 5, unknown: 0 });
}

#[test]
fn garbage_is_no_answer() {
    let address = reflecting(|count, octets| Some(octets[..count as usize % 45].to_vec()));
    let error = measure(&settings(address), &mut |_| {}).expect_err("no answer");
    assert!(matches!(error, StampError::Silent { sent: 50, .. }), "{error}");
    assert!(error.to_string().contains("no answers"), "{error}");
}

#[test]
fn where_nothing_listens_the_first_answer_says_so() {
    let address = UdpSocket::bind(ANY).expect("a socket").local_addr().expect("an address");
    let error = measure(&settings(address), &mut |_| {}).expect_err("no reflector");
    assert!(error.to_string().contains("--stamp-reflector"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let reflector = reflector();
    let error = Reflector::open(reflector.address()).expect_err("it is taken").to_string();
    assert!(error.contains("--listen"), "{error}");
}
