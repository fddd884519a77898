//! A client of the relay: its control connection and its data connections.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{self, Scope};
use std::time::Duration;

use super::Shared;
use crate::ftp::egress_proxy::connect_out;
use crate::ftp::gate::{self, Listener, Slot};
use crate::ftp::reply::{self, Lines, Offer};
use crate::pump::{self, IDLE, IdleTimeout, Socket, TICK};

/// The longest line of commands and replies; RFC 959 sets no limit, paths have 4096 bytes at most.
const LONGEST_LINE: usize = 8192;

/// The time for a client to connect to its data port.
const COME: Duration = Duration::from_secs(15);

/// Commands that cannot be carried: active mode (RFC 959, 1639, 2428) and encryption (RFC 4217).
const REFUSED: [&[u8]; 4] = [b"PORT", b"LPRT", b"EPRT", b"AUTH"];

/// Serves one client from its first to its last byte. A failure is reported to the client if
/// possible, and ends the session; the relay continues.
pub(super) fn run(mut client: TcpStream, shared: &Shared) {
    let timeout = IdleTimeout::new(&shared.stop, IDLE);
    let joined = client
        .set_nodelay(true)
        .and_then(|()| client.limit(TICK))
        .and_then(|()| connect_out(&shared.egress_proxy, 0, &shared.stop));
    match joined {
        Ok(server) => {
            let _ = converse(&client, &server, shared, &timeout);
        }
        Err(error) => {
            let line = format!("421 The relay found no way to the FTP server: {error}\r\n");
            let _ = pump::write(&mut client, line.as_bytes(), &timeout);
        }
    }
}

/// Both directions of the control connection until either ends; then both are hung up, and data
/// connections may end.
fn converse(
    client: &TcpStream,
    server: &UnixStream,
    shared: &Shared,
    timeout: &IdleTimeout,
) -> io::Result<()> {
    let (commands, replies) = (client.another()?, client.another()?);
    let (to_server, from_server) = (server.another()?, server.another()?);
    thread::scope(|scope| {
        let hang_up = |result: io::Result<()>| {
            // Either may be closed already, which is the desired state.
            let _ = client.end(Shutdown::Both);
            let _ = server.end(Shutdown::Both);
            result
        };
        let up = scope.spawn(move || hang_up(carry_commands(commands, to_server, timeout)));
        let down = hang_up(carry_replies(from_server, replies, shared, timeout, scope));
        up.join()
            .unwrap_or_else(|_| Err(io::Error::other("the commands' thread panicked")))
            .and(down)
    })
}

/// Passes commands from the client to the server, except for refused ones.
fn carry_commands(
    client: TcpStream,
    mut server: UnixStream,
    timeout: &IdleTimeout,
) -> io::Result<()> {
    let mut answers = client.another()?;
    let mut lines = LineReader::new(client);
    while let Some(line) = lines.next(timeout)? {
        if is_refused(line) {
            let answer =
                b"502 Active mode and encryption do not pass the relay; use PASV or EPSV.\r\n";
            pump::write(&mut answers, answer, timeout)?;
        } else {
            pump::write(&mut server, line, timeout)?;
        }
    }
    Ok(())
}

fn is_refused(line: &[u8]) -> bool {
    let verb = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    REFUSED.iter().any(|refused| verb.eq_ignore_ascii_case(refused))
}

/// From the server to the client, with offers of data ports replaced.
fn carry_replies<'scope>(
    server: UnixStream,
    mut client: TcpStream,
    shared: &'scope Shared,
    timeout: &IdleTimeout,
    scope: &'scope Scope<'scope, '_>,
) -> io::Result<()> {
    let mut lines = LineReader::new(server);
    let mut replies = Lines::default();
    while let Some(line) = lines.next(timeout)? {
        let offer = if replies.ends_reply(line) { reply::offer(line) } else { None };
        match offer {
            None => pump::write(&mut client, line, timeout)?,
            Some(offer) => {
                let line = open_data(offer, &client, shared, scope).unwrap_or_else(|reason| {
                    format!("425 The relay opened no data port: {reason}\r\n")
                });
                pump::write(&mut client, line.as_bytes(), timeout)?;
            }
        }
    }
    Ok(())
}

