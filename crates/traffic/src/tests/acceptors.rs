//! Tests that a caller without a token can make a listening activity send nothing, so that no
//! attacker can use it to flood a third party.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use btu_contract::activity::{
    Activity, Receiving, Rendezvous, Respond, TcpReceive, TcpSend, Token, Transport, UdpReceive,
    UdpSend, Work,
};
use btu_contract::peers::{Callers, Peers, Refused};
use btu_units::{BitRate, Bytes, Span};

use super::bad_peers::udp_caller;
use super::{HERE, NEVER, TOKEN, hasty, is_closed, order, prepare};
use crate::udp::{DatagramKind, Header};

/// The token of another cell.
const OTHER: Token = *b"another cell's 1";

fn listeners_of_datagrams() -> [Activity; 3] {
    let (meeting, token, message) = (Rendezvous::Listen(HERE), TOKEN, Bytes::new(1000));
    let (offered, duration) = (BitRate::from_megabits_per_second(10), Span::from_milliseconds(100));
    [
        Activity::UdpSend(UdpSend { meeting, token, message, offered, duration, hold: None }),
        Activity::UdpReceive(UdpReceive {
            meeting,
            token,
            message,
            expected_datagrams: 10,
            offered: None,
            tells: false,
        }),
        Activity::Respond(Respond { on: HERE, transport: Transport::Udp, token, message }),
    ]
}

fn listeners_of_streams(on: IpAddr) -> [Activity; 3] {
    let (meeting, token, message) = (Rendezvous::Listen(on), TOKEN, Bytes::new(1000));
    let work = Work::Bytes(Bytes::new(100_000));
    [
        Activity::TcpSend(TcpSend { meeting, token, message, work, window: None, unsent: None }),
        Activity::TcpReceive(TcpReceive {
            meeting,
            token,
            message,
            window: None,
            volume: None,
            receiving: Receiving::Plain,
        }),
        Activity::Respond(Respond { on, transport: Transport::Tcp, token, message }),
    ]
}

#[test]
fn a_datagram_with_another_token_is_not_answered() {
    for activity in listeners_of_datagrams() {
        let listener = prepare(&hasty(activity));
        let endpoint = listener.endpoint().unwrap();
        let stranger = UdpSocket::bind((HERE, 0)).unwrap();
        for kind in
            [DatagramKind::Hello, DatagramKind::Request, DatagramKind::Data, DatagramKind::Farewell]
        {
            stranger.send_to(&Header { kind, token: OTHER, number: 0 }.encode(), endpoint).unwrap();
        }
        stranger.send_to(&[0; 1400], endpoint).unwrap();
        let error = listener.perform(&NEVER).expect_err("nobody it knows came").to_string();
        assert!(error.contains("deadline"), "{error}");
        stranger.set_nonblocking(true).unwrap();
        assert!(stranger.recv(&mut [0; 2000]).is_err(), "a stranger was answered");
    }
}

/// A caller with the token gets as many octets as it sent, and its data only after it has proved
/// its address.
#[test]
fn a_greeting_is_answered_with_no_more_than_it_has() {
    for activity in listeners_of_datagrams() {
        let listener = prepare(&order(activity));
        let endpoint = listener.endpoint().unwrap();
        let thread = thread::spawn(move || listener.perform(&NEVER).ok());
        let peer = udp_caller(endpoint);
        let mut room = [0; 2000];
        let farewell = Header { kind: DatagramKind::Farewell, token: TOKEN, number: 0 }.encode();
        peer.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        while !thread.is_finished() {
            let _ = peer.send(&farewell);
            if let Ok(length) = peer.recv(&mut room) {
                let goodbye =
                    Header { kind: DatagramKind::Goodbye, token: TOKEN, number: 0 }.encode();
                if Header::decode(&room[..length])
                    .is_some_and(|(header, _)| header.kind == DatagramKind::Farewell)
                {
                    let _ = peer.send(&goodbye);
                }
            }
        }
        thread.join().unwrap();
    }
}

/// A process that knows the token forges a sender's address: the listener sends no more octets
/// there than it received, and no stream, whether the challenge's number is guessed or was given to
/// another address.
#[test]
fn a_forged_address_gets_no_stream() {
    for activity in listeners_of_datagrams() {
        let listener = prepare(&hasty(activity));
        let endpoint = listener.endpoint().unwrap();
        let forged = UdpSocket::bind(("127.0.0.7", 0)).unwrap();
        let guesser = UdpSocket::bind((HERE, 0)).unwrap();
        let hello = |number| Header { kind: DatagramKind::Hello, token: TOKEN, number }.encode();
        let thread = thread::spawn(move || {
            listener.perform(&NEVER).expect_err("nobody proved an address").to_string()
        });
        guesser.send_to(&hello(0), endpoint).unwrap();
        guesser.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut room = [0; 2000];
        let length = guesser.recv(&mut room).unwrap();
        let known = Header::decode(&room[..length]).unwrap().0.number;
        let sent = [0, 1, known, known ^ 2, u64::MAX];
        for number in sent {
            assert_eq!(forged.send_to(&hello(number), endpoint).unwrap(), 32);
        }
        assert!(thread.join().unwrap().contains("deadline"));
        forged.set_nonblocking(true).unwrap();
        let heard: Vec<_> = std::iter::from_fn(|| {
            let length = forged.recv(&mut room).ok()?;
            Some((length, Header::decode(&room[..length]).unwrap().0.kind))
        })
        .collect();
        assert_eq!(heard, vec![(32, DatagramKind::Challenge); sent.len()]);
    }
}

