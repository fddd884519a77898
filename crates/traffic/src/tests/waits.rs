//! What the kernel says that a connection waits for (`TCP_INFO`): where the time of a flow went is divided by it.

use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_units::Span;
use socket2::SockRef;

use super::{HERE, NEVER};
use crate::clock::{Limit, now};
use crate::flow::Flow;

const WRITE: usize = 64 * 1024;

/// What a writer, and then its reader, do for 128 writes: each write after `pause`, and `rest` after 64 KiB that were read.
#[derive(Clone, Copy)]
struct Part {
    pause: Duration,
    rest: Duration,
}

const PAUSES: Part = Part { pause: Duration::from_millis(2), rest: Duration::ZERO };
const SLEEPS: Part = Part { pause: Duration::ZERO, rest: Duration::from_millis(5) };

/// Writes of a part.
const WRITES: usize = 128;

/// Shares of the time of all parts, to a reader with a small buffer: nothing to send, and the receiver's window shut; and what
/// each part took of the time.
fn shares(parts: &'static [Part]) -> ([f64; 2], Vec<f64>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    SockRef::from(&listener).set_recv_buffer_size(WRITE).unwrap();
    let peer = listener.local_addr().unwrap();
    let reader = thread::spawn(move || {
        let (mut stream, mut room) = (listener.accept().unwrap().0, vec![0; WRITE]);
        for part in parts.iter().flat_map(|part| std::iter::repeat_n(part, WRITES)) {
            stream.read_exact(&mut room).unwrap();
            thread::sleep(part.rest);
        }
    });
    let limit = Limit::new(now(), Span::from_seconds(20), &NEVER);
    let flow = Flow::open(peer, Span::from_seconds(20)).unwrap();
    let (began, octets) = (Instant::now(), vec![0; WRITE]);
    let mut took = Vec::new();
    for part in parts {
        let before = Instant::now();
        for _ in 0..WRITES {
            thread::sleep(part.pause);
            flow.write(&octets, &limit, "send").unwrap();
        }
        took.push(before.elapsed().as_micros() as f64);
    }
    let (whole, tcp) = (began.elapsed().as_micros() as f64, flow.info().unwrap());
    drop(flow);
    reader.join().unwrap();
    let took = took.into_iter().map(|took| took / whole).collect();
    ([1.0 - tcp.busy_us as f64 / whole, tcp.receiver_limited_us as f64 / whole], took)
}

/// 128 pauses of 2 ms are at least a quarter of a second, and a write over loopback takes some 0.05 ms.
#[test]
fn a_sender_that_pauses_has_nothing_to_send() {
    let conditions = Conditions::begin();
    let ([nothing, window], _) = shares(&[PAUSES]);
    judge!(conditions, nothing > 0.8 && window < 0.1, "{nothing}, {window}");
}

/// The window is shut while a receiver sleeps, and opens for less than a tick of the kernel when it reads.
#[test]
fn a_receiver_that_sleeps_shuts_its_window() {
    let conditions = Conditions::begin();
    let ([nothing, window], _) = shares(&[SLEEPS]);
    judge!(conditions, window > 0.8 && nothing < 0.1, "{nothing}, {window}");
}

/// Each cause has the time of its part of the flow, less at most the fifth that the tests above allow.
#[test]
fn two_causes_in_one_flow_are_both_found() {
    let conditions = Conditions::begin();
    let ([nothing, window], took) = shares(&[PAUSES, SLEEPS]);
    for (share, part) in [(nothing, took[0]), (window, took[1])] {
        judge!(
            conditions,
            share > 0.8 * part && share < part + 0.1,
            "{nothing}, {window} of {took:?}"
        );
    }
    assert!(nothing + window <= 1.0, "{nothing}, {window}");
}
