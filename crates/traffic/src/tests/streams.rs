//! Bulk TCP streams between our own two ends.

use std::io::{Read, Write};
use std::net::TcpListener;

use btu_conditions::{Conditions, judge};
use btu_contract::activity::{Activity, Receiving, Rendezvous, TcpReceive, TcpSend, Work};
use btu_contract::peers::Callers;
use btu_contract::record::{Received, Sent};
use btu_units::{Bytes, Span};

use super::{TOKEN, order, outcome, perform, prepare};

fn sender(meeting: Rendezvous, message: u64, work: Work, window: Option<Bytes>) -> Activity {
    Activity::TcpSend(TcpSend {
        meeting,
        token: TOKEN,
        message: Bytes::new(message),
        work,
        window,
        unsent: None,
    })
}

fn receiver(meeting: Rendezvous, message: u64, window: Option<Bytes>) -> Activity {
    reads(meeting, message, window, (None, Receiving::Plain))
}

/// A receiver that knows the volume or does not, and reads plainly or in batches.
fn reads(
    meeting: Rendezvous,
    message: u64,
    window: Option<Bytes>,
    (volume, receiving): (Option<Bytes>, Receiving),
) -> Activity {
    Activity::TcpReceive(TcpReceive {
        meeting,
        token: TOKEN,
        message: Bytes::new(message),
        window,
        volume,
        receiving,
    })
}

fn stream(message: u64, work: Work, window: Option<Bytes>) -> (Sent, Received) {
    let (received, sent) = perform(
        |meeting| receiver(meeting, message, window),
        |peer| sender(Rendezvous::Connect(peer), message, work, window),
    );
    (outcome!(sent, Sent), outcome!(received, Received))
}

#[test]
fn the_accounts_balance_at_every_message_size() {
    for message in [1, 100, 1024, 1250, 4096, 65_536, 1_000_000] {
        let total = 1_234_567.min(message * 20_001 / 2);
        let (sent, received) = stream(message, Work::Bytes(Bytes::new(total)), None);
        assert_eq!((sent.bytes.count(), received.bytes.count()), (total, total), "{message}");
        assert_eq!(
            sent.messages,
            total.div_ceil(message),
            "one system call per message of {message}"
        );
        assert!(received.messages >= total.div_ceil(message));
        assert!(received.samples_checked >= 1);
        assert_eq!(received.samples_wrong, 0);
        assert!(received.first_byte <= received.last_byte && received.last_byte > Span::ZERO);
        assert_eq!(received.progress.last(), Some(&(received.last_byte.nanoseconds(), total)));
        // The token of the caller and the one of the receiver are the only bytes in addition to the
        // stream.
        assert_eq!(sent.tcp.bytes_sent - sent.tcp.bytes_retransmitted, total + 16);
        assert!(received.tcp.bytes_received >= total + 16);
    }
}

/// A call waits for its whole message. One that brings less has waited for 10 ms, or 5 where timers
/// are coarse, and the last finds the end.
#[test]
fn one_call_brings_one_message() {
    let (sent, received) = stream(65_536, Work::Bytes(Bytes::new(64 << 20)), None);
    assert_eq!(sent.messages, 1024);
    let waits = received.last_byte.nanoseconds() / 5_000_000;
    assert!(
        received.messages <= 1024 + 1 + waits,
        "{} in {}",
        received.messages,
        received.last_byte
    );
}

/// A plain receiver calls once for each message, and once more for the end; one that reads in
/// batches calls at least as often.
#[test]
fn both_ways_of_reading_get_the_same() {
    let total = Bytes::new(1_000_000);
    for how in
        [(Some(total), Receiving::Plain), (None, Receiving::Plain), (None, Receiving::Batched)]
    {
        let (received, sent) = perform(
            |meeting| reads(meeting, 100, None, how),
            |peer| sender(Rendezvous::Connect(peer), 100, Work::Bytes(total), None),
        );
        let (sent, received) = (outcome!(sent, Sent), outcome!(received, Received));
        assert_eq!((sent.bytes, received.bytes), (total, total), "{how:?}");
        assert!(received.messages >= 10_000, "{how:?}: {}", received.messages);
        assert_eq!(
            received.progress.last(),
            Some(&(received.last_byte.nanoseconds(), total.count())),
            "{how:?}"
        );
        assert!(received.samples_checked >= 1, "{how:?}");
    }
}

/// The sender of ten messages closes half a second after the last one. All of them are there at
/// once, so a time below a quarter of a second can only be that of the last byte.
#[test]
fn the_time_of_the_last_byte_is_not_that_of_the_end() {
    let conditions = Conditions::begin();
    let total = Bytes::new(10_000);
    for how in
        [(Some(total), Receiving::Plain), (None, Receiving::Plain), (None, Receiving::Batched)]
    {
        let listener = TcpListener::bind((super::HERE, 0)).unwrap();
        let meeting = Rendezvous::Connect(listener.local_addr().unwrap());
        let performance = prepare(&order(reads(meeting, 1000, None, how)));
        let peer = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut tokens = [0; 32];
            stream.read_exact(&mut tokens).unwrap();
            stream.write_all(&[0; 10_000]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(500));
        });
        let received = outcome!(performance.perform(&super::NEVER), Received);
        peer.join().unwrap();
        assert_eq!(received.bytes, total);
        judge!(
            conditions,
            received.last_byte < Span::from_milliseconds(250),
            "{how:?}: {}",
            received.last_byte
        );
    }
}