fn only(network: &str) -> Callers {
    Callers::only(Peers::within(vec![network.parse().unwrap()]), |_, _| ())
}

/// A caller that is not allowed gets no answer, even with the token, over any transport.
#[test]
fn every_port_asks_who_calls() {
    let elsewhere = only("192.0.2.0/24");
    for activity in listeners_of_datagrams() {
        let listener = crate::prepare(&hasty(activity), &elsewhere).unwrap().unwrap();
        let stranger = UdpSocket::bind((HERE, 0)).unwrap();
        stranger.connect(listener.endpoint().unwrap()).unwrap();
        stranger
            .send(&Header { kind: DatagramKind::Hello, token: TOKEN, number: 0 }.encode())
            .unwrap();
        listener.perform(&NEVER).expect_err("nobody who may call came");
        stranger.set_nonblocking(true).unwrap();
        assert!(stranger.recv(&mut [0; 2000]).is_err(), "a stranger was answered");
    }
    for activity in listeners_of_streams(HERE) {
        let listener = crate::prepare(&hasty(activity), &elsewhere).unwrap().unwrap();
        let mut stranger = TcpStream::connect(listener.endpoint().unwrap()).unwrap();
        stranger.write_all(&TOKEN).unwrap();
        listener.perform(&NEVER).expect_err("nobody who may call came");
        let mut heard = Vec::new();
        assert!(
            stranger.read_to_end(&mut heard).map_or(true, |length| length == 0) && heard.is_empty()
        );
    }
    for activity in listeners_of_datagrams() {
        let listener = crate::prepare(&order(activity), &only("127.0.0.0/8")).unwrap().unwrap();
        let (endpoint, stop) = (listener.endpoint().unwrap(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || drop(listener.perform(&stopped)));
        udp_caller(endpoint);
        stop.store(true, Ordering::Relaxed);
        thread.join().unwrap();
    }
}

/// The time for which a caller is served does not depend on the number of correct octets of the
/// token.
#[test]
fn a_wrong_octet_is_not_answered_before_the_last() {
    for activity in listeners_of_streams(HERE) {
        let listener = prepare(&hasty(activity));
        let endpoint = listener.endpoint().unwrap();
        let mut callers: Vec<_> = [0, 1, 8, 15]
            .into_iter()
            .map(|right| {
                let mut said = TOKEN;
                said[right..].iter_mut().for_each(|octet| *octet = !*octet);
                let mut caller = TcpStream::connect(endpoint).unwrap();
                caller.write_all(&said[..15]).unwrap();
                caller.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                caller
            })
            .collect();
        let thread = thread::spawn(move || drop(listener.perform(&NEVER)));
        for caller in &mut callers {
            let kind = caller.read(&mut [0; 1]).expect_err("neither closed nor answered").kind();
            assert_eq!(kind, std::io::ErrorKind::WouldBlock);
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_connection_with_another_token_hears_nothing() {
    for activity in listeners_of_streams(HERE) {
        let (callers, told) = told();
        let listener = crate::prepare(&hasty(activity), &callers).unwrap().unwrap();
        let endpoint = listener.endpoint().unwrap();
        let mut silent = TcpStream::connect(endpoint).unwrap();
        let mut replayed = TcpStream::connect(endpoint).unwrap();
        replayed.write_all(&OTHER).unwrap();
        let error = listener.perform(&NEVER).expect_err("nobody it knows came").to_string();
        assert!(error.contains("deadline"), "{error}");
        for stranger in [&mut silent, &mut replayed] {
            let mut heard = Vec::new();
            // Closed in order or reset: either way without an octet.
            assert!(stranger.read_to_end(&mut heard).map_or(true, |length| length == 0));
            assert!(heard.is_empty());
        }
        assert_eq!(*told.lock().unwrap(), [(HERE, Refused::WrongToken)]);
    }
}

/// The refused callers, with the reasons.
type Told = Arc<Mutex<Vec<(IpAddr, Refused)>>>;

/// Every process may call; the list records the refused callers.
fn told() -> (Callers, Told) {
    let told = Told::default();
    let list = Arc::clone(&told);
    (Callers::only(Peers::ANY, move |address, why| list.lock().unwrap().push((address, why))), told)
}

#[test]
fn a_port_is_closed_with_its_activity() {
    // No other test listens there, so none can be given the port when it is free.
    let here = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));
    for activity in listeners_of_streams(here) {
        let listener = prepare(&hasty(activity));
        let endpoint = listener.endpoint().unwrap();
        assert_eq!(endpoint.ip(), here);
        listener.perform(&NEVER).expect_err("nobody came");
        assert!(is_closed(endpoint), "the port is open after the activity's end");
    }
}
