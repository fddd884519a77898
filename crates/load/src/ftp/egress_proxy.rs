//! The way out of the testbed's network to one FTP server, through a Unix socket.
//!
//! The relay inside connects to the socket and writes one line, `connect PORT`; port 0 is the
//! server's control port. The egress proxy answers `ok`, and from then on bytes flow, or `no: ` and
//! the reason, and closes. It connects to the one host it was made for and to nothing else: to the
//! control port it was given, and to data ports, which are never below 1024.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::gate::{self, Listener, Slots};
use crate::LoadError;
use crate::pump::{self, IDLE, IdleTimeout, Socket, TICK};

/// Connections at the same time: a control and a data connection for each of four clients.
const MOST: usize = 8;

/// The timeout of the line.
const KNOCK: Duration = Duration::from_secs(5);

/// How long connecting to the server may take.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest line either side says.
const LONGEST_LINE: usize = 256;

/// Lets connections on `listener` out to `target`'s host until `stop`; `target` is the FTP server's
/// control port.
///
/// At most 8 connections at a time; one without data for five minutes is closed. Returns within
/// half a second of `stop`, or ten when it is just connecting.
///
/// # Errors
/// Only when `listener` cannot be used at all: a failure of one connection is reported to its
/// client.
pub fn serve_egress_proxy(
    listener: UnixListener,
    target: SocketAddr,
    stop: &AtomicBool,
) -> Result<(), LoadError> {
    listener.do_not_block().map_err(|source| LoadError::Kernel {
        operation: "prepare the egress proxy's socket for waiting",
        source,
    })?;
    let slots = Slots::new(MOST);
    thread::scope(|scope| {
        while let Some(inside) = gate::next(&listener, || !stop.load(Ordering::Relaxed)) {
            match slots.take() {
                Some(slot) => {
                    scope.spawn(move || {
                        let mut inside = inside;
                        // Both ends see the connection close; no other process needs a message.
                        let _ = let_out(&mut inside, target, stop);
                        // A client that sees it closed may connect again at once.
                        drop(slot);
                    });
                }
                // Both ends see the connection close here, too.
                None => {
                    let _ = refuse(inside, stop);
                }
            }
        }
    });
    // The port is closed, so that other callers cannot probe it.
    drop(listener);
    Ok(())
}

/// One connection, from the probe to its end.
fn let_out(inside: &mut UnixStream, target: SocketAddr, stop: &AtomicBool) -> io::Result<()> {
    inside.limit(TICK)?;
    let line = read_line(inside, &IdleTimeout::new(stop, KNOCK))?;
    let outside = asked_for(&line, target).and_then(|address| {
        TcpStream::connect_timeout(&address, CONNECT)
            .map_err(|error| format!("could not connect to {address}: {error}"))
    });
    match outside {
        Ok(mut outside) => {
            outside.set_nodelay(true)?;
            inside.write_all(b"ok\n")?;
            pump::both_ways(inside, &mut outside, &IdleTimeout::new(stop, IDLE), &AtomicU64::new(0))
        }
        Err(reason) => inside.write_all(format!("no: {reason}\n").as_bytes()),
    }
}

/// Reports that there is no room. It reads the line first, because closing a socket with unread
/// data discards its last message. The line has arrived already, or the client is not one of btu's
/// and waits for a tick at most.
fn refuse(mut inside: UnixStream, stop: &AtomicBool) -> io::Result<()> {
    inside.limit(TICK)?;
    read_line(&mut inside, &IdleTimeout::new(stop, TICK))?;
    inside.write_all(b"no: all connections are in use\n")
}

/// The destination that a line requests, if that is allowed.
fn asked_for(line: &str, target: SocketAddr) -> Result<SocketAddr, String> {
    let port = line.strip_prefix("connect ").and_then(|port| port.parse().ok());
    match port {
        Some(0) => Ok(target),
        Some(port @ 1024..) => Ok(SocketAddr::new(target.ip(), port)),
        Some(port) => Err(format!("port {port} is no data port")),
        None => Err("the request was not understood".to_owned()),
    }
}

/// From inside: a connection to the server's `port` through the egress proxy at `path`.
pub(super) fn connect_out(path: &Path, port: u16, stop: &AtomicBool) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path)?;
    stream.limit(TICK)?;
    writeln!(stream, "connect {port}")?;
    match read_line(&mut stream, &IdleTimeout::new(stop, CONNECT + KNOCK))?.as_str() {
        "ok" => Ok(stream),
        "" => Err(io::Error::other("the egress proxy closed without an answer")),
        refused => Err(io::Error::other(refused.trim_start_matches("no: ").to_owned())),
    }
}

/// Whether there is an egress proxy at `path`: connects, and closes. The egress proxy has forgotten
/// it when this returns, so that it is not counted among the connections that come next.
pub(super) fn probe(path: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(KNOCK))?;
    stream.shutdown(Shutdown::Write)?;
    // The answer to an empty request has no meaning, and a slow egress proxy also counts as
    // present.
    let _ = io::copy(&mut stream, &mut io::sink());
    Ok(())
}

