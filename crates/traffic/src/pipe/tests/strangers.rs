//! Tests of admitted peers, refused peers, and invalid messages.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use btu_contract::activity::{Activity, Order, PipeEnd, PipeMeeting, Rendezvous};
use btu_contract::peers::{Callers, Peers};
use btu_contract::pipe::{End, Engine, Kind, Pattern, PipePlan};
use btu_units::Span;

use super::{HERE, NEVER, order, pair, plan, prepare};
use crate::error::TrafficError;

#[test]
fn what_a_transport_does_not_know_is_refused_by_name() {
    let refusal = |plan: &PipePlan| pair(plan).err().expect("refused");
    let mut nagle = plan(Kind::Udp, Pattern::PingPong, "1");
    nagle.socket.no_delay = Some(true);
    assert!(refusal(&nagle).contains("UDP does not know Nagle's algorithm"));
    assert!(refusal(&plan(Kind::Http2, Pattern::Streaming, "1")).contains("ping-pong"));
    if cfg!(not(feature = "mpi")) {
        assert!(
            refusal(&plan(Kind::Mpi, Pattern::PingPong, "1"))
                .contains("cargo build --release --features mpi")
        );
    }
    let mut engine = plan(Kind::Quic, Pattern::PingPong, "1");
    engine.socket.engine = Engine::IoUring;
    assert!(refusal(&engine).contains("QUIC does not know io_uring"));
    assert!(
        refusal(&PipePlan { pairs: 65, ..plan(Kind::Tcp, Pattern::PingPong, "1") })
            .contains("1 to 64")
    );
}

#[test]
fn without_the_token_nobody_gets_in() {
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2] {
        strangers_are_sent_away(kind);
    }
}

fn strangers_are_sent_away(kind: Kind) {
    let plan = plan(kind, Pattern::PingPong, "1");
    let far =
        prepare(End::Far, PipeMeeting::Network(Rendezvous::Listen(HERE)), &plan).expect("listens");
    let to: SocketAddr = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut stranger = TcpStream::connect(to).expect("connects");
    std::io::Write::write_all(&mut stranger, b"sixteen byte kez").expect("said");
    assert_eq!(std::io::Read::read(&mut stranger, &mut [0; 1]).ok().unwrap_or(0), 0);
    let near =
        prepare(End::Near, PipeMeeting::Network(Rendezvous::Connect(to)), &plan).expect("connects");
    near.perform(&NEVER).expect("measured");
    far.join().expect("no panic").expect("in order");
}

/// Every network transport checks the caller before it answers.
#[test]
fn who_may_not_call_is_not_answered() {
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2, Kind::Udp, Kind::Quic] {
        let plan = plan(kind, Pattern::PingPong, "1");
        let here = PipeMeeting::Network(Rendezvous::Listen(HERE));
        let hasty =
            Order { deadline: Span::from_milliseconds(400), ..order(End::Far, here, &plan) };
        let peers = Peers::within(vec!["192.0.2.0/24".parse().expect("a network")]);
        let far = crate::prepare(&hasty, &Callers::only(peers, |_, _| ()))
            .expect("listens")
            .expect("is traffic");
        let to = far.endpoint().expect("it listens");
        let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
        let meeting = PipeMeeting::Network(Rendezvous::Connect(to));
        let caller =
            Order { deadline: Span::from_milliseconds(300), ..order(End::Near, meeting, &plan) };
        let near = crate::prepare(&caller, &Callers::any()).and_then(|near| {
            let near = near.expect("is traffic").perform(&NEVER);
            near.map_err(|_| TrafficError::Order { activity: "pipe", what: "sent away".to_owned() })
        });
        assert!(near.is_err(), "{kind}: a stranger was let in");
        assert!(far.join().expect("no panic").is_err(), "{kind}");
    }
}

