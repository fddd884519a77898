//! Paced streams between btu's two ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use btu_conditions::{Conditions, judge};
use btu_contract::activity::{Activity, Rendezvous, UdpReceive, UdpSend};
use btu_contract::peers::Callers;
use btu_contract::record::{DatagramsReceived, DatagramsSent};
use btu_units::{BitRate, Bytes, Span};

use crate::udp::{DatagramKind, Header};

use super::{HERE, TOKEN, order, outcome, perform, prepare};

fn sender(meeting: Rendezvous, message: u64, megabits: u64, milliseconds: u64) -> Activity {
    Activity::UdpSend(UdpSend {
        meeting,
        token: TOKEN,
        message: Bytes::new(message),
        offered: BitRate::from_megabits_per_second(megabits),
        duration: Span::from_milliseconds(milliseconds),
        hold: None,
    })
}

fn receiver(meeting: Rendezvous, message: u64, expected_datagrams: u64) -> Activity {
    Activity::UdpReceive(UdpReceive {
        meeting,
        token: TOKEN,
        message: Bytes::new(message),
        expected_datagrams,
        offered: None,
        tells: false,
    })
}

/// The loopback path loses only datagrams without room in the receiver's buffer.
fn assert_complete(sent: &DatagramsSent, received: &DatagramsReceived, message: u64) {
    assert_eq!(received.datagrams + received.buffer_drops, sent.datagrams, "{sent:?} {received:?}");
    assert_eq!((received.duplicates, received.reordered, received.wrong), (0, 0, 0));
    assert_eq!(sent.lateness.count(), sent.datagrams + sent.refused);
    assert_eq!(received.bytes.count(), received.datagrams * message);
    assert!(received.farewell);
}

#[test]
fn a_stream_has_the_rate_that_was_asked_for() {
    let conditions = Conditions::begin();
    // 10 Mb/s in datagrams of 1250 bytes: one each millisecond.
    let (sent, received) = perform(
        |meeting| sender(meeting, 1250, 10, 300),
        |peer| receiver(Rendezvous::Connect(peer), 1250, 300),
    );
    let (sent, received) = (outcome!(sent, DatagramsSent), outcome!(received, DatagramsReceived));
    assert_complete(&sent, &received, 1250);
    assert_eq!(sent.datagrams + sent.refused, 300);
    // The schedule's 300 ms, or until the last had left: never faster than asked.
    assert!(sent.span >= Span::from_milliseconds(300), "{}", sent.span);
    assert!(sent.bits_per_second().unwrap() <= 10e6, "{sent:?}");
    let span = received.span.milliseconds();
    judge!(conditions, (250.0..350.0).contains(&span), "{span} ms instead of 299");
    judge!(conditions, received.progress.len() > 100, "{:?}", received.progress);
}

/// Background is offered for as long as another activity lasts: both ends get a `stop`, and account
/// for all datagrams.
#[test]
fn a_stream_that_is_stopped_ends_in_order_at_both_ends() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let conditions = Conditions::begin();
    let listener = prepare(&order(receiver(Rendezvous::Listen(HERE), 1250, 10_000)));
    let endpoint = listener.endpoint().expect("a listener tells where");
    let caller = prepare(&order(sender(Rendezvous::Connect(endpoint), 1250, 10, 10_000)));
    let [receiving, sending] =
        [listener, caller].map(|end| thread::spawn(move || end.perform(&STOP)));
    thread::sleep(std::time::Duration::from_millis(200));
    STOP.store(true, Ordering::Relaxed);
    let sent = outcome!(sending.join().expect("no panic"), DatagramsSent);
    let received = outcome!(receiving.join().expect("no panic"), DatagramsReceived);
    assert_complete(&sent, &received, 1250);
    judge!(conditions, (50..2000).contains(&sent.datagrams), "{sent:?}");
    let rate = sent.bits_per_second().expect("it says how long");
    judge!(conditions, (rate / 10e6 - 1.0).abs() < 0.05, "{rate} b/s of what was sent until then");
}

