//! Requests interfaces and their offloads from the kernel (rtnetlink(7), ethtool's generic netlink
//! family).
//!
//! Two short conversations over plain sockets. Sending and receiving is here, the format is in
//! [`message`].

mod message;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::network::Interface;
use message::{MessageKind, NetlinkAttributes, NetlinkRequest};

/// The kernel's parts are at most 32 kB (`NLMSG_GOODSIZE` of a dump grows up to that).
const BUFFER_BYTES: usize = 64 * 1024;

/// The kernel answers at once; the timeout only guards against a faulty kernel.
const TIMEOUT_SECONDS: i64 = 2;

/// More parts than this are not an answer but an endless stream.
const MOST_PARTS: usize = 10_000;

/// `linux/genetlink.h`: the controller, which has the other families' numbers.
mod control {
    pub(super) const FAMILY: u16 = 0x10;
    pub(super) const GET_FAMILY: u8 = 3;
    pub(super) const FAMILY_ID: u16 = 1;
    pub(super) const FAMILY_NAME: u16 = 2;
}

/// Constants of `linux/ethtool_netlink.h`.
mod ethtool {
    pub(super) const FEATURES_GET: u8 = 11;
    pub(super) const FEATURES_HEADER: u16 = 1;
    pub(super) const FEATURES_ACTIVE: u16 = 4;
    pub(super) const HEADER_DEVICE_NAME: u16 = 2;
    pub(super) const BITSET_BITS: u16 = 3;
    pub(super) const BIT_NAME: u16 = 2;
}

/// Constants of `linux/if_link.h` and `linux/rtnetlink.h`.
mod link {
    pub(super) const GET: u16 = 18;
    /// `struct ifinfomsg`: family, padding, type, index, flags, change mask.
    pub(super) const HEADER_BYTES: usize = 16;
    pub(super) const NAME: u16 = 3;
    pub(super) const MTU: u16 = 4;
    pub(super) const QUEUEING: u16 = 6;
    pub(super) const INFO: u16 = 18;
    pub(super) const INFO_KIND: u16 = 1;
}

/// `struct genlmsghdr`: command, version, reserved.
const GENERIC_HEADER_BYTES: usize = 4;

/// The interfaces of the calling thread's network namespace. Features are empty where the kernel
/// has no ethtool family (before Linux 5.6).
pub(super) fn interfaces() -> io::Result<BTreeMap<String, Interface>> {
    let mut interfaces = links()?;
    // Without the family there are no features to add; the rest of the record is valid.
    if let Ok(features) = Features::open() {
        for (name, interface) in &mut interfaces {
            interface.features = features.of(name).unwrap_or_default();
        }
    }
    Ok(interfaces)
}

fn links() -> io::Result<BTreeMap<String, Interface>> {
    let route = Conversation::open(SockProtocol::NetlinkRoute)?;
    let parts = route.ask(&NetlinkRequest::dump(link::GET, &[0; link::HEADER_BYTES]))?;
    Ok(parts.iter().filter_map(|part| interface(part)).collect())
}

/// A name and what belongs to it, from one `RTM_NEWLINK`.
fn interface(part: &[u8]) -> Option<(String, Interface)> {
    let attributes = NetlinkAttributes::of(part.get(link::HEADER_BYTES..)?);
    let interface = Interface {
        mtu_bytes: attributes.value(link::MTU).and_then(message::u32_of),
        queueing: attributes.value(link::QUEUEING).map(message::text_of),
        kind: attributes.nested(link::INFO).value(link::INFO_KIND).map(message::text_of),
        features: BTreeSet::new(),
    };
    Some((message::text_of(attributes.value(link::NAME)?), interface))
}

/// A connection to the ethtool family of netlink.
struct Features {
    generic: Conversation,
    family: u16,
}

impl Features {
    fn open() -> io::Result<Self> {
        let generic = Conversation::open(SockProtocol::NetlinkGeneric)?;
        let name = message::attribute(control::FAMILY_NAME, b"ethtool\0");
        let parts =
            generic.ask(&NetlinkRequest::generic(control::FAMILY, control::GET_FAMILY, &name))?;
        let family = parts.iter().find_map(|part| {
            NetlinkAttributes::of(part.get(GENERIC_HEADER_BYTES..)?)
                .value(control::FAMILY_ID)
                .and_then(message::u16_of)
        });
        family
            .map(|family| Self { generic, family })
            .ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// The features that are on.
    fn of(&self, interface: &str) -> io::Result<BTreeSet<String>> {
        let mut name = interface.as_bytes().to_vec();
        name.push(0);
        let header = message::nest(
            ethtool::FEATURES_HEADER,
            &message::attribute(ethtool::HEADER_DEVICE_NAME, &name),
        );
        let parts = self.generic.ask(&NetlinkRequest::generic(
            self.family,
            ethtool::FEATURES_GET,
            &header,
        ))?;
        Ok(parts.iter().flat_map(|part| active(part)).collect())
    }
}

/// The names in the bit set of active features; it has no mask, so all listed features are on.
fn active(part: &[u8]) -> Vec<String> {
    let attributes = NetlinkAttributes::of(part.get(GENERIC_HEADER_BYTES..).unwrap_or_default());
    let bits = attributes.nested(ethtool::FEATURES_ACTIVE).nested(ethtool::BITSET_BITS);
    bits.filter_map(|(_, bit)| {
        NetlinkAttributes::of(bit).value(ethtool::BIT_NAME).map(message::text_of)
    })
    .collect()
}

/// A netlink socket for one request at a time.
struct Conversation {
    socket: OwnedFd,
}

impl Conversation {
    fn open(protocol: SockProtocol) -> io::Result<Self> {
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(TIMEOUT_SECONDS))?;
        Ok(Self { socket })
    }

    /// Sends a request and gathers the bodies of all parts of its answer.
    fn ask(&self, request: &NetlinkRequest) -> io::Result<Vec<Vec<u8>>> {
        send(self.socket.as_raw_fd(), request.bytes(), MsgFlags::empty())?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut parts = Vec::new();
        while parts.len() < MOST_PARTS {
            let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for (kind, body) in message::split(&buffer[..length.min(BUFFER_BYTES)]) {
                match kind {
                    MessageKind::Part => parts.push(body.to_vec()),
                    MessageKind::End => return Ok(parts),
                    MessageKind::Error(errno) => return Err(io::Error::from_raw_os_error(errno)),
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer has no end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_with_its_features() {
        let interfaces = interfaces().unwrap();
        let loopback = &interfaces["lo"];
        assert_eq!(loopback.queueing.as_deref(), Some("noqueue"));
        assert!(loopback.mtu_bytes.unwrap() >= 1500);
        assert!(
            loopback.features.is_empty() || loopback.features.contains("loopback"),
            "{:?}",
            loopback.features
        );
    }

    #[test]
    fn an_unknown_interface_is_an_error() {
        let Ok(features) = Features::open() else {
            assert!(
                std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
                "no ethtool family"
            );
            return eprintln!(
                "LAB SKIPPED: this kernel has no ethtool family (CONFIG_ETHTOOL_NETLINK)"
            );
        };
        assert_eq!(features.of("nowhere0").unwrap_err().raw_os_error(), Some(nix::libc::ENODEV));
    }
}
