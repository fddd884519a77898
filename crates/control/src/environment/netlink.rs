//! Requests interfaces and their offloads from the kernel (rtnetlink(7), ethtool's generic netlink
//! family).
//!
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use btu_testbed::netlink::{
    Attributes, Connection, Protocol, attributes, find, text_of, u16_at, u32_at,
};

use super::network::Interface;

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

/// The flag of an attribute that holds attributes, which ethtool's family wants.
const NESTED: u16 = 0x8000;

/// `struct genlmsghdr`: command, version, reserved.
const GENERIC_HEADER_BYTES: usize = 4;

/// The interfaces of the calling thread's network namespace. Features are empty where the kernel
/// has no ethtool family (before Linux 5.6).
pub(super) fn interfaces() -> io::Result<BTreeMap<String, Interface>> {
    let mut interfaces = links()?;
    // Without the family there are no features to add; the rest of the record is valid.
    if let Ok(mut features) = Features::open() {
        for (name, interface) in &mut interfaces {
            interface.features = features.of(name).unwrap_or_default();
        }
    }
    Ok(interfaces)
}

fn links() -> io::Result<BTreeMap<String, Interface>> {
    let mut route = Connection::here(Protocol::Route)?;
    let parts = route.list(link::GET, &[0; link::HEADER_BYTES])?;
    Ok(parts.iter().filter_map(|part| interface(part)).collect())
}

/// A name and what belongs to it, from one `RTM_NEWLINK`.
fn interface(part: &[u8]) -> Option<(String, Interface)> {
    let all = part.get(link::HEADER_BYTES..)?;
    let kind = find(all, link::INFO).and_then(|info| find(info, link::INFO_KIND));
    let interface = Interface {
        mtu_bytes: find(all, link::MTU).and_then(|mtu| u32_at(mtu, 0)),
        queueing: find(all, link::QUEUEING).map(text_of),
        kind: kind.map(text_of),
        features: BTreeSet::new(),
    };
    Some((text_of(find(all, link::NAME)?), interface))
}

/// A connection to the ethtool family of netlink.
struct Features {
    generic: Connection,
    family: u16,
}

impl Features {
    fn open() -> io::Result<Self> {
        let mut generic = Connection::here(Protocol::Generic)?;
        let name = Attributes::new().with_text(control::FAMILY_NAME, "ethtool");
        let parts = generic.command(control::FAMILY, control::GET_FAMILY, name.bytes())?;
        let family = parts.iter().find_map(|part| {
            u16_at(find(part.get(GENERIC_HEADER_BYTES..)?, control::FAMILY_ID)?, 0)
        });
        family
            .map(|family| Self { generic, family })
            .ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// The features that are on.
    fn of(&mut self, interface: &str) -> io::Result<BTreeSet<String>> {
        let name = Attributes::new().with_text(ethtool::HEADER_DEVICE_NAME, interface);
        let header = Attributes::new().with_nested(ethtool::FEATURES_HEADER | NESTED, &name);
        let parts = self.generic.command(self.family, ethtool::FEATURES_GET, header.bytes())?;
        Ok(parts.iter().flat_map(|part| active(part)).collect())
    }
}

/// The names in the bit set of active features; it has no mask, so all listed features are on.
fn active(part: &[u8]) -> Vec<String> {
    let all = part.get(GENERIC_HEADER_BYTES..).unwrap_or_default();
    let bits = find(all, ethtool::FEATURES_ACTIVE).and_then(|set| find(set, ethtool::BITSET_BITS));
    attributes(bits.unwrap_or_default())
        .filter_map(|(_, bit)| find(bit, ethtool::BIT_NAME).map(text_of))
        .collect()
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
        let Ok(mut features) = Features::open() else {
            assert!(
                std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
                "no ethtool family"
            );
            return eprintln!(
                "LAB SKIPPED: this kernel has no ethtool family (CONFIG_ETHTOOL_NETLINK)"
            );
        };
        let error = features.of("nowhere0").unwrap_err();
        assert_eq!(btu_testbed::netlink::error_number(&error), Some(nix::libc::ENODEV), "{error}");
    }
}
