//! Client against server, and against invalid peers.

mod foreign;
pub(crate) mod gateway;
mod libnfs;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_contract::activity::Token;
use btu_contract::peers::{Callers, Cidr, Peers, Refused};
use btu_units::{Bytes, Span};

use super::*;

/// The answer of a fake server to a call: from the call's number and its octets.
type Answer = fn(usize, &[u8]) -> Vec<u8>;

const TOKEN: Token = *b"sixteen byte key";
const TIMEOUT: Span = Span::from_seconds(5);
const ROOM: u64 = 8 << 20;

struct Service {
    server: NfsServer,
    directory: tempfile::TempDir,
}

fn serve(service: Span, callers: &Callers) -> Service {
    let directory = tempfile::tempdir().expect("tempdir");
    let settings = ServerSettings {
        address: Ipv4Addr::LOCALHOST.into(),
        token: TOKEN,
        directory: directory.path().to_owned(),
        room: Bytes::new(ROOM),
        service,
    };
    Service { server: NfsServer::start(&settings, callers).expect("a server"), directory }
}

fn server() -> Service {
    serve(Span::ZERO, &Callers::any())
}

impl Service {
    fn client(&self, number: u32) -> NfsClient {
        NfsClient::connect(self.server.address(), &TOKEN, number, TIMEOUT).expect("connected")
    }
}

/// A source with octets that follow from their offsets.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index >> 8)) as u8).collect()
}

#[test]
fn a_file_comes_back_whatever_the_block_and_the_window() {
    let service = server();
    let mut client = service.client(3);
    let root = client.root();
    let mut calls = 0;
    for (block, window) in [(1, 1), (100, 7), (8192, 16), (65_536, 1), (1 << 20, 256)] {
        let content = content(if block < 8192 { 999 } else { 300_001 });
        let stability = if window == 1 { Stability::FileSync } else { Stability::Unstable };
        let transfer = Transfer { block, window, stability };
        let file = client.create(&root, "file").expect("made").handle;
        let written = client.write_file(&file, &mut content.as_slice(), transfer).expect("written");
        client.commit_written(&file, &written).expect("on the device");
        assert_eq!(written.octets, content.len() as u64);
        let size = client.look_up(&root, "file").expect("there").attributes.expect("told").size;
        assert_eq!(size, content.len() as u64);
        let mut read = vec![0; content.len()];
        let mut sink = |offset: u64, data: &[u8]| {
            read[offset as usize..][..data.len()].copy_from_slice(data);
            Ok(())
        };
        assert_eq!(client.read_file(&file, size, &mut sink, transfer).expect("read"), size);
        assert_eq!(read, content, "blocks of {block}, {window} on their way");
        calls += 3 + 2 * content.len().div_ceil(block) as u64;
        assert_eq!(client.calls(), calls);
    }
    drop(client);
    let Service { server, directory } = service;
    let account = server.stop()[&3];
    assert_eq!(
        (account.operations, account.read, account.written),
        (calls, account.written, Bytes::new(2 * 999 + 3 * 300_001))
    );
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

#[test]
fn what_cannot_be_done_is_said_and_the_connection_goes_on() {
    let service = server();
    let mut client = service.client(0);
    let root = client.root();
    let said = |result: Result<(), NfsError>| result.expect_err("refused").to_string();
    assert!(said(client.look_up(&root, "nothing").map(drop)).contains("no such file"));
    let file = client.create(&root, "file").expect("made").handle;
    let far = client.write_at(&file, ROOM, b"x", Stability::Unstable);
    assert!(said(far).contains("no room"));
    assert!(said(client.make_directory(&root, "file").map(drop)).contains("exists already"));
    assert!(said(client.create(&root, "a/b").map(drop)).contains("not a name"));
    assert!(said(client.create(&file, "x").map(drop)).contains("not a directory"));
    let directory = client.make_directory(&root, "directory").expect("made").handle;
    client.rename((&root, "file"), (&directory, "moved")).expect("renamed");
    client.remove(&directory, "moved").expect("removed");
    assert!(said(client.commit(&file).map(drop)).contains("no such file any more"));
    let foreign = protocol::Handle::of(&[1; 16], 1);
    assert!(said(client.attributes(&foreign).map(drop)).contains("no such file any more"));
}

/// Ten clients at once, each with files of its own, and one account for each.
#[test]
fn clients_do_not_disturb_each_other_and_are_counted_apart() {
    let service = server();
    thread::scope(|scope| {
        for number in 0..10 {
            let mut client = service.client(number);
            scope.spawn(move || {
                let root = client.root();
                let file = client.create(&root, &number.to_string()).expect("made").handle;
                for round in 0..20 + u64::from(number) {
                    let octets = [number as u8; 512];
                    client
                        .write_at(&file, round * 512, &octets, Stability::Unstable)
                        .expect("written");
                    let mut read = [0; 512];
                    assert_eq!(client.read_at(&file, round * 512, &mut read).expect("read").0, 512);
                    assert_eq!(read, octets);
                }
            });
        }
    });
    let accounts = service.server.stop();
    for number in 0..10 {
        assert_eq!(accounts[&number].operations, 1 + 2 * (20 + u64::from(number)));
    }
}

/// Two clients without pauses share a server of 2 ms: each operation takes 4 ms, and meets one
/// other.
#[test]
fn a_server_that_takes_its_time_does_one_thing_after_the_other() {
    let conditions = Conditions::begin();
    let service = serve(Span::from_milliseconds(2), &Callers::any());
    let ask = |number| {
        let mut client = service.client(number);
        let root = client.root();
        move || {
            for _ in 0..50 {
                client.attributes(&root).expect("told");
            }
        }
    };
    let (one, two) = (ask(1), ask(2));
    // From before the first of them to after the last: they may begin apart.
    let start = Instant::now();
    thread::scope(|scope| {
        [scope.spawn(one), scope.spawn(two)].map(|one| one.join().expect("no panic"))
    });
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(199), "{took:?}");
    let accounts = service.server.stop();
    let met = accounts[&1].met + accounts[&2].met;
    judge!(conditions, (60..=100).contains(&met), "{met} met at 100 operations");
}

