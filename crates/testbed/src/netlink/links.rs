//! Interfaces, addresses and neighbours of a network namespace.
//!
//! Source: `linux/if_link.h`, `linux/if_addr.h`, `linux/neighbour.h`, `linux/rtnetlink.h`.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::flags::{CREATE, EXCLUSIVE};
use super::{Attributes, Connection, Protocol};

const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const NEW_ADDRESS: u16 = 20;
const NEW_NEIGHBOUR: u16 = 28;

/// Attributes of a link.
mod link {
    pub(super) const ADDRESS: u16 = 1;
    pub(super) const NAME: u16 = 3;
    pub(super) const MTU: u16 = 4;
    pub(super) const MASTER: u16 = 10;
    pub(super) const INFO: u16 = 18;
    pub(super) const INFO_KIND: u16 = 1;
    pub(super) const INFO_DATA: u16 = 2;
    pub(super) const NAMESPACE_FD: u16 = 28;
    pub(super) const VETH_PEER: u16 = 1;
    pub(super) const BRIDGE_MULTICAST_SNOOPING: u16 = 23;
}

/// Attributes of an address, and of a neighbour.
mod address {
    pub(super) const ADDRESS: u16 = 1;
    pub(super) const LOCAL: u16 = 2;
    pub(super) const BROADCAST: u16 = 4;
    pub(super) const DESTINATION: u16 = 1;
    pub(super) const LINK_LAYER: u16 = 2;
}

/// One end of a new pair, and its namespace.
#[derive(Debug, Clone, Copy)]
pub struct NewEnd<'a> {
    /// Its namespace; absent for that of the connection.
    pub namespace: Option<BorrowedFd<'a>>,
    /// Its name.
    pub name: &'a str,
    /// Its MAC address; absent for one of the kernel's choice.
    pub mac: Option<[u8; 6]>,
    /// Its MTU in octets; absent for the kernel's 1500.
    pub mtu: Option<u32>,
}

/// A connection that changes links.
#[derive(Debug)]
pub struct Links(Connection);

/// Makes a `struct ifinfomsg`; whether the link is up counts only if `is_up` is given.
pub(crate) fn link_message(index: u32, is_up: Option<bool>) -> Attributes {
    let (flags, change) = (u32::from(is_up == Some(true)), u32::from(is_up.is_some()));
    Attributes::after(&[0, index, flags, change].map(u32::to_ne_bytes).concat())
}

/// Makes a new link of a kind.
pub(crate) fn link_settings(name: &str, kind: &str, data: Option<&Attributes>) -> Attributes {
    let info = Attributes::new().with_text(link::INFO_KIND, kind);
    let info = match data {
        Some(data) => info.with_nested(link::INFO_DATA, data),
        None => info,
    };
    link_message(0, None).with_text(link::NAME, name).with_nested(link::INFO, &info)
}

impl Links {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// The system gives no such socket.
    pub fn here() -> io::Result<Self> {
        Connection::here(Protocol::Route).map(Self)
    }

    /// Makes a bridge that forwards at once (no spanning tree) and asks no station about multicast,
    /// and sets it up.
    ///
    /// # Errors
    /// The kernel refuses it, as all of these.
    pub fn add_bridge(&mut self, name: &str) -> io::Result<()> {
        let data = Attributes::new().with(link::BRIDGE_MULTICAST_SNOOPING, &[0]);
        let bridge = link_settings(name, "bridge", Some(&data));
        self.0.tell(NEW_LINK, CREATE | EXCLUSIVE, bridge.bytes())?;
        self.up(index_of(name)?)
    }

    /// Makes a veth pair, each end in its namespace.
    pub fn add_cable(&mut self, one: &NewEnd<'_>, other: &NewEnd<'_>) -> io::Result<()> {
        let peer = other.describe(link_message(0, None).with_text(link::NAME, other.name));
        let data = Attributes::new().with(link::VETH_PEER, peer.bytes());
        let pair = one.describe(link_settings(one.name, "veth", Some(&data)));
        self.0.tell(NEW_LINK, CREATE | EXCLUSIVE, pair.bytes())
    }

    /// Sets an interface up.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
        self.0.tell(NEW_LINK, 0, link_message(index, Some(true)).bytes())
    }

    /// Removes an interface.
    pub fn remove(&mut self, index: u32) -> io::Result<()> {
        self.0.tell(DEL_LINK, 0, link_message(index, None).bytes())
    }

    /// Makes an interface a port of a bridge, with a fixed entry that `beyond` is behind it.
    ///
    /// The entry is fixed because a learned one expires (after 300 s) if a station receives on one
    /// interface and answers through another, and the bridge would then send everything for it to
    /// all stations.
    pub fn plug(&mut self, port: u32, bridge: u32, beyond: [u8; 6]) -> io::Result<()> {
        // To a bridge, "no ARP" is a fixed entry, and "permanent" an address of the bridge itself.
        const NO_ARP: u16 = 0x40;
        const OF_BRIDGE: u8 = 4;
        let plugged = link_message(port, None).with_u32(link::MASTER, bridge);
        self.0.tell(NEW_LINK, 0, plugged.bytes())?;
        let entry = neighbour_message(libc::AF_BRIDGE, port, NO_ARP, OF_BRIDGE);
        let entry = entry.with(address::LINK_LAYER, &beyond);
        self.0.tell(NEW_NEIGHBOUR, CREATE | EXCLUSIVE, entry.bytes())
    }

    /// Gives an interface an address.
    pub fn add_address(&mut self, index: u32, own: IpAddr, prefix: u8) -> io::Result<()> {
        let head = [family(own) as u8, prefix, 0, 0];
        let message = Attributes::after(&[head, index.to_ne_bytes()].concat());
        let octets = octets(own);
        let mut message = message.with(address::ADDRESS, &octets);
        if let IpAddr::V4(own) = own {
            let hosts = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
            let broadcast = (own.to_bits() | hosts).to_be_bytes();
            message = message.with(address::LOCAL, &octets).with(address::BROADCAST, &broadcast);
        }
        self.0.tell(NEW_ADDRESS, CREATE | EXCLUSIVE, message.bytes())
    }

    /// Adds a permanent neighbour entry for an address.
    pub fn add_neighbour(&mut self, index: u32, of: IpAddr, mac: [u8; 6]) -> io::Result<()> {
        const PERMANENT: u16 = 0x80;
        let entry = neighbour_message(family(of), index, PERMANENT, 0)
            .with(address::DESTINATION, &octets(of))
            .with(address::LINK_LAYER, &mac);
        self.0.tell(NEW_NEIGHBOUR, CREATE | EXCLUSIVE, entry.bytes())
    }
}

impl NewEnd<'_> {
    fn describe(&self, mut message: Attributes) -> Attributes {
        if let Some(mac) = self.mac {
            message = message.with(link::ADDRESS, &mac);
        }
        if let Some(namespace) = self.namespace {
            let number = namespace.as_raw_fd().cast_unsigned();
            message = message.with_u32(link::NAMESPACE_FD, number);
        }
        match self.mtu {
            Some(mtu) => message.with_u32(link::MTU, mtu),
            None => message,
        }
    }
}

/// Makes a `struct ndmsg`.
fn neighbour_message(family: libc::c_int, index: u32, state: u16, flags: u8) -> Attributes {
    let [low, high] = state.to_ne_bytes();
    let end = [low, high, flags, 0];
    Attributes::after(&[[family as u8, 0, 0, 0], index.to_ne_bytes(), end].concat())
}

fn family(address: IpAddr) -> libc::c_int {
    if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The number of an interface in the calling thread's namespace.
pub(crate) fn index_of(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}
