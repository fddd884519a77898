//! Request and response between our own two ends.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use btu_suite::activity::{Activity, Request, Respond, Transport};
use btu_suite::peers::Callers;
use btu_suite::record::{Outcome, Requested};
use btu_units::{Bytes, Span};

use super::{HERE, NEVER, TOKEN, order, outcome, perform, prepare};

fn exchange(transport: Transport, message: u64) -> (u64, Requested) {
    let message = Bytes::new(message);
    let (responded, requested) = perform(
        |_| Activity::Respond(Respond { on: HERE, transport, token: TOKEN, message }),
        |to| {
            let duration = Span::from_milliseconds(100);
            Activity::Request(Request {
                to,
                transport,
                token: TOKEN,
                message,
                duration,
                every: None,
            })
        },
    );
    let Outcome::Responded { answers } = responded.expect("performed").outcome else {
        panic!("not a responder")
    };
    (answers, outcome!(requested, Requested))
}

#[test]
fn every_request_is_answered_once_on_all_transports() {
    for (transport, message) in [
        (Transport::Tcp, 1),
        (Transport::Tcp, 100),
        (Transport::Tcp, 300_000),
        (Transport::TcpConnect, 1),
        (Transport::TcpConnect, 16),
        (Transport::TcpConnect, 300_000),
        (Transport::Udp, 32),
        (Transport::Udp, 100),
        (Transport::Udp, 8000),
    ] {
        let (answers, requested) = exchange(transport, message);
        assert!(requested.requests > 10, "{transport:?} {message}: {requested:?}");
        assert_eq!(requested.requests, requested.answers + requested.lost + requested.wrong);
        assert_eq!(
            (requested.wrong, requested.lost, requested.late),
            (0, 0, 0),
            "{transport:?} {message}"
        );
        assert_eq!(
            (answers, requested.round_trip.count()),
            (requested.requests, requested.answers)
        );
        assert!(requested.round_trip.quantile(0.5).unwrap() > 1000);
    }
}

/// One at a time, and no more than one in 20 ms.
#[test]
fn requests_keep_their_distance() {
    for transport in [Transport::Tcp, Transport::TcpConnect, Transport::Udp] {
        let message = Bytes::new(100);
        let (_, requested) = perform(
            |_| Activity::Respond(Respond { on: HERE, transport, token: TOKEN, message }),
            |to| {
                let (duration, every) =
                    (Span::from_milliseconds(200), Some(Span::from_milliseconds(20)));
                Activity::Request(Request { to, transport, token: TOKEN, message, duration, every })
            },
        );
        let requested = outcome!(requested, Requested);
        assert!((2..=10).contains(&requested.requests), "{transport:?}: {requested:?}");
    }
}

#[test]
fn a_udp_request_without_room_for_its_header_is_refused() {
    let part =
        Respond { on: HERE, transport: Transport::Udp, token: TOKEN, message: Bytes::new(31) };
    let error = crate::prepare(&order(Activity::Respond(part)), &Callers::any())
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("from 32 B"), "{error}");
}

#[test]
fn a_responder_ends_in_order_when_told() {
    for transport in [Transport::Tcp, Transport::TcpConnect, Transport::Udp] {
        let part = Respond { on: HERE, transport, token: TOKEN, message: Bytes::new(100) };
        let responder = prepare(&order(Activity::Respond(part)));
        let began = Instant::now();
        let report = responder.perform(&AtomicBool::new(true)).expect("stopped is in order");
        assert_eq!(report.outcome, Outcome::Responded { answers: 0 });
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}

/// A stranger's connections get no answer and are not counted.
#[test]
fn connections_of_strangers_do_not_count() {
    let (transport, message) = (Transport::TcpConnect, Bytes::new(16));
    let respond = Respond { on: HERE, transport, token: TOKEN, message };
    let responder = prepare(&order(Activity::Respond(respond)));
    let to = responder.endpoint().expect("it listens");
    let duration = Span::from_milliseconds(100);
    let ask = Request { to, transport, token: TOKEN, message, duration, every: None };
    let asking = prepare(&order(Activity::Request(ask)));
    let ending = Arc::new(AtomicBool::new(false));
    let (seen, stranger) = (Arc::clone(&ending), move || {
        let mut others = Vec::new();
        while !ending.load(Ordering::Relaxed) {
            // In the end the responder listens no more.
            let Ok(mut other) = TcpStream::connect(to) else { break };
            if other.write_all(b"another token 16").is_ok() {
                others.push(other);
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    let stranger = thread::spawn(stranger);
    let serving = thread::spawn(move || responder.perform(&NEVER));
    let requested = outcome!(asking.perform(&NEVER), Requested);
    seen.store(true, Ordering::Relaxed);
    stranger.join().expect("no panic");
    let answered = serving.join().expect("no panic").expect("performed").outcome;
    assert_eq!(answered, Outcome::Responded { answers: requested.requests });
    assert!(requested.requests > 10 && requested.lost == 0, "{requested:?}");
}
