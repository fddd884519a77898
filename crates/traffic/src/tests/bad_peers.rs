//! Peers that are unknown, leave early, stall, or send invalid messages.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_contract::activity::{
    Activity, Receiving, Rendezvous, Request, Respond, TcpReceive, TcpSend, Transport, UdpReceive,
    UdpSend, Work,
};
use btu_contract::peers::Callers;
use btu_contract::record::Outcome;
use btu_units::{BitRate, Bytes, Span};
use proptest::prelude::*;
use socket2::SockRef;

use super::{HERE, NEVER, TOKEN, hasty, order, outcome, prepare};
use crate::udp::{DatagramKind, Header};

fn sends(meeting: Rendezvous, bytes: u64) -> Activity {
    let work = Work::Bytes(Bytes::new(bytes));
    Activity::TcpSend(TcpSend {
        meeting,
        token: TOKEN,
        message: Bytes::new(1000),
        work,
        window: None,
        unsent: None,
    })
}

fn receives(meeting: Rendezvous) -> Activity {
    Activity::TcpReceive(TcpReceive {
        meeting,
        token: TOKEN,
        message: Bytes::new(1000),
        window: None,
        volume: None,
        receiving: Receiving::Plain,
    })
}

fn responds(transport: Transport) -> Activity {
    Activity::Respond(Respond { on: HERE, transport, token: TOKEN, message: Bytes::new(100) })
}

fn word(kind: DatagramKind, number: u64) -> [u8; 32] {
    Header { kind, token: TOKEN, number }.encode()
}

/// A bare caller of the listener at `endpoint`, which performs: the two have greeted.
pub(super) fn udp_caller(endpoint: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((HERE, 0)).unwrap();
    socket.connect(endpoint).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let ask = |number, wanted| {
        socket.send(&word(DatagramKind::Hello, number)).unwrap();
        let mut room = [0; 2000];
        let length = socket.recv(&mut room).unwrap();
        assert_eq!(length, 32, "as many octets as the greeting has");
        let header = Header::decode(&room[..length]).unwrap().0;
        assert_eq!((header.kind, header.token), (wanted, TOKEN));
        header.number
    };
    let number = ask(0, DatagramKind::Challenge);
    assert_ne!(number, 0);
    ask(number, DatagramKind::Welcome);
    socket
}

/// Performs `activity` against a bare TCP peer that accepts and then runs `peer`.
fn against(
    activity: impl Fn(Rendezvous) -> Activity,
    peer: impl FnOnce(TcpStream) + Send + 'static,
) -> String {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let meeting = Rendezvous::Connect(listener.local_addr().unwrap());
    let performance = prepare(&hasty(activity(meeting)));
    let thread = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut token = [0; 16];
        stream.read_exact(&mut token).unwrap();
        assert_eq!(token, TOKEN, "a caller presents the token first");
        peer(stream);
    });
    let (began, conditions) = (Instant::now(), Conditions::begin());
    let error = performance.perform(&NEVER).expect_err("must fail").to_string();
    let took = began.elapsed();
    judge!(conditions, took < Duration::from_secs(1), "bounded by its deadline: {took:?}");
    thread.join().unwrap();
    error
}

#[test]
fn strangers_are_sent_away_and_hold_nobody_up() {
    let receiver = prepare(&order(receives(Rendezvous::Listen(HERE))));
    let endpoint = receiver.endpoint().unwrap();
    let silent: Vec<_> = (0..8).map(|_| TcpStream::connect(endpoint).unwrap()).collect();
    let mut wrong = TcpStream::connect(endpoint).unwrap();
    wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(TcpStream::connect(endpoint).unwrap());
    let sender = prepare(&order(sends(Rendezvous::Connect(endpoint), 10_000)));
    let thread = thread::spawn(move || receiver.perform(&NEVER));
    let (began, conditions) = (Instant::now(), Conditions::begin());
    assert_eq!(outcome!(sender.perform(&NEVER), Sent).bytes.count(), 10_000);
    let took = began.elapsed();
    judge!(conditions, took < Duration::from_millis(900), "{took:?}");
    assert_eq!(outcome!(thread.join().unwrap(), Received).bytes.count(), 10_000);
    let mut heard = Vec::new();
    // The unknown caller gets no data, whether it is closed in order or reset because it had sent
    // too much.
    assert!(wrong.read_to_end(&mut heard).map_or(true, |length| length == 0));
    drop(silent);
}