#[test]
fn data_flows_to_the_caller_too() {
    let work = Work::Bytes(Bytes::new(1_000_001));
    let (sent, received) = perform(
        |meeting| sender(meeting, 100, work, None),
        |peer| receiver(Rendezvous::Connect(peer), 100, None),
    );
    assert_eq!(outcome!(sent, Sent).messages, 10_001);
    assert_eq!(outcome!(received, Received).bytes.count(), 1_000_001);
}

#[test]
fn nothing_at_all_can_be_sent() {
    let (sent, received) = stream(100, Work::Bytes(Bytes::ZERO), None);
    assert_eq!((sent.messages, received.messages, received.bytes), (0, 0, Bytes::ZERO));
}

#[test]
fn work_by_time_ends_with_its_time() {
    let conditions = Conditions::begin();
    let span = Span::from_milliseconds(300);
    for message in [100, 65_536] {
        let (sent, received) = stream(message, Work::For(span), None);
        assert_eq!(sent.bytes, received.bytes);
        assert_eq!(
            sent.bytes.count() % message,
            0,
            "only a fixed volume ends with a short message"
        );
        // From the receiver's start to its last byte: a little before the sender's start, a little
        // after its end.
        let last = received.last_byte;
        let bounds = Span::from_milliseconds(250)..=Span::from_milliseconds(1300);
        judge!(conditions, bounds.contains(&last), "{last}");
        judge!(conditions, received.progress.len() > 10, "{:?}", received.progress);
    }
}

#[test]
fn a_window_is_never_exceeded() {
    let window = Bytes::new(4096);
    let (sent, received) = stream(1024, Work::Bytes(Bytes::new(300_000)), Some(window));
    assert_eq!(received.bytes.count(), 300_000);
    assert!(u64::from(sent.tcp.peer_window_bytes) <= window.count(), "{:?}", sent.tcp);
    let (free, _) = stream(1024, Work::Bytes(Bytes::new(300_000)), None);
    assert!(u64::from(free.tcp.peer_window_bytes) > window.count());
}

#[test]
fn another_seed_is_seen_in_the_samples() {
    let listener = prepare(&order(receiver(Rendezvous::Listen(super::HERE), 4096, None)));
    let peer = listener.endpoint().unwrap();
    let mut other =
        order(sender(Rendezvous::Connect(peer), 4096, Work::Bytes(Bytes::new(1 << 20)), None));
    other.seed += 1;
    let caller = prepare(&other);
    let thread = std::thread::spawn(move || listener.perform(&super::NEVER));
    caller.perform(&super::NEVER).unwrap();
    let received = outcome!(thread.join().unwrap(), Received);
    assert_eq!(received.samples_wrong, received.samples_checked);
    assert!(received.samples_wrong >= 10);
}

#[test]
fn cpu_time_is_the_performers_own() {
    let conditions = Conditions::begin();
    let (received, sent) = perform(
        |meeting| receiver(meeting, 100, None),
        |peer| {
            sender(Rendezvous::Connect(peer), 100, Work::For(Span::from_milliseconds(300)), None)
        },
    );
    let (received, sent) = (received.unwrap(), sent.unwrap());
    let total = |report: &btu_contract::record::Report| report.cpu.user + report.cpu.system;
    judge!(conditions, total(&sent) > Span::from_milliseconds(20), "{:?}", sent.cpu);
    assert!(total(&sent) <= sent.duration() + Span::from_milliseconds(20));
    assert!(total(&received) <= received.duration() + Span::from_milliseconds(20));
}

#[test]
fn sizes_that_cannot_be_are_refused_before_anything_starts() {
    for message in [0, 1 << 40] {
        let activity = receiver(Rendezvous::Listen(super::HERE), message, None);
        let error =
            crate::prepare(&order(activity), &Callers::any()).err().expect("refused").to_string();
        assert!(error.contains("choose a size"), "{error}");
    }
    let activity = receiver(Rendezvous::Listen(super::HERE), 100, Some(Bytes::new(1 << 40)));
    assert!(
        crate::prepare(&order(activity), &Callers::any())
            .err()
            .expect("refused")
            .to_string()
            .contains("window")
    );
    assert!(crate::prepare(&order(Activity::Null), &Callers::any()).unwrap().is_none());
}

#[test]
fn the_end_of_a_stream_ends_the_rest() {
    let conditions = Conditions::begin();
    // Ten streams of one small message each: a receiver that slept on would need 4 ms more than the
    // data's way.
    let best = (0..10)
        .map(|_| stream(100, Work::Bytes(Bytes::new(100)), None).1)
        .map(|received| received.last_byte)
        .min();
    judge!(conditions, best < Some(Span::from_milliseconds(3)), "{best:?}");
}