#[test]
fn who_does_not_say_the_token_gets_no_word_of_the_files() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&told);
    let callers = Callers::only(Peers::ANY, move |_, why| list.lock().expect("no panic").push(why));
    let service = serve(Span::ZERO, &callers);
    let error = NfsClient::connect(service.server.address(), &[1; 16], 0, TIMEOUT)
        .expect_err("another token");
    assert!(matches!(error, NfsError::SentAway { .. }), "{error}");
    for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0x80, 0, 0, 4, 0, 0, 0, 0], &[0xff; 64], &[0; 4]]
    {
        let mut stranger = TcpStream::connect(service.server.address()).expect("a connection");
        stranger.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        stranger.write_all(said).expect("said");
        let mut heard = Vec::new();
        // Unread data turn the close into a reset.
        let end = stranger.read_to_end(&mut heard);
        assert!(
            heard.is_empty()
                && end.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
        );
    }
    drop(service.client(0));
    assert_eq!(
        told.lock().expect("no panic").iter().filter(|why| **why == Refused::WrongToken).count(),
        2
    );
}

#[test]
fn a_caller_that_is_no_peer_hears_nothing_of_the_files() {
    let nobody = Peers::within(vec![Cidr::host(Ipv4Addr::new(192, 0, 2, 1).into())]);
    let service = serve(Span::ZERO, &Callers::only(nobody, |_, _| ()));
    assert!(NfsClient::connect(service.server.address(), &TOKEN, 0, TIMEOUT).is_err());
}

#[test]
fn strangers_who_hold_every_place_keep_no_client_out() {
    let service = server();
    let mut silent: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(service.server.address()).expect("a connection"))
        .collect();
    let (start, conditions) = (Instant::now(), Conditions::begin());
    let mut client = service.client(0);
    client.attributes(&client.root()).expect("told");
    let took = start.elapsed();
    judge!(conditions, took < Duration::from_secs(2), "{took:?}");
    // A second later the last of them is gone, too.
    let last = silent.last_mut().expect("200");
    last.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    assert_eq!(last.read(&mut [0; 8]).expect("an end"), 0);
}

#[test]
fn places_for_clients_are_counted_and_come_back() {
    let service = server();
    let mut clients: Vec<NfsClient> =
        (0..MOST_CLIENTS as u32).map(|number| service.client(number)).collect();
    let refused = NfsClient::connect(service.server.address(), &TOKEN, 0, TIMEOUT);
    assert!(matches!(refused, Err(NfsError::SentAway { .. })), "{refused:?}");
    clients.truncate(1);
    let again = (0..50).find_map(|_| {
        thread::sleep(Duration::from_millis(20));
        NfsClient::connect(service.server.address(), &TOKEN, 0, TIMEOUT).ok()
    });
    assert!(again.is_some(), "the places did not come back");
}