/// Opens a data port for `offer` and returns the reply that offers it.
fn open_data<'scope>(
    offer: Offer,
    client: &TcpStream,
    shared: &'scope Shared,
    scope: &'scope Scope<'scope, '_>,
) -> Result<String, String> {
    let slot = shared.transfers.take().ok_or("all data connections are in use")?;
    let listen = || {
        let listener = TcpListener::bind(SocketAddr::new(client.local_addr()?.ip(), 0))?;
        listener.do_not_block()?;
        Ok((listener.local_addr()?, client.peer_addr()?, listener))
    };
    let (address, peer, listener) = listen().map_err(|error: io::Error| error.to_string())?;
    let line = offer.rewritten(address).ok_or("PASV cannot say an IPv6 address, use EPSV")?;
    scope.spawn(move || {
        let _ = transfer(&listener, peer, offer.port(), shared, slot);
    });
    Ok(line)
}

/// One data connection: waits for the client, goes out to the server, and joins the two.
fn transfer(
    listener: &TcpListener,
    peer: SocketAddr,
    port: u16,
    shared: &Shared,
    slot: Slot,
) -> io::Result<()> {
    let goes_on = || !shared.stop.load(std::sync::atomic::Ordering::Relaxed);
    let come = || gate::next_within(listener, COME, goes_on);
    // Other callers are disconnected.
    let client = std::iter::from_fn(come).find(|(_, from)| from.ip() == peer.ip());
    if let Some((mut client, _)) = client {
        let mut server = connect_out(&shared.egress_proxy, port, &shared.stop)?;
        let timeout = IdleTimeout::new(&shared.stop, IDLE);
        pump::both_ways(&mut client, &mut server, &timeout, &shared.served)?;
    }
    drop(slot);
    Ok(())
}

/// Lines of a control connection, with their ends.
struct LineReader<S> {
    socket: S,
    buffer: Box<[u8]>,
    /// The line given last ends here,
    given: usize,
    /// and the read data end here.
    filled: usize,
}

impl<S: Socket> LineReader<S> {
    fn new(socket: S) -> Self {
        Self { socket, buffer: vec![0; LONGEST_LINE].into(), given: 0, filled: 0 }
    }

    /// The next line; none at the end.
    fn next(&mut self, timeout: &IdleTimeout) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        let mut seen = 0;
        loop {
            if let Some(end) = self.buffer[seen..self.filled].iter().position(|&byte| byte == b'\n')
            {
                self.given = seen + end + 1;
                return Ok(Some(&self.buffer[..self.given]));
            }
            seen = self.filled;
            if self.filled == self.buffer.len() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
            }
            match pump::read(&mut self.socket, &mut self.buffer[self.filled..], timeout)? {
                0 => return Ok(None),
                length => self.filled += length,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn lines_come_whole_however_they_arrive() {
        let stop = AtomicBool::new(false);
        let timeout = IdleTimeout::new(&stop, IDLE);
        let (mut there, here) = UnixStream::pair().expect("a pair of sockets");
        let mut lines = LineReader::new(here);
        for part in ["USER b", "tu\r\nPASS x\r\n", "QU", "IT\r\nrest"] {
            there.write_all(part.as_bytes()).expect("written");
        }
        drop(there);
        for wanted in ["USER btu\r\n", "PASS x\r\n", "QUIT\r\n"] {
            assert_eq!(lines.next(&timeout).expect("readable"), Some(wanted.as_bytes()));
        }
        assert_eq!(lines.next(&timeout).expect("readable"), None);
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let stop = AtomicBool::new(false);
        let (mut there, here) = UnixStream::pair().expect("a pair of sockets");
        there.write_all(&[b'x'; LONGEST_LINE + 1]).expect("written");
        LineReader::new(here).next(&IdleTimeout::new(&stop, IDLE)).expect_err("too long");
    }

    #[test]
    fn what_cannot_be_carried_is_known() {
        for line in ["PORT 1,2,3,4,5,6\r\n", "port 1\r\n", "EPRT |1|1.2.3.4|5|\r\n", "AUTH TLS\r\n"]
        {
            assert!(is_refused(line.as_bytes()), "{line}");
        }
        for line in ["PASV\r\n", "EPSV ALL\r\n", "RETR PORT\r\n", "PORTAL\r\n", "\r\n", ""] {
            assert!(!is_refused(line.as_bytes()), "{line}");
        }
    }
}
