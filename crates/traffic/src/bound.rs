//! Sockets of servers.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// A socket of a server with this address. The port can be used again at once after another server, and one
/// of IPv6 takes callers of IPv4, too, whatever the system's setting.
///
/// # Errors
/// The system's reason: most often another server has the port, or it needs privilege.
pub fn bound(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}
