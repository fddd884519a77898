//! The loops of TCP streams.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::counters::{Count, Counters};
use crate::pace::Pace;

/// The largest read: a client chooses the length of writes, not this server's memory.
const MOST_READ: usize = 128 << 10;
const LEAST_READ: usize = 4 << 10;

/// Reads until `stop`, or the peer closes the stream.
pub(crate) fn receive(
    mut socket: &TcpStream,
    length: usize,
    counters: &Counters,
    start: Instant,
    stop: &AtomicBool,
) {
    let mut buffer = vec![0; length.clamp(LEAST_READ, MOST_READ)];
    let mut count = Count::default();
    while !stop.load(Ordering::Relaxed) {
        match socket.read(&mut buffer) {
            Ok(0) => return,
            Ok(octets) => {
                count.bytes += octets as u64;
                count.last = start.elapsed();
                counters.publish(&count);
            }
            Err(error) if may_go_on(error.kind()) => {}
            Err(_) => return,
        }
    }
}

/// Writes `payload` until `stop`, or the peer closes the stream.
pub(crate) fn send(
    mut socket: &TcpStream,
    payload: &[u8],
    mut pace: Pace,
    counters: &Counters,
    start: Instant,
    stop: &AtomicBool,
) {
    let mut count = Count::default();
    while !stop.load(Ordering::Relaxed) {
        if !pace.is_due() {
            continue;
        }
        match socket.write(payload) {
            Ok(octets) => {
                pace.sent(octets);
                count.bytes += octets as u64;
                count.last = start.elapsed();
                counters.publish(&count);
            }
            Err(error) if may_go_on(error.kind()) => {}
            Err(_) => return,
        }
    }
}

/// The socket's timeout lets the loop look at `stop`.
fn may_go_on(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
