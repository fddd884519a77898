//! Client and server on one machine, and clients that do not behave.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use btu_responsiveness::{
    Certificate, Method, ResponsivenessSettings, Server, Target, Trust, Way, measure,
};

fn server() -> Server {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    Server::open(&ResponsivenessSettings { listen, certificate: Certificate::SelfSigned })
        .expect("a server")
}

fn target(server: &Server) -> Target {
    Target::read(&format!("https://{}", server.address())).expect("an address")
}

const SHORT: Method = Method { most_intervals: 6, ..Method::of_draft(Duration::from_millis(200)) };

#[test]
fn both_directions_are_measured_and_every_probe_is_accounted_for() {
    let server = server();
    let report = measure(&target(&server), Trust::Anyone, &SHORT, &[Way::Down, Way::Up], &|_| {});
    let report = report.expect("a result");
    assert_eq!(report.tls, "TLSv1_3");
    assert!(report.idle.rpm.overall > 60.0, "{report:?}");
    assert_eq!(report.idle.count, 10);
    for way in &report.ways {
        let probes = way.probes;
        assert_eq!(probes.launched, probes.answered + probes.failed + probes.under_way, "{way:?}");
        assert_eq!(probes.failed, 0, "{way:?}");
        assert!(probes.answered > 0, "{way:?}");
        assert!(way.bits_per_second > 1e6, "{way:?}");
        assert!(way.rpm.is_some_and(|rpm| rpm.loaded.is_some()), "{way:?}");
        assert!(way.intervals.len() >= 4 && way.intervals.len() <= 6, "{way:?}");
    }
}

#[test]
fn a_server_of_ones_own_is_not_believed_unasked() {
    let server = server();
    let refused = measure(&target(&server), Trust::Authorities, &SHORT, &[Way::Down], &|_| {});
    let why = refused.expect_err("its certificate has no authority").to_string();
    let is_said = why.contains("--any-certificate");
    assert!(is_said, "{why}");
}

#[test]
fn callers_that_do_not_speak_tls_keep_nobody_out() {
    let server = server();
    let silent: Vec<TcpStream> = (0..600)
        .map(|number| {
            let mut stream = TcpStream::connect(server.address()).expect("a connection");
            if number % 3 == 0 {
                let garbage: Vec<u8> =
                    (0..200_u8).map(|octet| octet.wrapping_mul(number as u8)).collect();
                drop(stream.write_all(&garbage));
            }
            stream
        })
        .collect();
    let method = Method { most_intervals: 2, ..SHORT };
    let report = measure(&target(&server), Trust::Anyone, &method, &[Way::Down], &|_| {});
    assert!(report.is_ok(), "{report:?}");
    drop(silent);
}

/// Relays the first `most` connections to a server, and lets further ones wait.
fn relay(server: SocketAddr, most: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        let mut waiting = Vec::new();
        for (number, near) in listener.incoming().map_while(Result::ok).enumerate() {
            let Some(far) = (number < most).then(|| TcpStream::connect(server)) else {
                waiting.push(near);
                continue;
            };
            let far = far.expect("the server");
            let ends = [(&near, &far), (&far, &near)];
            for (from, to) in ends.map(|(from, to)| (from.try_clone(), to.try_clone())) {
                let (mut from, mut to) = (from.expect("a copy"), to.expect("a copy"));
                thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
    address
}

#[test]
fn connections_that_do_not_come_in_the_full_network_hold_up_nothing() {
    let server = server();
    // One asks for the description, ten measure the idle network, and one fills it.
    let target =
        Target::read(&format!("https://{}", relay(server.address(), 12))).expect("an address");
    let began = Instant::now();
    let report = measure(&target, Trust::Anyone, &SHORT, &[Way::Down], &|_| {}).expect("a result");
    let [way] = &report.ways[..] else { panic!("{report:?}") };
    assert_eq!((way.connections, way.intervals.len()), (1, 6), "{way:?}");
    assert!(way.bits_per_second > 1e6, "{way:?}");
    assert!(began.elapsed() < Duration::from_secs(25), "a handshake is waited for 30 s");
}

#[test]
fn a_server_that_is_none_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut room = [0; 512];
            drop(stream.read(&mut room));
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let target = Target::read(&address.to_string()).expect("an address");
    let why = measure(&target, Trust::Anyone, &SHORT, &[Way::Down], &|_| {}).expect_err("none");
    assert!(why.to_string().starts_with(&format!("speak TLS with {address}")), "{why}");
}