/// With the token, and then an invalid message: the connection ends, and the server continues.
#[test]
fn a_client_gone_wild_ends_its_own_connection_alone() {
    let service = server();
    let mut other = service.client(1);
    let call =
        |octets: &[u8]| [&(1u32 << 31 | octets.len() as u32).to_be_bytes()[..], octets].concat();
    let wild: [Vec<u8>; 5] =
        [vec![0xff; 100], vec![0; 4000], call(&[0; 40]), call(b"no call"), vec![0x80, 0x20, 0, 0]];
    for said in &wild {
        let client = service.client(0);
        let mut stream = client.into_stream();
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        stream.write_all(said).expect("said");
        let read = stream.read(&mut [0; 64]);
        assert!(
            matches!(&read, Ok(0))
                || read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset),
            "{said:?}"
        );
        other.attributes(&other.root()).expect("the others are served");
    }
}

/// A server that sends the result of `answer` for each call.
fn false_server(answer: impl Fn(usize, &[u8]) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut call = [0; 4096];
        for number in 0.. {
            match stream.read(&mut call) {
                Ok(length @ 1..) => {
                    let _ = stream.write_all(&answer(number, &call[..length]));
                }
                _ => return,
            }
        }
    });
    address
}

/// An answer to the call that was read: its number, that it was taken, and this body.
fn taken(call: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    rpc::begin(&mut out);
    let transaction = u32::from_be_bytes(call[4..8].try_into().expect("a whole header"));
    rpc::write_answer(transaction, rpc::Accepted::Success, &mut xdr::Writer::new(&mut out));
    out.extend(body);
    rpc::finish(&mut out);
    out
}

#[test]
fn a_server_that_is_none_is_named_in_time() {
    let connect = |address| NfsClient::connect(address, &TOKEN, 0, Span::from_milliseconds(300));
    let silent = connect(false_server(|_, _| Vec::new())).expect_err("silent").to_string();
    assert!(silent.contains("was not answered within"), "{silent}");
    let mad: [Answer; 4] = [
        |_, _| b"220 hello\r\n".to_vec(),
        |_, _| vec![0xff; 64],
        |_, _| vec![0; 4096],
        |_, call| taken(&[0, 0, 0, 0, 9, 9, 9, call[7]], &[]),
    ];
    for answer in mad {
        let error = connect(false_server(answer)).expect_err("no server").to_string();
        assert!(error.contains("NFS server 127.0.0.1"), "{error}");
    }
}

#[test]
fn false_answers_are_refused() {
    let transfer = Transfer { block: 100, window: 4, stability: Stability::Unstable };
    let answers: [Answer; 4] = [
        // More than was asked for.
        |_, call| {
            taken(
                call,
                &[&[0; 8][..], &[0, 0, 1, 0], &[0, 0, 0, 0], &[0, 0, 1, 0], &[1; 256]].concat(),
            )
        },
        // Nothing, and not the end.
        |_, call| taken(call, &[0; 20]),
        // A status and no more.
        |_, call| taken(call, &[0; 4]),
        |_, call| taken(call, &[0, 0, 0, 70]),
    ];
    for answer in answers {
        let address =
            false_server(
                move |number, call| {
                    if number == 0 { taken(call, &[]) } else { answer(number, call) }
                },
            );
        let mut client = NfsClient::connect(address, &TOKEN, 0, TIMEOUT).expect("connected");
        let root = client.root();
        let read = client.read_file(&root, 1000, &mut |_, _| Ok(()), transfer);
        assert!(
            matches!(read, Err(NfsError::Garbled { .. } | NfsError::Refused { .. })),
            "{read:?}"
        );
    }
}

#[test]
fn a_server_that_began_anew_has_lost_what_was_not_committed() {
    let answer = |number: usize, call: &[u8]| match number {
        0 => taken(call, &[]),
        // A WRITE of 4 octets, then the COMMIT: another verifier.
        1 => taken(call, &[&[0; 12][..], &[0, 0, 0, 4], &[0; 4], &[1; 8]].concat()),
        _ => taken(call, &[&[0; 12][..], &[2; 8]].concat()),
    };
    let mut client =
        NfsClient::connect(false_server(answer), &TOKEN, 0, TIMEOUT).expect("connected");
    let root = client.root();
    let transfer = Transfer { block: 8192, window: 4, stability: Stability::Unstable };
    let written = client.write_file(&root, &mut &b"four"[..], transfer).expect("written");
    let error = client.commit_written(&root, &written).expect_err("anew");
    assert!(matches!(error, NfsError::BeganAnew { .. }), "{error}");
}

#[test]
fn a_server_that_stops_waits_for_its_clients_to_end() {
    let service = server();
    let mut client = service.client(0);
    let root = client.root();
    let asking = thread::spawn(move || {
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            client.attributes(&root).expect("answered to the last");
        }
        client.calls()
    });
    thread::sleep(Duration::from_millis(50));
    let accounts = service.server.stop();
    assert_eq!(accounts[&0].operations, asking.join().expect("no panic"));
}
