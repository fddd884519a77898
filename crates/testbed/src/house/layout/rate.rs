//! The house of `btu rate`: the test station and its black boxes.
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

use std::net::Ipv4Addr;

use btu_suite::network::{Network, Station};

use super::{Cable, End, Layout, Mac, PREFIX, Place, wire_end};

/// The layout for `network`.
pub(super) fn layout(network: &Network) -> Layout {
    let stations = Station::ALL.iter().map(|station| station.name().to_owned()).collect();
    match network {
        Network::Veth => Layout { lan: true, cables: veth_cables(), stations, acquainted: true },
        Network::Path(_) => {
            let cables = Station::ALL.into_iter().map(path_cable).collect();
            Layout { lan: false, cables, stations, acquainted: true }
        }
        // Real hosts stand already.
        Network::Machines(_) => Layout { lan: false, cables: Vec::new(), stations, acquainted: false },
    }
}

/// The address that leads to `station` untouched.
pub(in super::super) const fn plain(station: Station) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, number(station))
}

/// The address that leads to `station` through what its black box does to packets.
pub(in super::super) fn impaired(network: &Network, station: Station) -> Ipv4Addr {
    match network {
        Network::Veth if station.is_black_box() => impaired_address(station),
        _ => plain(station),
    }
}

/// The wire's interface towards `station` on an emulated path.
pub(in super::super) fn path_port(station: Station) -> String {
    format!("p-{station}")
}

/// The wire's interface towards the bridge, for what goes to `station` by its impaired way.
pub(in super::super) fn wire_inner(station: Station) -> String {
    format!("in-{station}")
}

/// The wire's interface towards `station` on its impaired way.
pub(in super::super) fn wire_outer(station: Station) -> String {
    format!("out-{station}")
}

/// Locally administered (bit 1 of the first byte), then "btu", then who and which.
const fn mac(holder: u8, which: u8) -> Mac {
    Mac([0x02, b'b', b't', b'u', holder, which])
}

fn place(station: Station) -> Place {
    Place::Station(usize::from(number(station)) - 1)
}

/// The number of a station in addresses: test 1, active 2, passive 3.
const fn number(station: Station) -> u8 {
    match station {
        Station::Test => 1,
        Station::Active => 2,
        Station::Passive => 3,
    }
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
    let port = wire_end(format!("s-{station}"), mac(FAR_SIDE, number(station)), true);
    let port = End { lan_port_of: Some(mine.mac), ..port };
    Cable(mine, port)
}

/// A station's end of an emulated line. Offloads off: a frame on that line is a frame.
fn path_cable(station: Station) -> Cable {
    let port = wire_end(path_port(station), mac(FAR_SIDE, number(station)), false);
    Cable(station_end(station, false), port)
}

/// From the wire to a black box's second interface.
fn impaired_cable(station: Station) -> Cable {
    let mine = End {
        place: place(station),
        name: "eth1".to_owned(),
        mac: mac(number(station), 1),
        address: Some((impaired_address(station), 32)),
        offloads: false,
        mtu: None,
        lan_port_of: None,
    };
    Cable(mine, wire_end(wire_outer(station), mac(WIRE_OUTER, number(station)), false))
}

/// From the bridge to the wire. Offloads off: the bridge's port must cut superframes before the wire sees them.
fn wire_cable(station: Station) -> Cable {
    let port = wire_end(format!("l-{station}"), mac(LAN_SIDE, number(station)), false);
    let port = End { lan_port_of: Some(mac(number(station), 1)), ..port };
    Cable(port, wire_end(wire_inner(station), mac(WIRE_INNER, number(station)), false))
}

fn station_end(station: Station, offloads: bool) -> End {
    End {
        place: place(station),
        name: "eth0".to_owned(),
        mac: mac(number(station), 0),
        address: Some((plain(station), PREFIX)),
        offloads,
        mtu: None,
        lan_port_of: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use btu_suite::network::Path;
    use btu_units::{BitRate, Span};

    use super::*;

    fn path() -> Network {
        let rate = BitRate::from_bits_per_second(10_000_000);
        Network::Path(Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 })
    }

    #[test]
    fn every_interface_has_its_own_name_and_ethernet_address() {
        for layout in [layout(&Network::Veth), layout(&path())] {
            let mut names = HashSet::new();
            let mut macs = HashSet::new();
            for end in layout.ends() {
                assert!(end.name.len() < 16, "{} is too long for the kernel", end.name);
                assert!(names.insert((end.place, end.name.clone())), "{} twice", end.name);
                assert!(macs.insert(end.mac), "{:?} twice", end.mac);
            }
        }
    }

    #[test]
    fn only_black_boxes_are_impaired_and_only_veth_has_two_addresses() {
        assert_eq!(impaired(&Network::Veth, Station::Test), plain(Station::Test));
        assert_eq!(impaired(&Network::Veth, Station::Passive), Ipv4Addr::new(198, 18, 1, 3));
        assert!(Station::ALL.iter().all(|&station| impaired(&path(), station) == plain(station)));
    }

    #[test]
    fn everybody_knows_everybody_else() {
        let known = |network, station| layout(network).neighbours_of(place(station)).count();
        assert_eq!(known(&Network::Veth, Station::Test), 4);
        assert_eq!(known(&Network::Veth, Station::Active), 3);
        assert_eq!(known(&path(), Station::Active), 2);
    }

    #[test]
    fn every_station_interface_on_the_bridge_is_behind_exactly_one_port() {
        let veth = layout(&Network::Veth);
        let behind: Vec<Mac> = veth.ends().filter_map(|end| end.lan_port_of).collect();
        let stations: Vec<Mac> = veth.ends().filter(|end| end.place != Place::Wire).map(|end| end.mac).collect();
        assert_eq!(behind.iter().collect::<HashSet<_>>(), stations.iter().collect::<HashSet<_>>());
        assert_eq!(behind.len(), stations.len());
    }

    #[test]
    fn a_mac_is_local_and_single() {
        let Mac([first, ..]) = mac(1, 0);
        assert_eq!(first & 0b11, 0b10);
    }
}