#[test]
fn a_listener_nobody_calls_gives_up_with_its_address() {
    for activity in [
        receives(Rendezvous::Listen(HERE)),
        sends(Rendezvous::Listen(HERE), 1),
        responds(Transport::Tcp),
    ] {
        let performance = prepare(&hasty(activity));
        let endpoint = performance.endpoint().unwrap();
        let error = performance.perform(&NEVER).expect_err("nobody comes").to_string();
        assert!(error.contains(&endpoint.to_string()) && error.contains("deadline"), "{error}");
    }
}

#[test]
fn a_caller_without_a_listener_names_it() {
    let endpoint = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap();
    for activity in
        [receives(Rendezvous::Connect(endpoint)), sends(Rendezvous::Connect(endpoint), 1)]
    {
        let error = crate::prepare(&order(activity), &Callers::any())
            .err()
            .expect("nobody listens")
            .to_string();
        assert!(error.contains(&endpoint.to_string()), "{error}");
    }
}

#[test]
fn a_sender_starts_for_the_token_only() {
    let error =
        against(|meeting| sends(meeting, 1000), |mut stream| stream.write_all(&[1; 16]).unwrap());
    assert!(error.contains("token"), "{error}");
    let error = against(|meeting| sends(meeting, 1000), drop);
    assert!(error.contains("before the flow started"), "{error}");
    let error = against(
        |meeting| sends(meeting, 1000),
        |_stream| thread::sleep(Duration::from_millis(600)),
    );
    assert!(error.contains("deadline"), "{error}");
}

#[test]
fn a_receiver_that_stops_reading_stops_the_sender_at_its_deadline() {
    let error = against(
        |meeting| sends(meeting, 1 << 30),
        |mut stream| {
            stream.write_all(&TOKEN).unwrap();
            thread::sleep(Duration::from_millis(600));
        },
    );
    assert!(error.contains("deadline"), "{error}");
}

#[test]
fn a_receiver_that_resets_or_talks_back_is_an_error() {
    let error = against(
        |meeting| sends(meeting, 1 << 30),
        |mut stream| {
            stream.write_all(&TOKEN).unwrap();
            stream.read_exact(&mut [0; 5000]).unwrap();
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        },
    );
    assert!(error.contains("reset") || error.contains("pipe"), "{error}");
    let error = against(
        |meeting| sends(meeting, 1000),
        |mut stream| {
            stream.write_all(&TOKEN).unwrap();
            stream.write_all(b"and another thing").unwrap();
            thread::sleep(Duration::from_millis(100));
        },
    );
    assert!(error.contains("sent data"), "{error}");
}

#[test]
fn a_sender_that_resets_trickles_or_stalls_is_an_error() {
    let error = against(receives, |mut stream| {
        stream.write_all(&[0; 3000]).unwrap();
        thread::sleep(Duration::from_millis(50));
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    });
    assert!(error.contains("reset"), "{error}");
    let error = against(receives, |mut stream| {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(600) && stream.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
    });
    assert!(error.contains("deadline"), "{error}");
    let error = against(receives, |_stream| thread::sleep(Duration::from_millis(600)));
    assert!(error.contains("deadline"), "{error}");
}

#[test]
fn a_responder_bears_half_a_request() {
    let responder = prepare(&order(responds(Transport::Tcp)));
    let mut stream = TcpStream::connect(responder.endpoint().unwrap()).unwrap();
    stream.write_all(&TOKEN).unwrap();
    stream.write_all(&[0; 150]).unwrap();
    let thread =
        thread::spawn(move || responder.perform(&NEVER).map_err(|error| error.to_string()));
    stream.read_exact(&mut [0; 100]).unwrap();
    drop(stream);
    assert!(thread.join().unwrap().expect_err("half a request").contains("middle of a message"));
}