/// A line without its end. It is read byte by byte, because the following bytes belong to other
/// readers.
fn read_line(stream: &mut impl Read, timeout: &IdleTimeout) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < LONGEST_LINE
        && pump::read(stream, &mut byte, timeout)? == 1
        && byte[0] != b'\n'
    {
        line.push(byte[0]);
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// For fuzzers: any line at the egress proxy; it only ever connects to the server's own address.
#[doc(hidden)]
pub fn fuzz_egress_proxy(line: &[u8]) {
    let server = SocketAddr::from(([192, 0, 2, 1], 21));
    if let Ok(address) = asked_for(&String::from_utf8_lossy(line), server) {
        assert!(address.ip() == server.ip() && (address == server || address.port() >= 1024));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use proptest::prelude::*;

    use super::*;

    const SERVER: &str = "192.0.2.1:21";

    fn server() -> SocketAddr {
        SERVER.parse().expect("an address")
    }

    #[test]
    fn only_the_server_and_only_its_ports() {
        assert_eq!(asked_for("connect 0", server()), Ok(server()));
        assert_eq!(
            asked_for("connect 50000", server()).map(|a| a.to_string()),
            Ok("192.0.2.1:50000".to_owned())
        );
        for line in [
            "connect 22",
            "connect 21",
            "connect 1023",
            "connect 65536",
            "connect -1",
            "connect",
            "GET /",
            "",
        ] {
            assert!(asked_for(line, server()).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_else_is_ever_connected_to(line in "(connect )?\\PC{0,20}") {
            if let Ok(address) = asked_for(&line, server()) {
                prop_assert!(address == server() || (address.ip() == server().ip() && address.port() > 1023));
            }
        }
    }

    /// An egress proxy to `target` that runs for as long as `inside` takes.
    fn with_egress_proxy(target: SocketAddr, inside: impl FnOnce(&Path)) {
        let directory = tempfile::tempdir().expect("tempdir");
        let path = directory.path().join("egress_proxy");
        let listener = UnixListener::bind(&path).expect("bound");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let egress_proxy = scope.spawn(|| serve_egress_proxy(listener, target, &stop));
            // Else a failed expectation would wait for the egress proxy for ever.
            let outcome = catch_unwind(AssertUnwindSafe(|| inside(&path)));
            stop.store(true, Ordering::Relaxed);
            egress_proxy.join().expect("no panic").expect("a usable socket");
            outcome.unwrap_or_else(|panic| resume_unwind(panic));
        });
    }

    #[test]
    fn it_leads_to_the_control_port_and_says_why_not_elsewhere() {
        let outside = TcpListener::bind("127.0.0.1:0").expect("loopback");
        with_egress_proxy(outside.local_addr().expect("bound"), |path| {
            let go_on = AtomicBool::new(false);
            let mut stream = connect_out(path, 0, &go_on).expect("let out");
            let (mut there, _) = outside.accept().expect("connected");
            there.write_all(b"220 hello\r\n").expect("written");
            let mut greeting = [0; 11];
            stream.limit(Duration::from_secs(5)).expect("set");
            stream.read_exact(&mut greeting).expect("through");
            assert_eq!(&greeting, b"220 hello\r\n");

            let message = connect_out(path, 80, &go_on).expect_err("not a data port").to_string();
            assert!(message.contains("no data port"), "{message}");
            let free = TcpListener::bind("127.0.0.1:0")
                .expect("loopback")
                .local_addr()
                .expect("bound")
                .port();
            let message = connect_out(path, free, &go_on).expect_err("nobody listens").to_string();
            assert!(message.contains("could not connect"), "{message}");
        });
    }

    #[test]
    fn the_ninth_connection_is_refused_and_the_next_after_one_ended_is_not() {
        let outside = TcpListener::bind("127.0.0.1:0").expect("loopback");
        with_egress_proxy(outside.local_addr().expect("bound"), |path| {
            let go_on = AtomicBool::new(false);
            let mut open: Vec<UnixStream> =
                (0..MOST).map(|_| connect_out(path, 0, &go_on).expect("let out")).collect();
            let message = connect_out(path, 0, &go_on).expect_err("full").to_string();
            assert!(message.contains("in use"), "{message}");
            // A connection ends when both of its ends have.
            open.clear();
            (0..MOST).for_each(|_| drop(outside.accept().expect("connected")));
            let again = (0..50).find_map(|_| {
                thread::sleep(TICK);
                connect_out(path, 0, &go_on).ok()
            });
            assert!(again.is_some(), "the slot did not come back");
        });
    }

    #[test]
    fn who_only_knocked_takes_no_place() {
        let outside = TcpListener::bind("127.0.0.1:0").expect("loopback");
        with_egress_proxy(outside.local_addr().expect("bound"), |path| {
            let go_on = AtomicBool::new(false);
            let mut open: Vec<UnixStream> =
                (1..MOST).map(|_| connect_out(path, 0, &go_on).expect("let out")).collect();
            (0..50).for_each(|_| probe(path).expect("it is there"));
            open.push(connect_out(path, 0, &go_on).expect("let out"));
            probe(path).expect("full, and there");
            assert!(probe(&path.with_extension("gone")).is_err());
        });
    }
}
