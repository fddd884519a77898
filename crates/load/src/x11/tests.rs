use std::net::Ipv4Addr;

use btu_contract::app::{Carrier, Protocol, Workload};

use super::*;
use crate::meeting_place::testing::{drawing, performed};

fn is_missing(with_x11perf: bool) -> bool {
    let Some(missing) = crate::missing_for_x11(with_x11perf) else { return false };
    assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "no {missing}");
    println!("LAB SKIPPED: no {missing}");
    true
}

/// By every protocol the server shows, to the bit, what the rasteriser draws.
#[test]
fn an_x_server_shows_the_same_picture_by_every_protocol() {
    if is_missing(false) {
        return;
    }
    let protocols = Protocol::USUAL.into_iter().chain([Protocol::Construction]);
    let pictures = [Workload::Vectors, Workload::Rectangles, Workload::Text];
    // Every protocol draws one of the pictures; all of them are drawn item by item and together.
    for (protocol, one) in protocols.zip(pictures.into_iter().cycle()) {
        let draws_all = matches!(protocol, Protocol::Pipelined | Protocol::Batched);
        for workload in pictures.into_iter().filter(|picture| draws_all || *picture == one) {
            let drawing = drawing(workload, protocol);
            let (Outcome::Drawn(drawn), Outcome::Displayed(displayed)) =
                performed(&drawing, Carrier::X11)
            else {
                panic!("{workload} {protocol}");
            };
            let each = drawn.requests as f64 / drawn.pictures.len() as f64;
            println!(
                "{workload} {protocol}: {} in {each} requests, {} octets, {} wrong",
                drawn.pictures[0], drawn.bytes, displayed.wrong
            );
            assert_eq!(drawn.pictures.len() as u64, displayed.pictures);
            assert_eq!(displayed.digest, workload.picture().digest(), "{workload} {protocol}");
            assert_eq!(displayed.wrong, 0, "{workload} {protocol}");
        }
    }
}

#[test]
fn x11perf_is_run_at_the_same_server() {
    if is_missing(true) {
        return;
    }
    let drawing = drawing(Workload::Vectors, Protocol::Batched);
    let (tested, served) = performed(&drawing, Carrier::X11perf);
    assert!(matches!(tested, Outcome::X11perf { per_second } if per_second > 0.0), "{tested:?}");
    assert!(matches!(served, Outcome::X11Served));
}

/// Who does not have the cookie is not let in.
#[test]
fn a_client_without_the_cookie_is_refused() {
    if is_missing(false) {
        return;
    }
    let server = XServer::start(Ipv4Addr::LOCALHOST.into(), b"sixteen byte key", false);
    let to = server.as_ref().expect("it starts").address();
    let never = AtomicBool::new(false);
    let limit = Limit::new(now().expect("a clock"), Span::from_seconds(10), &never);
    let refused = line::connect(to, b"another 16 bytes", &limit).map(drop).expect_err("refused");
    assert!(!refused.to_string().is_empty());
    assert!(line::connect(to, b"sixteen byte key", &limit).is_ok());
}

/// The first answer of a server with one screen, in this machine's order of octets.
fn setup() -> Vec<u8> {
    let short =
        |numbers: &[u16]| numbers.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<_>>();
    let long = |numbers: &[u32]| numbers.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<_>>();
    let server = [long(&[0, 0x20_0000, 0x1f_ffff, 0]), short(&[0, u16::MAX])].concat();
    let server = [server, vec![1, 0, 0, 0, 32, 32, 8, 255, 0, 0, 0, 0]].concat();
    let screen = [
        long(&[1, 2, 0xff_ffff, 0, 0]),
        short(&[800, 800, 1, 1, 0, 0]),
        long(&[3]),
        vec![0, 0, 24, 0],
    ];
    let rest = [server, screen.concat()].concat();
    [vec![1, 0], short(&[11, 0, (rest.len() / 4) as u16]), rest].concat()
}

/// A server of another make may send what it likes: each end says so in time.
#[test]
fn an_x_server_that_lies_or_never_ends_is_named() {
    let reply = |length: u32| [&[1, 0, 1, 0][..], &length.to_ne_bytes(), &[0; 24]].concat();
    let event = [&[28, 0, 0, 0][..], &[0; 28]].concat();
    for (what, octets, is_endless, said) in [
        ("a long reply", reply(u32::MAX), false, "announced a reply of 17179869180 octets"),
        ("events without end", event.repeat(1000), true, "no request"),
        ("replies without end", reply(0).repeat(1000), true, ""),
        ("garbage", vec![0xa5; 999], false, ""),
        ("an end", vec![], false, ""),
    ] {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let to = listener.local_addr().expect("its address");
        let serving = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut client, _) = listener.accept().expect("a client");
            let _ = client.read(&mut [0; 4096]).expect("its request");
            client.write_all(&setup()).expect("an answer");
            let _ = client.read(&mut [0; 4096]).expect("its first request");
            while client.write_all(&octets).is_ok() && is_endless {}
        });
        let (never, began) = (AtomicBool::new(false), now().expect("a clock"));
        let limit = Limit::new(began, Span::from_seconds(10), &never);
        let part = drawing(Workload::Vectors, Protocol::Batched);
        let connection = line::connect(to, b"sixteen byte key", &limit).expect("it is let in");
        let error = screen::show(&connection, &part).expect_err(what);
        let error = problem(to, "ended the drawing", &error).to_string();
        assert!(error.contains(&to.to_string()) && error.contains(said), "{what}: {error}");
        let took = now().expect("a clock").since(began);
        assert!(took < Span::from_seconds(9), "{what}: {took}");
        drop(connection);
        serving.join().expect("it ends with its client");
    }
}

/// It ends with the worker's last use of it, and no process listens any more.
#[test]
fn a_server_is_gone_when_it_is_dropped() {
    if is_missing(false) {
        return;
    }
    let server = XServer::start(Ipv4Addr::LOCALHOST.into(), b"sixteen byte key", false);
    let to = server.as_ref().expect("it starts").address();
    assert!(std::net::TcpStream::connect(to).is_ok());
    drop(server);
    assert!(crate::tests::is_closed(to), "{to} still listens");
}
