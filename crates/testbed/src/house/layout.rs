//! Which interfaces a house has, where they stand and what they are called: data, decided before anything is made.
//!
//! ```text
//! veth:  test eth0 ----- s-test    \                     path:  test    eth0 --- p-test    \
//!        active eth0 --- s-active   > bridge `lan`              active  eth0 --- p-active   > the wire
//!        passive eth0 -- s-passive /                            passive eth0 --- p-passive /
//!        active eth1 --- out-active =wire= in-active --- l-active (on `lan`); the same for passive
//! ```
//!
//! Addresses are of 198.18.0.0/15, reserved for benchmarks (RFC 2544, appendix C.2.2). On `veth` a black box hears
//! packets for its second address on `eth1`, behind the wire, and answers them through `eth0`: the wire works on what
//! *comes in* to a black box and on nothing else.

use std::fmt;
use std::net::Ipv4Addr;

use btu_suite::network::{Network, Station};

/// Name of the bridge between the stations.
pub(super) const LAN: &str = "lan";

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mac(pub(super) [u8; 6]);

impl Mac {
    /// Locally administered (bit 1 of the first byte), then "btu", then who and which.
    const fn of(holder: u8, which: u8) -> Self {
        Self([0x02, b'b', b't', b'u', holder, which])
    }
}

/// A network namespace of the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the bridge and the wire are.
    Wire,
    /// Where one station is.
    Station(Station),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire => f.write_str("the wire's namespace"),
            Self::Station(station) => write!(f, "station {station}"),
        }
    }
}

/// One end of a cable: an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) mac: Mac,
    /// Address and prefix length.
    pub(super) address: Option<(Ipv4Addr, u8)>,
    /// Whether segmentation and checksums may be left to the "hardware", as the kernel starts it.
    pub(super) offloads: bool,
    /// On the bridge: the Ethernet address that is reached through this port.
    pub(super) lan_port_of: Option<Mac>,
}

/// A veth pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cable(pub(super) End, pub(super) End);

/// A whole house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Whether there is a bridge.
    pub(super) lan: bool,
    pub(super) cables: Vec<Cable>,
    impaired_apart: bool,
}

impl Layout {
    /// The layout for `network`.
    pub(super) fn of(network: &Network) -> Self {
        match network {
            Network::Veth => Self { lan: true, cables: veth_cables(), impaired_apart: true },
            Network::Path(_) => {
                Self { lan: false, cables: Station::ALL.into_iter().map(path_cable).collect(), impaired_apart: false }
            }
        }
    }

    /// The ends that stand in `place`.
    pub(super) fn ends_in(&self, place: Place) -> impl Iterator<Item = &End> {
        self.ends().filter(move |end| end.place == place)
    }

    /// Where other places than `place` are found: every address outside it, with its Ethernet address.
    pub(super) fn neighbours_of(&self, place: Place) -> impl Iterator<Item = (Ipv4Addr, Mac)> {
        self.ends().filter(move |end| end.place != place).filter_map(|end| Some((end.address?.0, end.mac)))
    }

    /// The address that leads to `station` untouched.
    #[allow(clippy::unused_self)] // the face of `impaired`
    pub(super) fn plain(&self, station: Station) -> Ipv4Addr {
        plain_address(station)
    }

    /// The address that leads to `station` through what its black box does to packets.
    pub(super) fn impaired(&self, station: Station) -> Ipv4Addr {
        if self.impaired_apart && station.is_black_box() { impaired_address(station) } else { self.plain(station) }
    }

    /// The wire's interface towards `station` on an emulated path.
    pub(super) fn path_port(station: Station) -> String {
        format!("p-{station}")
    }

    /// The wire's interface towards the bridge, for what goes to `station` by its impaired way.
    pub(super) fn wire_inner(station: Station) -> String {
        format!("in-{station}")
    }

    /// The wire's interface towards `station` on its impaired way.
    pub(super) fn wire_outer(station: Station) -> String {
        format!("out-{station}")
    }

    fn ends(&self) -> impl Iterator<Item = &End> {
        self.cables.iter().flat_map(|Cable(one, other)| [one, other])
    }
}

/// The number of a station in addresses: test 1, active 2, passive 3.
const fn number(station: Station) -> u8 {
    match station {
        Station::Test => 1,
        Station::Active => 2,
        Station::Passive => 3,
    }
}

const fn plain_address(station: Station) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, number(station))
}

const fn impaired_address(station: Station) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 1, number(station))
}

/// Holder numbers of Ethernet addresses that are not a station's own: the far ends of cables, by their kind.
const FAR_SIDE: u8 = 0x10;
const WIRE_OUTER: u8 = 0x20;
const WIRE_INNER: u8 = 0x30;
const LAN_SIDE: u8 = 0x40;

