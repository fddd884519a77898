//! Which interfaces a house has, where they stand and what they are called: data, decided before anything is made.

mod drawn;
mod rate;

use std::net::Ipv4Addr;

pub(super) use drawn::{port_of, smallest_mtu};
pub(super) use rate::{impaired, path_port, plain, wire_inner, wire_outer};

use super::design::Design;

/// Name of the bridge between the stations.
pub(super) const LAN: &str = "lan";

/// Length of the network's part of every address: 198.18.0.0/15 (RFC 2544, appendix C.2.2).
const PREFIX: u8 = 15;

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mac(pub(super) [u8; 6]);

/// A network namespace of the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Where the bridge and the wire are.
    Wire,
    /// Where one station is, by its place in the list of stations.
    Station(usize),
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
    /// Longest packet in bytes, where it is not what the kernel starts with.
    pub(super) mtu: Option<u32>,
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
    /// The stations' names, in their order.
    pub(super) stations: Vec<String>,
    /// Whether each station knows the others' Ethernet addresses from the start.
    pub(super) acquainted: bool,
}

impl Layout {
    /// The layout for `design`.
    pub(super) fn of(design: &Design) -> Self {
        match design {
            Design::Rate(network) => rate::layout(network),
            Design::Drawn(drawn) if drawn.bare => drawn::bare(&drawn.drawing),
            Design::Drawn(drawn) => drawn::layout(&drawn.drawing),
        }
    }

    /// Every place: the stations, then the wire's.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.stations.len()).map(Place::Station).chain([Place::Wire])
    }

    /// What a place is called in errors.
    pub(super) fn name(&self, place: Place) -> String {
        match place {
            Place::Wire => "the wire's namespace".to_owned(),
            Place::Station(number) => format!("station {}", self.stations[number]),
        }
    }

    /// The ends that stand in `place`.
    pub(super) fn ends_in(&self, place: Place) -> impl Iterator<Item = &End> {
        self.ends().filter(move |end| end.place == place)
    }

    /// Where other places than `place` are found: every address outside it, with its Ethernet address; nothing where
    /// stations have to ask.
    pub(super) fn neighbours_of(&self, place: Place) -> impl Iterator<Item = (Ipv4Addr, Mac)> {
        let others = self.ends().filter(move |end| self.acquainted && end.place != place);
        others.filter_map(|end| Some((end.address?.0, end.mac)))
    }

    fn ends(&self) -> impl Iterator<Item = &End> {
        self.cables.iter().flat_map(|Cable(one, other)| [one, other])
    }
}

fn wire_end(name: String, mac: Mac, offloads: bool) -> End {
    End { place: Place::Wire, name, mac, address: None, offloads, mtu: None, lan_port_of: None }
}
