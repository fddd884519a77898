//! The testbed of a bare network: stations on a bridge of this host's kernel.
//!
//! ```text
//! test eth0 ------ s-test   \
//! active eth0 ---- s-active  > bridge `lan`
//! passive eth0 --- s-passive/
//! active eth1 --- out-active =wire= in-active --- l-active (on `lan`); the same for every station with an input
//! ```
//!
//! A station with an input receives packets for its second address on `eth1`, behind the wire, and
//! answers them through `eth0`: the wire affects *incoming* packets only. Two stations without
//! inputs need no bridge.

use std::net::Ipv4Addr;

use btu_medium::Address;
use btu_network::{Drawing, StationId};

use super::super::design::Design;
use super::drawn::station_end;
use super::{Cable, CableEnd, Layout, Mac, TestbedNamespace, named, wire_end};

/// The bit of an address in 198.18.0.0/15 that distinguishes its halves: a station's second address
/// is its first in the other half.
const OTHER_HALF: u32 = 1 << 16;

/// The layout for `design` with a bare network.
pub(super) fn layout(design: &Design) -> Layout {
    let drawing = &design.drawing;
    let count = drawing.stations.len();
    let lan = design.has_wire() || count != 2;
    let cables = if lan {
        let stations = (0..count).map(|number| lan_cable(drawing, number));
        stations
            .chain(design.inputs.iter().flat_map(|&input| input_cables(drawing, input)))
            .collect()
    } else {
        vec![Cable(bare_end(drawing, 0), bare_end(drawing, 1))]
    };
    Layout { lan, cables, ..Layout::of_stations(drawing) }
}

/// The address that leads to a station through its impairments.
pub(crate) fn input_address(drawing: &Drawing, station: StationId) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(drawing.station(station).address) ^ OTHER_HALF)
}

/// The wire's interface towards the bridge, for packets to a station's input.
pub(crate) fn wire_inner(drawing: &Drawing, station: StationId) -> String {
    named(drawing, "in", station.0 as usize)
}

/// The wire's interface towards a station, for packets to its input.
pub(crate) fn wire_outer(drawing: &Drawing, station: StationId) -> String {
    named(drawing, "out", station.0 as usize)
}

/// First bytes of Ethernet addresses that belong to no station: locally administered, one for each
/// kind of end.
const STATION_INPUT: u8 = 0x0a;
const BRIDGE_PORT: u8 = 0x06;
const WIRE_OUTER: u8 = 0x0e;
const WIRE_INNER: u8 = 0x12;
const BRIDGE_INPUT: u8 = 0x16;

fn mac(kind: u8, number: usize) -> Mac {
    let [_, rest @ ..] = Address::of_station(number as u32).octets();
    let mut octets = [kind; 6];
    octets[1..].copy_from_slice(&rest);
    Mac(octets)
}

/// Offloads stay on: a station sends like a current host.
fn bare_end(drawing: &Drawing, number: usize) -> CableEnd {
    CableEnd { offloads: true, ..station_end(drawing, number, None) }
}

/// A station's place on the bridge.
fn lan_cable(drawing: &Drawing, number: usize) -> Cable {
    let mine = bare_end(drawing, number);
    let port = wire_end(named(drawing, "s", number), mac(BRIDGE_PORT, number), true);
    let port = CableEnd { lan_port_of: Some(mine.mac), ..port };
    Cable(mine, port)
}

/// From the wire to a station's second interface, and from the bridge to the wire. Offloads off:
/// the bridge's port must cut superframes before the wire sees them.
fn input_cables(drawing: &Drawing, station: StationId) -> [Cable; 2] {
    let number = station.0 as usize;
    let mine = CableEnd {
        place: TestbedNamespace::Station(number),
        name: "eth1".to_owned(),
        mac: mac(STATION_INPUT, number),
        address: Some((input_address(drawing, station), 32)),
        offloads: false,
        mtu: None,
        lan_port_of: None,
    };
    let port = wire_end(named(drawing, "l", number), mac(BRIDGE_INPUT, number), false);
    let port = CableEnd { lan_port_of: Some(mine.mac), ..port };
    [
        Cable(mine, wire_end(wire_outer(drawing, station), mac(WIRE_OUTER, number), false)),
        Cable(port, wire_end(wire_inner(drawing, station), mac(WIRE_INNER, number), false)),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::super::samples;
    use super::*;

    fn laboratory() -> Design {
        let drawing = Drawing { bare: true, ..samples::star(3) };
        Design { drawing, inputs: vec![StationId(1), StationId(2)], ..Design::default() }
    }

    #[test]
    fn every_interface_has_its_own_name_and_ethernet_address() {
        let layout = layout(&laboratory());
        let mut names = HashSet::new();
        let mut macs = HashSet::new();
        for end in layout.ends() {
            assert!(end.name.len() < 16, "{} is too long for the kernel", end.name);
            assert!(names.insert((end.place, end.name.clone())), "{} twice", end.name);
            assert!(macs.insert(end.mac), "{:?} twice", end.mac);
            let Mac([first, ..]) = end.mac;
            assert_eq!(first & 0b11, 0b10, "local, and of one station");
        }
    }

    #[test]
    fn a_second_address_is_none_of_the_first() {
        let design = laboratory();
        assert_eq!(input_address(&design.drawing, StationId(2)), Ipv4Addr::new(198, 19, 0, 3));
    }

    #[test]
    fn everybody_knows_everybody_else() {
        let known =
            |number| layout(&laboratory()).neighbours_of(TestbedNamespace::Station(number)).count();
        assert_eq!((known(0), known(1)), (4, 3));
    }

    #[test]
    fn every_station_interface_on_the_bridge_is_behind_exactly_one_port() {
        let layout = layout(&laboratory());
        let behind: Vec<Mac> = layout.ends().filter_map(|end| end.lan_port_of).collect();
        let stations: Vec<Mac> = layout
            .ends()
            .filter(|end| end.place != TestbedNamespace::Wire)
            .map(|end| end.mac)
            .collect();
        assert_eq!(behind.iter().collect::<HashSet<_>>(), stations.iter().collect::<HashSet<_>>());
        assert_eq!(behind.len(), stations.len());
    }

    #[test]
    fn two_stations_have_one_cable_and_nothing_at_the_wire() {
        let drawing = Drawing { bare: true, ..samples::star(2) };
        let layout = layout(&Design { drawing, ..Design::default() });
        assert_eq!(
            (layout.lan, layout.cables.len(), layout.ends_in(TestbedNamespace::Wire).count()),
            (false, 1, 0)
        );
        assert!(layout.ends().all(|end| end.offloads && end.mtu.is_none() && end.name == "eth0"));
        assert_eq!(layout.neighbours_of(TestbedNamespace::Station(1)).count(), 1);
    }
}