fn veth_cables() -> Vec<Cable> {
    let boxes = || Station::ALL.into_iter().filter(|station| station.is_black_box());
    Station::ALL.into_iter().map(lan_cable).chain(boxes().map(impaired_cable)).chain(boxes().map(wire_cable)).collect()
}

/// A station's place on the bridge. Offloads stay on: a station sends as a host of today sends.
fn lan_cable(station: Station) -> Cable {
    let mine = station_end(station, true);
    let port = wire_end(format!("s-{station}"), Mac::of(FAR_SIDE, number(station)), true);
    let port = End { lan_port_of: Some(mine.mac), ..port };
    Cable(mine, port)
}

/// A station's end of an emulated line. Offloads off: a frame on that line is a frame.
fn path_cable(station: Station) -> Cable {
    let port = wire_end(Layout::path_port(station), Mac::of(FAR_SIDE, number(station)), false);
    Cable(station_end(station, false), port)
}

/// From the wire to a black box's second interface.
fn impaired_cable(station: Station) -> Cable {
    let mine = End {
        place: Place::Station(station),
        name: "eth1".to_owned(),
        mac: Mac::of(number(station), 1),
        address: Some((impaired_address(station), 32)),
        offloads: false,
        lan_port_of: None,
    };
    Cable(mine, wire_end(Layout::wire_outer(station), Mac::of(WIRE_OUTER, number(station)), false))
}

/// From the bridge to the wire. Offloads off: the bridge's port must cut superframes before the wire sees them.
fn wire_cable(station: Station) -> Cable {
    let port = wire_end(format!("l-{station}"), Mac::of(LAN_SIDE, number(station)), false);
    let port = End { lan_port_of: Some(Mac::of(number(station), 1)), ..port };
    Cable(port, wire_end(Layout::wire_inner(station), Mac::of(WIRE_INNER, number(station)), false))
}

fn station_end(station: Station, offloads: bool) -> End {
    End {
        place: Place::Station(station),
        name: "eth0".to_owned(),
        mac: Mac::of(number(station), 0),
        address: Some((plain_address(station), 15)),
        offloads,
        lan_port_of: None,
    }
}

fn wire_end(name: String, mac: Mac, offloads: bool) -> End {
    End { place: Place::Wire, name, mac, address: None, offloads, lan_port_of: None }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use btu_suite::network::Path;
    use btu_units::{BitRate, Span};

    use super::*;

    fn path() -> Layout {
        let rate = BitRate::from_bits_per_second(10_000_000);
        Layout::of(&Network::Path(Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 }))
    }

    #[test]
    fn every_interface_has_its_own_name_and_ethernet_address() {
        for layout in [Layout::of(&Network::Veth), path()] {
            let mut names = HashSet::new();
            let mut macs = HashSet::new();
            for end in layout.ends() {
                assert!(end.name.len() < 16, "{} is too long for the kernel", end.name);
                assert!(names.insert((end.place.to_string(), end.name.clone())), "{} twice", end.name);
                assert!(macs.insert(end.mac), "{:?} twice", end.mac);
            }
        }
    }

    #[test]
    fn only_black_boxes_are_impaired_and_only_veth_has_two_addresses() {
        let veth = Layout::of(&Network::Veth);
        assert_eq!(veth.impaired(Station::Test), veth.plain(Station::Test));
        assert_eq!(veth.impaired(Station::Passive), Ipv4Addr::new(198, 18, 1, 3));
        assert!(Station::ALL.iter().all(|&station| path().impaired(station) == path().plain(station)));
    }

    #[test]
    fn everybody_knows_everybody_else() {
        let known = |layout: &Layout, place| layout.neighbours_of(place).count();
        let veth = Layout::of(&Network::Veth);
        assert_eq!(known(&veth, Place::Station(Station::Test)), 4);
        assert_eq!(known(&veth, Place::Station(Station::Active)), 3);
        assert_eq!(known(&path(), Place::Station(Station::Active)), 2);
    }

    #[test]
    fn every_station_interface_on_the_bridge_is_behind_exactly_one_port() {
        let veth = Layout::of(&Network::Veth);
        let behind: Vec<Mac> = veth.ends().filter_map(|end| end.lan_port_of).collect();
        let stations: Vec<Mac> = veth.ends().filter(|end| end.place != Place::Wire).map(|end| end.mac).collect();
        assert_eq!(behind.iter().collect::<HashSet<_>>(), stations.iter().collect::<HashSet<_>>());
        assert_eq!(behind.len(), stations.len());
    }

    #[test]
    fn a_mac_is_local_and_single() {
        let Mac([first, ..]) = Mac::of(1, 0);
        assert_eq!(first & 0b11, 0b10);
    }
}
