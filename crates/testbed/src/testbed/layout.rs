//! The interfaces of a testbed, their places and names. It is plain data, computed before anything
//! is created.

mod bare;
mod drawn;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use btu_network::Drawing;

pub(super) use bare::{input_address, wire_inner, wire_outer};
pub(super) use drawn::{port_of, smallest_mtu};

use super::design::Design;

/// Name of the bridge between the stations.
pub(super) const LAN: &str = "lan";

/// Up to this number of stations, all know each other's Ethernet addresses from the start, so that
/// no ARP frames are needed. Each knows all others, and the kernel has one table for all
/// namespaces; beyond this, stations resolve addresses as hosts do (RFC 826), when they send.
const MOST_ACQUAINTED: usize = 64;

/// The longest name that an interface may have (`IFNAMSIZ` less its closing zero).
const LONGEST_INTERFACE_NAME: usize = 15;

/// Length of the network's part of every address: 198.18.0.0/15 (RFC 2544, appendix C.2.2).
const PREFIX: u8 = 15;

/// Like `PREFIX`, for IPv6: `2001:2::/48` (RFC 5180, section 8).
const PREFIX_IPV6: u8 = 48;

/// The IPv6 address of the station with this IPv4 address, with the length of the network's part:
/// the last 32 bits are equal.
pub(super) fn ipv6_of(address: Ipv4Addr) -> (Ipv6Addr, u8) {
    let [high, low] = [u32::from(address) >> 16, u32::from(address) & 0xffff];
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, high as u16, low as u16), PREFIX_IPV6)
}

/// The Ethernet address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mac(pub(super) [u8; 6]);

/// A network namespace of the testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TestbedNamespace {
    /// The namespace of the bridge and the wire.
    Wire,
    /// The namespace of one station, by its index in the list of stations.
    Station(usize),
}

/// One end of a cable: an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CableEnd {
    pub(super) place: TestbedNamespace,
    pub(super) name: String,
    pub(super) mac: Mac,
    /// Address and prefix length.
    pub(super) address: Option<(Ipv4Addr, u8)>,
    /// Whether segmentation and checksums may be left to the "hardware", as the kernel starts it.
    pub(super) offloads: bool,
    /// Longest packet in bytes, if it differs from the kernel's default.
    pub(super) mtu: Option<u32>,
    /// On the bridge: the Ethernet address that is reached through this port.
    pub(super) lan_port_of: Option<Mac>,
}

/// A pair of virtual Ethernet interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cable(pub(super) CableEnd, pub(super) CableEnd);

/// The layout of a whole testbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Whether there is a bridge.
    pub(super) lan: bool,
    pub(super) cables: Vec<Cable>,
    /// The stations' names, in their order.
    pub(super) stations: Vec<String>,
    /// Whether each station knows the others' Ethernet addresses from the start.
    pub(super) acquainted: bool,
    /// Whether stations have IPv6 addresses in addition to those of IPv4.
    pub(super) ipv6: bool,
}

impl Layout {
    /// The layout for `design`.
    pub(super) fn of(design: &Design) -> Self {
        let layout =
            if design.drawing.bare { bare::layout(design) } else { drawn::layout(&design.drawing) };
        Self { ipv6: design.ipv6, ..layout }
    }

    /// The layout of the stations, without cables.
    fn of_stations(drawing: &Drawing) -> Self {
        let stations: Vec<String> =
            drawing.stations.iter().map(|station| station.name.clone()).collect();
        let acquainted = stations.len() <= MOST_ACQUAINTED;
        Self { lan: false, cables: Vec::new(), acquainted, stations, ipv6: false }
    }

    /// Every place: the stations, then the wire's.
    pub(super) fn places(&self) -> impl Iterator<Item = TestbedNamespace> + use<> {
        (0..self.stations.len()).map(TestbedNamespace::Station).chain([TestbedNamespace::Wire])
    }

    /// The name of a place in errors.
    pub(super) fn name(&self, place: TestbedNamespace) -> String {
        match place {
            TestbedNamespace::Wire => "the link emulator's namespace".to_owned(),
            TestbedNamespace::Station(number) => format!("station {}", self.stations[number]),
        }
    }

    /// The ends in `place`.
    pub(super) fn ends_in(&self, place: TestbedNamespace) -> impl Iterator<Item = &CableEnd> {
        self.ends().filter(move |end| end.place == place)
    }

    /// The addresses outside `place`, each with its Ethernet address; empty if stations must
    /// resolve them.
    pub(super) fn neighbours_of(
        &self,
        place: TestbedNamespace,
    ) -> impl Iterator<Item = (IpAddr, Mac)> {
        let others = self.ends().filter(move |end| self.acquainted && end.place != place);
        others.flat_map(|end| self.addresses(end).map(|(address, _)| (address, end.mac)))
    }

    /// Every address of an end, with its prefix length.
    pub(super) fn addresses(&self, end: &CableEnd) -> impl Iterator<Item = (IpAddr, u8)> + use<> {
        let second = end.address.filter(|_| self.ipv6).map(|(address, _)| ipv6_of(address));
        let first = end.address.map(|(address, prefix)| (IpAddr::from(address), prefix));
        first.into_iter().chain(second.map(|(address, prefix)| (IpAddr::from(address), prefix)))
    }

    fn ends(&self) -> impl Iterator<Item = &CableEnd> {
        self.cables.iter().flat_map(|Cable(one, other)| [one, other])
    }
}

/// The name of an interface: `prefix` and the station's name, or its number (from 1) where that
/// would be too long.
fn named(drawing: &Drawing, prefix: &str, number: usize) -> String {
    let name = format!("{prefix}-{}", drawing.stations[number].name);
    if name.len() <= LONGEST_INTERFACE_NAME { name } else { format!("{prefix}{}", number + 1) }
}

fn wire_end(name: String, mac: Mac, offloads: bool) -> CableEnd {
    CableEnd {
        place: TestbedNamespace::Wire,
        name,
        mac,
        address: None,
        offloads,
        mtu: None,
        lan_port_of: None,
    }
}
