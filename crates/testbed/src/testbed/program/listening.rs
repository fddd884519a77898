//! Finds the sockets that wait for others in this station (proc(5), /proc/net/tcp, tcp6, udp and udp6).

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a TCP socket that listens, and of a UDP socket that is not connected
/// (`linux/tcp_states.h`).
const LISTEN: &str = "0A";
const UNCONNECTED: &str = "07";

/// The first port that the kernel gives by itself (`ip_local_port_range`): a client's UDP socket has
/// such a port, too.
const FIRST_EPHEMERAL: u16 = 32768;

/// Addresses at which a process listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Listening(Vec<SocketAddr>);

impl Listening {
    /// As it is now.
    pub(super) fn now() -> io::Result<Self> {
        let read = |name: &str| match fs::read_to_string(format!("/proc/self/net/{name}")) {
            // Without IPv6 there is no such file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        };
        Ok(Self::of(
            &["tcp", "tcp6", "udp", "udp6"]
                .map(read)
                .into_iter()
                .collect::<io::Result<String>>()?,
        ))
    }

    fn of(tables: &str) -> Self {
        let address = |line: &str| {
            let mut messages = line.split_whitespace().skip(1);
            let (local, state) = (messages.next()?, messages.nth(1)?);
            let address = socket_address(local)?;
            let is_served = address.port() < FIRST_EPHEMERAL;
            (state == LISTEN || state == UNCONNECTED && is_served).then_some(address)
        };
        Self(tables.lines().filter_map(address).collect())
    }

    /// Those that are not in `before`, at this port if one is given.
    pub(super) fn beyond(&self, before: &Self, port: Option<u16>) -> Self {
        let is_new = |address: &&SocketAddr| match port {
            Some(port) => address.port() == port,
            None => !before.0.contains(address),
        };
        Self(self.0.iter().filter(is_new).copied().collect())
    }

    /// Whether other stations reach one of them.
    pub(super) fn is_reachable(&self) -> bool {
        self.0.iter().any(|address| !is_loopback(address.ip()))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(" and "))
    }
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
    }
}

/// Words of 32 bits in hexadecimal digits, each in this machine's order of octets.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let messages = address
        .as_bytes()
        .chunks(8)
        .map(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    let octets: Vec<u8> =
        messages.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let address = match octets.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_kernels_tables_are_read() {
        let tables = "  sl  local_address rem_address   st tx_queue\n\
                      \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
                      \x20  1: 0200000A:0016 0300000A:C001 01 00000000:00000000\n\
                      \x20  0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0\n\
                      \x20  1: 0000000000000000FFFF00000100007F:0051 00000000000000000000000000000000:0000 0A 0\n nonsense\n";
        let listening = Listening::of(tables);
        assert_eq!(listening.to_string(), "127.0.0.1:8080 and [::]:80 and [::ffff:127.0.0.1]:81");
        assert!(listening.is_reachable());
        assert!(!listening.beyond(&Listening::default(), Some(81)).is_reachable());
        assert!(listening.beyond(&listening, None).is_empty());
        assert!(!listening.beyond(&listening, Some(80)).is_empty());
    }

    #[test]
    fn a_socket_that_listens_is_seen() {
        let before = Listening::now().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Listening::now().unwrap().beyond(&before, Some(address.port()));
        assert_eq!(seen.to_string(), address.to_string());
        assert!(!seen.is_reachable());
    }

    /// A server of UDP has a port of its own choice; a client's is the kernel's, or it is connected.
    #[test]
    fn a_udp_socket_that_waits_for_others_is_seen() {
        let port = 1024 + (std::process::id() % 30_000) as u16;
        let before = Listening::now().unwrap();
        let server = UdpSocket::bind(("0.0.0.0", port)).unwrap();
        let client = UdpSocket::bind("0.0.0.0:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let others = UdpSocket::bind("0.0.0.0:0").unwrap();
        let seen = Listening::now().unwrap().beyond(&before, None).to_string();
        assert!(seen.contains(&format!("0.0.0.0:{port}")), "{seen}");
        for port in [client, others].map(|socket| socket.local_addr().unwrap().port()) {
            assert!(!seen.contains(&port.to_string()), "{seen}");
        }
    }
}
