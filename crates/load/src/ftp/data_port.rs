//! Identifies the client of a session's data connection: the FTP library accepts the first caller
//! of a data port, but only the client of the control connection may get a file there.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use nix::sys::socket::{SockaddrStorage, getpeername, getsockname};

/// The open files of the calling thread, a number each (proc(5)).
const OPEN_FILES: &str = "/proc/thread-self/fd";

/// The data port that a session opened last, and the client that it is for.
#[derive(Debug, Clone)]
pub(super) struct DataPort {
    client: IpAddr,
    port: Arc<AtomicU16>,
}

impl DataPort {
    /// None yet; `client` is the one of the control connection.
    pub(super) fn of(client: IpAddr) -> Self {
        Self { client: client.to_canonical(), port: Arc::default() }
    }

    /// The address of the client of the port.
    pub(super) fn client(&self) -> IpAddr {
        self.client
    }

    /// From now on it is this one.
    pub(super) fn set(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }

    /// Whether no process but the client is connected to it.
    ///
    /// # Errors
    /// The open files of this process cannot be listed.
    pub(super) fn is_the_clients(&self) -> io::Result<bool> {
        let port = self.port.load(Ordering::Relaxed);
        let files = fs::read_dir(OPEN_FILES)?.flatten();
        let numbers = files.filter_map(|file| file.file_name().to_str()?.parse().ok());
        let mut callers = numbers.filter_map(|file| caller(file, port));
        Ok(callers.all(|caller| caller == self.client))
    }
}

/// The address that is connected to `port` by this open file, if it is such a connection.
fn caller(file: RawFd, port: u16) -> Option<IpAddr> {
    // Descriptors that are not connected internet sockets have no such names.
    let (_, local) = ends(&getsockname(file).ok()?)?;
    let (caller, _) = ends(&getpeername(file).ok()?)?;
    (local == port).then(|| caller.to_canonical())
}

fn ends(name: &SockaddrStorage) -> Option<(IpAddr, u16)> {
    let four = name.as_sockaddr_in().map(|name| (name.ip().into(), name.port()));
    four.or_else(|| name.as_sockaddr_in6().map(|name| (name.ip().into(), name.port())))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn whoever_else_is_connected_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let client: IpAddr = "127.0.0.1".parse().expect("an address");
        let (own, other) =
            (DataPort::of(client), DataPort::of("127.0.0.9".parse().expect("an address")));
        for port in [&own, &other] {
            port.set(address.port());
            assert!(port.is_the_clients().expect("listed"), "nobody is connected yet");
        }
        let _there = TcpStream::connect(address).expect("connected");
        let (_here, _) = listener.accept().expect("accepted");
        assert!(own.is_the_clients().expect("listed"));
        assert!(!other.is_the_clients().expect("listed"));
    }
}