#[test]
fn a_fast_stream_of_small_datagrams_is_complete() {
    let (received, sent) = perform(
        |meeting| receiver(meeting, 40, 12_500),
        |peer| sender(Rendezvous::Connect(peer), 40, 40, 100),
    );
    let (sent, received) = (outcome!(sent, DatagramsSent), outcome!(received, DatagramsReceived));
    assert_complete(&sent, &received, 40);
    assert_eq!(sent.datagrams + sent.refused, 12_500);
}

#[test]
fn numbers_beyond_the_expected_are_wrong_and_not_counted() {
    let (sent, received) = perform(
        |meeting| sender(meeting, 1250, 10, 100),
        |peer| receiver(Rendezvous::Connect(peer), 1250, 60),
    );
    let (sent, received) = (outcome!(sent, DatagramsSent), outcome!(received, DatagramsReceived));
    assert_eq!(received.datagrams + received.wrong + received.buffer_drops, sent.datagrams);
    // The receiver of the kernel may have had no room for some of them.
    assert!(received.wrong == 40 || received.buffer_drops + sent.refused > 0, "{received:?}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let listen = Rendezvous::Listen(HERE);
    for (activity, word) in [
        (sender(listen, 39, 10, 100), "from 40 B"),
        (sender(listen, 65_508, 10, 100), "to 65.5 kB"),
        (sender(listen, 1250, 0, 100), "between datagrams"),
        (receiver(listen, 39, 10), "from 40 B"),
        (receiver(listen, 100, u64::MAX), "expected datagrams"),
    ] {
        let error =
            crate::prepare(&order(activity), &Callers::any()).err().expect("refused").to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// Farewells are repeated until one is answered; those that waited in a queue arrive when the
/// sender is gone. They are many here, so that the receiver still answers them when the sender has
/// closed its socket. It may also end before all of them are sent.
#[test]
fn a_farewell_that_comes_late_spoils_nothing() {
    let listener = prepare(&order(receiver(Rendezvous::Listen(HERE), 100, 10)));
    let endpoint = listener.endpoint().unwrap();
    let thread = std::thread::spawn(move || listener.perform(&super::NEVER));
    let peer = super::bad_peers::udp_caller(endpoint);
    let farewell = Header { kind: DatagramKind::Farewell, token: TOKEN, number: 5 }.encode();
    peer.send(&farewell).unwrap();
    let more = (0..5000).take_while(|_| peer.send(&farewell).is_ok()).count();
    println!("{more} more");
    drop(peer);
    let received = outcome!(thread.join().unwrap(), DatagramsReceived);
    assert_eq!((received.datagrams, received.farewell), (0, true));
}

#[test]
fn a_receiver_whose_sender_falls_silent_says_so() {
    let listener = prepare(&order(receiver(Rendezvous::Listen(HERE), 100, 10)));
    let endpoint = listener.endpoint().unwrap();
    let thread = std::thread::spawn(move || listener.perform(&super::NEVER));
    let _peer = super::bad_peers::udp_caller(endpoint);
    let received = outcome!(thread.join().unwrap(), DatagramsReceived);
    assert_eq!((received.datagrams, received.farewell, received.span), (0, false, Span::ZERO));
}

/// A busy sender, or a path that stands still, is quiet for a second.
#[test]
fn a_second_without_a_datagram_ends_no_stream() {
    let conditions = Conditions::begin();
    let listener = prepare(&order(receiver(Rendezvous::Listen(HERE), 100, 10)));
    let endpoint = listener.endpoint().unwrap();
    let receiving = thread::spawn(move || listener.perform(&super::NEVER));
    let peer = super::bad_peers::udp_caller(endpoint);
    thread::sleep(std::time::Duration::from_secs(1));
    let farewell = Header { kind: DatagramKind::Farewell, token: TOKEN, number: 0 }.encode();
    let sent = peer.send(&farewell);
    let received = outcome!(receiving.join().unwrap(), DatagramsReceived);
    judge!(conditions, sent.is_ok() && received.farewell, "{sent:?} {received:?}");
}
