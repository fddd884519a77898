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

/// Shares of the time of 128 writes, each after `pause`, to a reader with a small buffer that takes 64 KiB after each
/// `rest`: nothing to send, and the receiver's window shut.
fn shares(pause: Duration, rest: Duration) -> [f64; 2] {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    SockRef::from(&listener).set_recv_buffer_size(WRITE).unwrap();
    let peer = listener.local_addr().unwrap();
    let reader = thread::spawn(move || {
        let (mut stream, mut room) = (listener.accept().unwrap().0, vec![0; WRITE]);
        while stream.read_exact(&mut room).is_ok() {
            thread::sleep(rest);
        }
    });
    let limit = Limit::new(now(), Span::from_seconds(20), &NEVER);
    let flow = Flow::open(peer, Span::from_seconds(20)).unwrap();
    let (began, octets) = (Instant::now(), vec![0; WRITE]);
    for _ in 0..128 {
        thread::sleep(pause);
        flow.write(&octets, &limit, "send").unwrap();
    }
    let (whole, tcp) = (began.elapsed().as_micros() as f64, flow.info().unwrap());
    drop(flow);
    reader.join().unwrap();
    [1.0 - tcp.busy_us as f64 / whole, tcp.receiver_limited_us as f64 / whole]
}

/// 128 pauses of 2 ms are at least a quarter of a second, and a write over loopback takes some 0.05 ms.
#[test]
fn a_sender_that_pauses_has_nothing_to_send() {
    let conditions = Conditions::begin();
    let [nothing, window] = shares(Duration::from_millis(2), Duration::ZERO);
    judge!(conditions, nothing > 0.8 && window < 0.1, "{nothing}, {window}");
}

/// The window is shut while a receiver sleeps, and opens for less than a tick of the kernel when it reads.
#[test]
fn a_receiver_that_sleeps_shuts_its_window() {
    let conditions = Conditions::begin();
    let [nothing, window] = shares(Duration::ZERO, Duration::from_millis(5));
    judge!(conditions, window > 0.8 && nothing < 0.1, "{nothing}, {window}");
}
