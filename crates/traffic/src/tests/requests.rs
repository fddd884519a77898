//! Request and response between our own two ends.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_contract::activity::{Activity, OpenLoop, Request, Respond, Transport};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Requested};
use btu_units::{Bytes, Span};

use crate::udp::{DatagramKind, Header};

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
                open_loop: None,
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
    let conditions = Conditions::begin();
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
        judge!(conditions, requested.requests > 10, "{transport:?} {message}: {requested:?}");
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

/// Requests at random moments over all transports: every one is answered, and the number of requests
/// is that of moments, unless connections take longer than the time between two of them.
#[test]
fn requests_leave_at_random_moments() {
    for transport in [Transport::Tcp, Transport::TcpConnect, Transport::Udp] {
        let message = Bytes::new(100);
        let (duration, open_loop) =
            (Span::from_milliseconds(500), OpenLoop::every(Span::from_milliseconds(5)));
        let (_, requested) = perform(
            |_| Activity::Respond(Respond { on: HERE, transport, token: TOKEN, message }),
            |to| {
                let open_loop = Some(open_loop);
                Activity::Request(Request {
                    to,
                    transport,
                    token: TOKEN,
                    message,
                    duration,
                    open_loop,
                })
            },
        );
        let requested = outcome!(requested, Requested);
        let moments = open_loop.moments(42).take_while(|moment| *moment < duration).count();
        assert!((1..=moments as u64).contains(&requested.requests), "{transport:?}: {requested:?}");
        assert_eq!((requested.lost, requested.wrong, requested.late), (0, 0, 0), "{transport:?}");
        assert_eq!(requested.answers, requested.requests);
        assert_eq!(requested.round_trip.count(), requested.answers);
    }
}

/// A peer that holds each answer back for 300 ms: requests leave without waiting for it, and each
/// has its own time. Of six one is never answered.
#[test]
fn requests_do_not_wait_for_answers() {
    let conditions = Conditions::begin();
    let responder = UdpSocket::bind((HERE, 0)).unwrap();
    let to = responder.local_addr().unwrap();
    responder.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let thread = thread::spawn(move || {
        let (mut room, mut held) = ([0; 200], VecDeque::new());
        loop {
            if let Ok((length, peer)) = responder.recv_from(&mut room) {
                let (header, _) = Header::decode(&room[..length]).expect("only ours comes here");
                let mut answer = room[..length].to_vec();
                let (kind, wait) = match header.kind {
                    DatagramKind::Hello => (DatagramKind::Welcome, 0),
                    DatagramKind::Farewell => (DatagramKind::Goodbye, 0),
                    _ if header.number % 6 == 5 => continue,
                    _ => (DatagramKind::Answer, 300),
                };
                answer[4] = kind as u8;
                held.push_back((Instant::now() + Duration::from_millis(wait), answer, peer, kind));
            }
            held.make_contiguous().sort_by_key(|(due, ..)| *due);
            while held.front().is_some_and(|(due, ..)| *due <= Instant::now()) {
                let (_, answer, peer, kind) = held.pop_front().expect("one is due");
                responder.send_to(&answer, peer).unwrap();
                if kind == DatagramKind::Goodbye {
                    return;
                }
            }
        }
    });
    let (message, duration) = (Bytes::new(100), Span::from_milliseconds(600));
    let open_loop = Some(OpenLoop::every(Span::from_milliseconds(10)));
    let part =
        Request { to, transport: Transport::Udp, token: TOKEN, message, duration, open_loop };
    let requested = outcome!(prepare(&order(Activity::Request(part))).perform(&NEVER), Requested);
    thread.join().unwrap();
    // One at a time would be two requests in this time.
    judge!(
        conditions,
        requested.requests > 20 && requested.lost == requested.requests / 6,
        "{requested:?}"
    );
    assert_eq!(requested.requests, requested.answers + requested.lost);
    // A bucket of the histogram begins up to 0.1 % below its values.
    let shortest = requested.round_trip.min().unwrap();
    assert!(shortest >= 299_700_000, "{shortest}");
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
        let (began, conditions) = (Instant::now(), Conditions::begin());
        let report = responder.perform(&AtomicBool::new(true)).expect("stopped is in order");
        assert_eq!(report.outcome, Outcome::Responded { answers: 0 });
        let took = began.elapsed();
        judge!(conditions, took < Duration::from_secs(1), "{took:?}");
    }
}

/// A stranger's connections get no answer and are not counted.
#[test]
fn connections_of_strangers_do_not_count() {
    let conditions = Conditions::begin();
    let (transport, message) = (Transport::TcpConnect, Bytes::new(16));
    let respond = Respond { on: HERE, transport, token: TOKEN, message };
    let responder = prepare(&order(Activity::Respond(respond)));
    let to = responder.endpoint().expect("it listens");
    let duration = Span::from_milliseconds(100);
    let ask = Request { to, transport, token: TOKEN, message, duration, open_loop: None };
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
    judge!(conditions, requested.requests > 10 && requested.lost == 0, "{requested:?}");
}
