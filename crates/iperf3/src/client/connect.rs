//! The connections of a client: all are opened from here, and begin with the cookie.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::Client;
use crate::control::{ControlConnection, Deadline, News, Woken};
use crate::error::Ending;
use crate::pace::TICK;
use crate::protocol::{Cookie, Protocol};
use crate::streams::Socket;
use crate::udp;

/// The control connection of a new test.
pub(super) fn control(
    client: &Client,
    cookie: &Cookie,
    stop: &Arc<AtomicBool>,
) -> Result<ControlConnection, Ending> {
    let stream = connected(client, "connect to it")?;
    let mut control = ControlConnection::new(stream, News::Flag(Arc::clone(stop)))?;
    let by = Deadline::after(client.deadlines.answer, "take the name of the test");
    control.write(cookie.octets(), by)?;
    Ok(control)
}

/// One data connection.
pub(super) fn stream(
    client: &Client,
    cookie: &Cookie,
    control: &mut ControlConnection,
) -> Result<Socket, Ending> {
    match client.protocol {
        Protocol::Tcp => {
            let operation = "connect a stream to it";
            let mut stream = connected(client, operation)?;
            let written = stream.write_all(cookie.octets());
            written.map_err(|source| Ending::Connect { operation, source })?;
            Ok(Socket::Tcp(stream))
        }
        Protocol::Udp => greeted(client, control).map(Socket::Udp),
    }
}

fn connected(client: &Client, operation: &'static str) -> Result<TcpStream, Ending> {
    TcpStream::connect_timeout(&client.server, client.deadlines.connect)
        .map_err(|source| Ending::Connect { operation, source })
}

/// A UDP socket that the server has answered.
///
/// The greeting is sent once: the server would take a second one for data.
fn greeted(client: &Client, control: &mut ControlConnection) -> Result<UdpSocket, Ending> {
    let failed = |source| Ending::Connect { operation: "open a UDP stream to it", source };
    let socket = opened(client.server).map_err(failed)?;
    socket.send(&udp::GREETING.to_ne_bytes()).map_err(failed)?;
    let after = client.deadlines.answer;
    let until = Instant::now() + after;
    while Instant::now() < until {
        let mut answer = [0; 16];
        match socket.recv(&mut answer) {
            Ok(_) => return Ok(socket),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        // The server's reason, if it has one, is on the control connection.
        if control.wait(Instant::now() + TICK)? == Woken::Peer {
            super::session::refusal(control, client.deadlines.answer)?;
        }
    }
    Err(Ending::UdpUnanswered { after })
}

fn opened(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(TICK))?;
    Ok(socket)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