#[test]
fn an_exchange_that_stalls_ends_at_its_deadline_on_both_sides() {
    let to_address = |meeting| match meeting {
        Rendezvous::Connect(to) => {
            let (message, duration) = (Bytes::new(100), Span::from_seconds(9));
            Activity::Request(Request {
                to,
                transport: Transport::Tcp,
                token: TOKEN,
                message,
                duration,
                open_loop: None,
            })
        }
        Rendezvous::Listen(_) => panic!("requesters connect"),
    };
    let error = against(to_address, |_stream| thread::sleep(Duration::from_millis(600)));
    assert!(error.contains("deadline"), "{error}");
    let responder = prepare(&hasty(responds(Transport::Tcp)));
    let mut stream = TcpStream::connect(responder.endpoint().unwrap()).unwrap();
    stream.write_all(&TOKEN).unwrap();
    let error = responder.perform(&NEVER).expect_err("no request comes").to_string();
    assert!(error.contains("deadline"), "{error}");
}

#[test]
fn a_requester_counts_wrong_answers_and_names_who_hung_up() {
    let requests = |to| {
        let duration = Span::from_milliseconds(50);
        let message = Bytes::new(100);
        Activity::Request(Request {
            to,
            transport: Transport::Tcp,
            token: TOKEN,
            message,
            duration,
            open_loop: None,
        })
    };
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let asking = prepare(&order(requests(listener.local_addr().unwrap())));
    let thread = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.read_exact(&mut [0; 16]).unwrap();
        let mut request = [0; 100];
        while stream.read_exact(&mut request).is_ok() {
            request[99] ^= 1;
            stream.write_all(&request).unwrap();
        }
    });
    let requested = outcome!(asking.perform(&NEVER), Requested);
    assert!(requested.requests > 0);
    assert_eq!((requested.wrong, requested.answers), (requested.requests, 0));
    assert_eq!(requested.round_trip.count(), 0);
    thread.join().unwrap();
    let to_address = |meeting| match meeting {
        Rendezvous::Connect(peer) => requests(peer),
        Rendezvous::Listen(_) => panic!("requesters connect"),
    };
    let error = against(to_address, |mut stream| stream.read_exact(&mut [0; 100]).unwrap());
    assert!(error.contains("instead of answering") || error.contains("reset"), "{error}");
}

#[test]
fn a_udp_requester_loses_late_and_wrong_answers_apart() {
    let conditions = Conditions::begin();
    let responder = UdpSocket::bind((HERE, 0)).unwrap();
    responder.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let to = responder.local_addr().unwrap();
    let (message, duration) = (Bytes::new(100), Span::from_milliseconds(250));
    let part =
        Request { to, transport: Transport::Udp, token: TOKEN, message, duration, open_loop: None };
    let asking = prepare(&order(Activity::Request(part)));
    let thread = thread::spawn(move || {
        let mut room = [0; 200];
        let mut kept = None;
        while let Ok((length, peer)) = responder.recv_from(&mut room) {
            let (header, _) = Header::decode(&room[..length]).expect("only ours comes here");
            let mut answer = room[..length].to_vec();
            answer[4] = DatagramKind::Answer as u8;
            match (header.kind, header.number) {
                (DatagramKind::Hello, _) => {
                    responder.send_to(&word(DatagramKind::Welcome, 0), peer).unwrap();
                }
                // The first is answered only after the second was sent; the second gets an invalid
                // answer, then the correct one.
                (DatagramKind::Request, 0) => kept = Some(answer),
                (DatagramKind::Request, 1) => {
                    responder.send_to(&kept.take().unwrap(), peer).unwrap();
                    responder.send_to(b"nonsense", peer).unwrap();
                    responder.send_to(&answer, peer).unwrap();
                }
                (DatagramKind::Request, _) => drop(responder.send_to(&answer, peer).unwrap()),
                (DatagramKind::Farewell, _) => {
                    responder.send_to(&word(DatagramKind::Goodbye, 0), peer).unwrap();
                    break;
                }
                _ => panic!("a requester does not say {:?}", header.kind),
            }
        }
    });
    let requested = outcome!(asking.perform(&NEVER), Requested);
    thread.join().unwrap();
    assert_eq!(requested.requests, requested.answers + requested.lost + requested.wrong);
    let found = (requested.lost, requested.late, requested.wrong);
    judge!(conditions, found == (1, 1, 1) && requested.answers > 10, "{requested:?}");
}

