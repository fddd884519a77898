use std::net::Ipv4Addr;

use btu_suite::app::{Carrier, Protocol, Workload};

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
