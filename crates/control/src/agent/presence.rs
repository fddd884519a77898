//! Which agents live in this network namespace. What one that lives has done to an interface is not what a dead one has
//! left, though both look the same.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::octets::{hex, random};

/// What the names of agents begin with.
pub(super) const AGENTS: &str = "btu-agent-";

/// One that lives among its kind. Its name is that of an abstract Unix socket (unix(7)): the kernel keeps such names for each
/// network namespace, and takes them back when the process ends, however it ends.
pub(super) struct Presence {
    kind: String,
    name: String,
    _socket: UnixDatagram,
}

impl Presence {
    /// Takes a name of this kind that nobody else has.
    pub(super) fn announce(kind: &str) -> io::Result<Self> {
        let name = format!("{kind}{}", hex(&random::<8>()?));
        let address = SocketAddr::from_abstract_name(&name)?;
        Ok(Self { kind: kind.to_owned(), name, _socket: UnixDatagram::bind_addr(&address)? })
    }

    /// Whether no other of this kind lives here. Of two that begin at the same moment neither is alone.
    pub(super) fn is_alone(&self) -> io::Result<bool> {
        let sockets = fs::read_to_string("/proc/self/net/unix")?;
        // The last column is the name; `@` stands for the zero octet that abstract names begin with.
        let names = sockets.lines().filter_map(|line| line.split_whitespace().last()?.strip_prefix('@'));
        Ok(names.filter(|name| name.starts_with(&self.kind)).all(|name| name == self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_alone_until_another_comes_and_the_last_when_the_others_are_gone() {
        // Agents may live on this machine while it is tested, but none of this kind.
        let kind = format!("btu-test-{}-", hex(&random::<8>().unwrap()));
        let first = Presence::announce(&kind).unwrap();
        assert!(first.is_alone().unwrap());
        let second = Presence::announce(&kind).unwrap();
        assert!(!first.is_alone().unwrap() && !second.is_alone().unwrap());
        drop(first);
        assert!(second.is_alone().unwrap());
    }
}
