//! What a stranger can make a listening activity send: nothing, so that nobody can use it to flood a third party.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use btu_suite::activity::{
    Activity, Meeting, Respond, TcpReceive, TcpSend, Token, Transport, UdpReceive, UdpSend, Work,
};
use btu_units::{BitRate, Bytes, Span};

use super::{HERE, NEVER, TOKEN, hasty, order, prepare};
use crate::udp::{Header, Kind};

/// The token of another cell.
const OTHER: Token = *b"another cell's 1";

fn listeners_of_datagrams() -> [Activity; 3] {
    let (meeting, token, message) = (Meeting::Listen(HERE), TOKEN, Bytes::new(1000));
    let (offered, duration) = (BitRate::from_megabits_per_second(10), Span::from_milliseconds(100));
    [
        Activity::UdpSend(UdpSend { meeting, token, message, offered, duration }),
        Activity::UdpReceive(UdpReceive { meeting, token, message, expected_datagrams: 10 }),
        Activity::Respond(Respond { on: HERE, transport: Transport::Udp, token, message }),
    ]
}

fn listeners_of_streams() -> [Activity; 3] {
    let (meeting, token, message) = (Meeting::Listen(HERE), TOKEN, Bytes::new(1000));
    let work = Work::Bytes(Bytes::new(100_000));
    [
        Activity::TcpSend(TcpSend { meeting, token, message, work, window: None }),
        Activity::TcpReceive(TcpReceive { meeting, token, message, window: None }),
        Activity::Respond(Respond { on: HERE, transport: Transport::Tcp, token, message }),
    ]
}

#[test]
fn a_datagram_with_another_token_is_not_answered() {
    for activity in listeners_of_datagrams() {
        let listener = prepare(&hasty(activity));
        let endpoint = listener.endpoint().unwrap();
        let stranger = UdpSocket::bind((HERE, 0)).unwrap();
        for kind in [Kind::Hello, Kind::Request, Kind::Data, Kind::Farewell] {
            stranger.send_to(&Header { kind, token: OTHER, number: 0 }.encode(), endpoint).unwrap();
        }
        stranger.send_to(&[0; 1400], endpoint).unwrap();
        let error = listener.perform(&NEVER).expect_err("nobody it knows came").to_string();
        assert!(error.contains("deadline"), "{error}");
        stranger.set_nonblocking(true).unwrap();
        assert!(stranger.recv(&mut [0; 2000]).is_err(), "a stranger was answered");
    }
}

/// The one who has the token gets as many octets as he sent, and only then what he asked for.
#[test]
fn a_greeting_is_answered_with_no_more_than_it_has() {
    for activity in listeners_of_datagrams() {
        let listener = prepare(&order(activity));
        let peer = UdpSocket::bind((HERE, 0)).unwrap();
        peer.connect(listener.endpoint().unwrap()).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let hello = Header { kind: Kind::Hello, token: TOKEN, number: 0 }.encode();
        peer.send(&hello).unwrap();
        let thread = thread::spawn(move || listener.perform(&NEVER).ok());
        let mut room = [0; 2000];
        let length = peer.recv(&mut room).unwrap();
        let (header, _) = Header::decode(&room[..length]).unwrap();
        assert_eq!((header.kind, length), (Kind::Welcome, hello.len()));
        let farewell = Header { kind: Kind::Farewell, token: TOKEN, number: 0 }.encode();
        peer.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        while !thread.is_finished() {
            peer.send(&farewell).ok();
            if let Ok(length) = peer.recv(&mut room) {
                let goodbye = Header { kind: Kind::Goodbye, token: TOKEN, number: 0 }.encode();
                if Header::decode(&room[..length]).is_some_and(|(header, _)| header.kind == Kind::Farewell) {
                    peer.send(&goodbye).ok();
                }
            }
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_connection_with_another_token_hears_nothing() {
    for activity in listeners_of_streams() {
        let listener = prepare(&hasty(activity));
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
    }
}

#[test]
fn a_port_is_closed_with_its_activity() {
    for activity in listeners_of_streams() {
        let listener = prepare(&hasty(activity));
        let endpoint = listener.endpoint().unwrap();
        listener.perform(&NEVER).expect_err("nobody came");
        assert!(TcpStream::connect(endpoint).is_err(), "the port is open after the activity's end");
    }
}