#[test]
fn datagram_ends_without_a_peer_give_up() {
    let nobody = UdpSocket::bind((HERE, 0)).unwrap();
    let to = nobody.local_addr().unwrap();
    let (message, duration) = (Bytes::new(100), Span::from_milliseconds(100));
    let offered = BitRate::from_megabits_per_second(1);
    let silent = [
        Activity::Request(Request {
            to,
            transport: Transport::Udp,
            token: TOKEN,
            message,
            duration,
            open_loop: None,
        }),
        Activity::UdpSend(UdpSend {
            meeting: Rendezvous::Connect(to),
            token: TOKEN,
            message,
            offered,
            duration,
            hold: None,
        }),
        Activity::UdpSend(UdpSend {
            meeting: Rendezvous::Listen(HERE),
            token: TOKEN,
            message,
            offered,
            duration,
            hold: None,
        }),
        responds(Transport::Udp),
    ];
    for activity in silent {
        let error =
            prepare(&hasty(activity)).perform(&NEVER).expect_err("nobody is there").to_string();
        assert!(error.contains("deadline"), "{error}");
    }
}

/// All messages to a receiver of datagrams, valid and invalid.
fn sayings() -> impl Strategy<Value = Vec<u8>> {
    let head =
        (1u8..=8, prop_oneof![Just(TOKEN), any::<[u8; 16]>()], prop_oneof![0u64..20, any::<u64>()]);
    let worded = (head, prop::collection::vec(any::<u8>(), 0..80)).prop_map(
        |((kind, token, number), payload)| {
            let mut bytes = Header { kind: DatagramKind::Data, token, number }.encode();
            bytes[4] = kind;
            [&bytes[..], &payload].concat()
        },
    );
    prop_oneof![worded, prop::collection::vec(any::<u8>(), 0..120)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_datagram_makes_a_receiver_panic_hang_or_count_it(said in prop::collection::vec(sayings(), 0..60)) {
        let part = UdpReceive { meeting: Rendezvous::Listen(HERE), token: TOKEN, message: Bytes::new(100), expected_datagrams: 20, offered: None, tells: false };
        let receiver = prepare(&order(Activity::UdpReceive(part)));
        let endpoint = receiver.endpoint().unwrap();
        let thread = thread::spawn(move || receiver.perform(&NEVER));
        let peer = udp_caller(endpoint);
        let sent = said.iter().filter(|bytes| peer.send(bytes).is_ok()).count() as u64;
        // The peer sends farewells until no process receives them any more.
        while peer.send(&word(DatagramKind::Farewell, 0)).is_ok() && !thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        let received = outcome!(thread.join().unwrap(), DatagramsReceived);
        prop_assert_eq!((received.datagrams, received.duplicates), (0, 0), "no payload was right");
        prop_assert!(received.wrong <= sent);
    }

    #[test]
    fn no_datagram_makes_a_responder_panic_or_hang(said in prop::collection::vec(sayings(), 0..60)) {
        let responder = prepare(&order(responds(Transport::Udp)));
        let endpoint = responder.endpoint().unwrap();
        let thread = thread::spawn(move || responder.perform(&NEVER));
        let peer = udp_caller(endpoint);
        let requests = said.iter().filter(|bytes| peer.send(bytes).is_ok() && bytes.len() == 100).count() as u64;
        while peer.send(&word(DatagramKind::Farewell, 0)).is_ok() && !thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        let Outcome::Responded { answers } = thread.join().unwrap().unwrap().outcome else { panic!("not a responder") };
        prop_assert!(answers <= requests);
    }

    #[test]
    fn no_stream_of_bytes_opens_a_acceptor(said in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assume!(!said.starts_with(&TOKEN));
        let activity = receives(Rendezvous::Listen(HERE));
        let receiver = prepare(&super::Order { deadline: Span::from_milliseconds(60), ..order(activity) });
        let mut stream = TcpStream::connect(receiver.endpoint().unwrap()).unwrap();
        stream.write_all(&said).unwrap();
        let error = receiver.perform(&NEVER).expect_err("strangers are not served").to_string();
        prop_assert!(error.contains("deadline"), "{error}");
    }
}
