//! Who is let in, what is refused, and nonsense.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::thread;

use btu_suite::activity::{Activity, Meeting, Order, PipeEnd, PipeMeeting};
use btu_suite::pipe::{End, Engine, Kind, Pattern, PipePlan};
use btu_units::Span;

use super::{HERE, NEVER, pair, plan, prepare};

#[test]
fn what_a_transport_does_not_know_is_refused_by_name() {
    let refusal = |plan: &PipePlan| pair(plan).err().expect("refused");
    let mut nagle = plan(Kind::Udp, Pattern::PingPong, "1");
    nagle.socket.no_delay = Some(true);
    assert!(refusal(&nagle).contains("UDP does not know Nagle's algorithm"));
    assert!(refusal(&plan(Kind::Http2, Pattern::Streaming, "1")).contains("ping-pong"));
    if cfg!(not(feature = "mpi")) {
        assert!(refusal(&plan(Kind::Mpi, Pattern::PingPong, "1")).contains("cargo build --release --features mpi"));
    }
    let mut engine = plan(Kind::Quic, Pattern::PingPong, "1");
    engine.socket.engine = Engine::IoUring;
    assert!(refusal(&engine).contains("QUIC does not know io_uring"));
    assert!(refusal(&PipePlan { pairs: 65, ..plan(Kind::Tcp, Pattern::PingPong, "1") }).contains("1 to 64"));
}

#[test]
fn without_the_token_nobody_gets_in() {
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2] {
        strangers_are_sent_away(kind);
    }
}

fn strangers_are_sent_away(kind: Kind) {
    let plan = plan(kind, Pattern::PingPong, "1");
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
    let to: SocketAddr = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let mut stranger = TcpStream::connect(to).expect("connects");
    std::io::Write::write_all(&mut stranger, b"sixteen byte kez").expect("said");
    assert_eq!(std::io::Read::read(&mut stranger, &mut [0; 1]).ok().unwrap_or(0), 0);
    let near = prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), &plan).expect("connects");
    near.perform(&NEVER).expect("measured");
    far.join().expect("no panic").expect("in order");
}

#[test]
fn what_is_no_protocol_ends_the_far_end() {
    // Who knows the token may still speak nonsense; TLS hears it before the token's other half.
    for kind in [Kind::Tcp, Kind::Tls, Kind::Http2] {
        let plan = plan(kind, Pattern::PingPong, "1");
        let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
        let mut peer = TcpStream::connect(far.endpoint().expect("it listens")).expect("connects");
        let opening: &[u8] = if kind == Kind::Tls { b"sixteen btu--tls" } else { b"sixteen byte key" };
        let nonsense: Vec<u8> = (0..4096u32).map(|n| (n * 7 % 251) as u8).collect();
        std::io::Write::write_all(&mut peer, &[opening, &nonsense].concat()).expect("said");
        let error = far.perform(&NEVER).err().unwrap_or_else(|| panic!("{kind} takes nonsense"));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn quic_takes_no_stranger_and_no_wrong_token() {
    let plan = plan(Kind::Quic, Pattern::PingPong, "1");
    let far = prepare(End::Far, PipeMeeting::Network(Meeting::Listen(HERE)), &plan).expect("listens");
    let to = far.endpoint().expect("it listens");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let stranger = UdpSocket::bind((HERE, 0)).expect("a socket");
    for length in [1, 20, 1200] {
        stranger.send_to(&vec![0xc3; length], to).expect("sent");
    }
    let part = PipeEnd {
        end: End::Near,
        meeting: PipeMeeting::Network(Meeting::Connect(to)),
        token: *b"sixteen byte kez",
        plan: plan.clone(),
        turns: false,
    };
    let order = Order { seed: 9, deadline: Span::from_seconds(20), activity: Activity::Pipe(Box::new(part)) };
    let wrong = crate::prepare(&order).expect("is set up").expect("is traffic").perform(&NEVER);
    assert!(wrong.is_err());
    let near = prepare(End::Near, PipeMeeting::Network(Meeting::Connect(to)), &plan).expect("is set up");
    near.perform(&NEVER).expect("measured");
    far.join().expect("no panic").expect("in order");
}

#[test]
fn a_meeting_of_the_wrong_sort_is_refused() {
    let plan = plan(Kind::Tcp, Pattern::PingPong, "1");
    let error = prepare(End::Far, PipeMeeting::ListenAt(PathBuf::from("/nowhere")), &plan).err().expect("refused");
    assert!(error.contains("meet at an address"), "{error}");
}
