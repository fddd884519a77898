//! The testbed of a network file: every station has one interface, and the wire one towards each.
//!
//! ```text
//! server eth0 ------ p-server \
//! client eth0 ------ p-client  > the wire, which is all segments, bridges and links
//! ...                         /
//! ```

use btu_medium::Address;
use btu_network::{Drawing, Medium};

use super::{Cable, CableEnd, Layout, Mac, PREFIX, TestbedNamespace, named, wire_end};

/// The default MTU of an Ethernet interface of Linux, in bytes.
const USUAL_MTU: u64 = 1500;

/// The layout for `drawing`.
pub(super) fn layout(drawing: &Drawing) -> Layout {
    let mtu = smallest_mtu(drawing);
    let cable =
        |number: usize| Cable(station_end(drawing, number, mtu), port_end(drawing, number, mtu));
    Layout {
        cables: (0..drawing.stations.len()).map(cable).collect(),
        ..Layout::of_stations(drawing)
    }
}

/// The wire's interface towards a station: `p-` and its name, or its number (from 1) where that
/// would be too long.
pub(crate) fn port_of(drawing: &Drawing, number: usize) -> String {
    named(drawing, "p", number)
}

/// Longest packet that every medium takes, in bytes, if that is less than the default. Every
/// station gets it: a station that sent more could not learn that a bridge or a line on the way
/// drops it.
pub(crate) fn smallest_mtu(drawing: &Drawing) -> Option<u32> {
    let stars = drawing.segments.iter().filter_map(|segment| match &segment.medium {
        Medium::SwitchedEthernet(star) => Some(star),
        Medium::Atm(atm) => Some(&atm.star),
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => None,
    });
    let stars = stars.flat_map(|star| [star.up.mtu, star.down.mtu]);
    let links = drawing.links.iter().flat_map(|link| [link.forth.mtu, link.back.mtu]);
    let bridges = drawing.bridges.iter().map(|bridge| bridge.mtu);
    let smallest = stars.chain(links).chain(bridges).map(btu_units::Bytes::count).min();
    smallest.filter(|&mtu| mtu < USUAL_MTU).map(|mtu| mtu as u32)
}

/// Offloads off, on both ends: a frame is a frame.
pub(super) fn station_end(drawing: &Drawing, number: usize, mtu: Option<u32>) -> CableEnd {
    CableEnd {
        place: TestbedNamespace::Station(number),
        name: "eth0".to_owned(),
        mac: Mac(Address::of_station(number as u32).octets()),
        address: Some((drawing.stations[number].address, PREFIX)),
        offloads: false,
        mtu,
        lan_port_of: None,
    }
}

fn port_end(drawing: &Drawing, number: usize, mtu: Option<u32>) -> CableEnd {
    let [_, b, t, high, middle, low] = Address::of_station(number as u32).octets();
    // Locally administered as well, and no station's.
    let mac = Mac([0x06, b, t, high, middle, low]);
    CableEnd { mtu, ..wire_end(port_of(drawing, number), mac, false) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use btu_units::Bytes;

    use super::super::super::samples;
    use super::super::{LONGEST_INTERFACE_NAME, MOST_ACQUAINTED};
    use super::*;

    #[test]
    fn every_station_has_its_interface_and_the_wire_one_towards_it() {
        let drawing = samples::star(300);
        let layout = layout(&drawing);
        assert_eq!(layout.ends_in(TestbedNamespace::Wire).count(), 300);
        assert_eq!(layout.ends_in(TestbedNamespace::Station(299)).count(), 1);
        let macs: HashSet<Mac> = layout.ends().map(|end| end.mac).collect();
        assert_eq!(macs.len(), 600);
        assert!(layout.ends().all(|end| end.name.len() <= LONGEST_INTERFACE_NAME && !end.offloads));
        let names: HashSet<&str> =
            layout.ends_in(TestbedNamespace::Wire).map(|end| end.name.as_str()).collect();
        assert_eq!(names.len(), 300);
    }

    #[test]
    fn a_long_name_gives_way_to_a_number() {
        let mut drawing = samples::star(2);
        drawing.stations[1].name = "a-station-with-a-long-name".to_owned();
        assert_eq!([port_of(&drawing, 0), port_of(&drawing, 1)], ["p-host-1", "p2"]);
    }

    #[test]
    fn few_stations_know_each_other_and_many_have_to_ask() {
        let known = |stations| {
            layout(&samples::star(stations)).neighbours_of(TestbedNamespace::Station(0)).count()
        };
        assert_eq!(known(MOST_ACQUAINTED), MOST_ACQUAINTED - 1);
        assert_eq!(known(MOST_ACQUAINTED + 1), 0);
    }

    #[test]
    fn the_smallest_mtu_rules_when_it_is_less_than_usual() {
        let mut drawing = samples::star(3);
        assert_eq!(smallest_mtu(&drawing), None);
        let Medium::SwitchedEthernet(star) = &mut drawing.segments[0].medium else {
            panic!("a star")
        };
        star.down.mtu = Bytes::new(576);
        assert_eq!(smallest_mtu(&drawing), Some(576));
        let mtus: HashSet<_> = layout(&drawing).ends().map(|end| end.mtu).collect();
        assert_eq!(mtus, HashSet::from([Some(576)]));
    }
}