/// A caller that has not proved its address gets fewer octets than it sent, and nothing else before
/// it has.
#[test]
fn quic_asks_who_has_not_proved_its_address_to_try_again() {
    let plan = plan(Kind::Quic, Pattern::PingPong, "1");
    let here = PipeMeeting::Network(Rendezvous::Listen(HERE));
    let hasty = Order { deadline: Span::from_milliseconds(600), ..order(End::Far, here, &plan) };
    let far = crate::prepare(&hasty, &Callers::any()).expect("listens").expect("is traffic");
    let to = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).is_err());
    // The first packet of a real caller, from an address that is not its own.
    let tap = UdpSocket::bind((HERE, 0)).expect("a socket");
    tap.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    let calls = PipeMeeting::Network(Rendezvous::Connect(tap.local_addr().expect("bound")));
    let caller = Order { deadline: Span::from_milliseconds(300), ..order(End::Near, calls, &plan) };
    let near = thread::spawn(move || {
        drop(
            crate::prepare(&caller, &Callers::any())
                .expect("set up")
                .map(|near| near.perform(&NEVER)),
        );
    });
    let mut initial = [0; 2000];
    let length = tap.recv(&mut initial).expect("an Initial packet");
    assert!(length >= 1200, "RFC 9000, section 14.1: {length}");
    let forged = UdpSocket::bind(("127.0.0.7", 0)).expect("a socket");
    forged.send_to(&initial[..length], to).expect("sent");
    assert!(far.join().expect("no panic"), "nobody came in");
    near.join().expect("no panic");
    forged.set_nonblocking(true).expect("set");
    let mut room = [0; 2000];
    let heard: Vec<_> =
        std::iter::from_fn(|| forged.recv(&mut room).ok().map(|length| (length, room[0])))
            .collect();
    let octets: usize = heard.iter().map(|(length, _)| length).sum();
    assert!(octets <= length, "{heard:?}");
    // A long header of type Retry (RFC 9000, section 17.2.5).
    assert!(heard.iter().all(|(_, first)| first & 0xf0 == 0xf0) && heard.len() == 1, "{heard:?}");
}

#[test]
fn what_is_no_protocol_ends_the_far_end() {
    // A caller with the token may still send invalid messages; TLS reads them before the token's
    // other half.
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2] {
        let plan = plan(kind, Pattern::PingPong, "1");
        let far = prepare(End::Far, PipeMeeting::Network(Rendezvous::Listen(HERE)), &plan)
            .expect("listens");
        let mut peer = TcpStream::connect(far.endpoint().expect("it listens")).expect("connects");
        let opening: &[u8] =
            if kind == Kind::Tls { b"sixteen btu--tls" } else { b"sixteen byte key" };
        let nonsense: Vec<u8> = (0..4096u32).map(|n| (n * 7 % 251) as u8).collect();
        std::io::Write::write_all(&mut peer, &[opening, &nonsense].concat()).expect("said");
        let error = far.perform(&NEVER).err().unwrap_or_else(|| panic!("{kind} takes nonsense"));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn quic_takes_no_stranger_and_no_wrong_token() {
    let plan = plan(Kind::Quic, Pattern::PingPong, "1");
    let far =
        prepare(End::Far, PipeMeeting::Network(Rendezvous::Listen(HERE)), &plan).expect("listens");
    let to = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let stranger = UdpSocket::bind((HERE, 0)).expect("a socket");
    for length in [1, 20, 1200] {
        stranger.send_to(&vec![0xc3; length], to).expect("sent");
    }
    let part = PipeEnd {
        end: End::Near,
        meeting: PipeMeeting::Network(Rendezvous::Connect(to)),
        token: *b"sixteen byte kez",
        plan: plan.clone(),
        turns: false,
    };
    let order = Order::new(9, Span::from_seconds(20), Activity::Pipe(Box::new(part)));
    let wrong = crate::prepare(&order, &Callers::any())
        .expect("is set up")
        .expect("is traffic")
        .perform(&NEVER);
    assert!(wrong.is_err());
    let near = prepare(End::Near, PipeMeeting::Network(Rendezvous::Connect(to)), &plan)
        .expect("is set up");
    near.perform(&NEVER).expect("measured");
    far.join().expect("no panic").expect("in order");
}

#[test]
fn a_meeting_of_the_wrong_sort_is_refused() {
    let plan = plan(Kind::Tcp, Pattern::PingPong, "1");
    let error = prepare(End::Far, PipeMeeting::ListenAt(PathBuf::from("/nowhere")), &plan)
        .err()
        .expect("refused");
    assert!(error.contains("meet at an address"), "{error}");
}
