//! Reads the stations of a network file, `[stations.NAME]`.

use std::net::Ipv4Addr;

use btu_units::Length;

use super::fields::{Fields, Item};
use super::limits;
use super::problem::Spot;

/// A name in the file that refers to another entry of it.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) spot: Spot,
}

/// A station as written.
#[derive(Debug)]
pub(super) struct StationGroup {
    pub(super) spot: Spot,
    pub(super) name: String,
    pub(super) count: Option<u32>,
    pub(super) segment: Option<Reference>,
    pub(super) position: Option<Position>,
    pub(super) address: Option<(Ipv4Addr, Spot)>,
    pub(super) one_at_a_time: bool,
}

/// Where on the cable.
#[derive(Debug)]
pub(super) struct Position {
    /// One place for all members, or one for each.
    pub(super) places: Vec<Length>,
    pub(super) spot: Spot,
}

/// Reads a station from its table.
pub(super) fn read(name: &str, spot: Spot, item: &Item<'_>) -> Option<StationGroup> {
    let fields = item.fields()?;
    let read = StationGroup {
        spot,
        name: name.to_owned(),
        count: fields.whole("count", 1..=limits::STATIONS),
        segment: reference(&fields, "segment"),
        position: fields.get("position").map(|item| position(&item)),
        address: fields.get("address").and_then(|item| Some((address(&item)?, item.spot.clone()))),
        one_at_a_time: fields.truth("one_at_a_time").unwrap_or(false),
    };
    fields.finish();
    Some(read)
}

/// The name under `key`.
pub(super) fn reference(fields: &Fields<'_>, key: &'static str) -> Option<Reference> {
    fields.get(key).and_then(|item| of_item(&item))
}

/// The name that `item` is.
pub(super) fn of_item(item: &Item<'_>) -> Option<Reference> {
    Some(Reference { name: item.text()?.to_owned(), spot: item.spot.clone() })
}

fn position(item: &Item<'_>) -> Position {
    let places = item.each().iter().filter_map(|place| place.quantity_in(limits::LENGTH)).collect();
    Position { places, spot: item.spot.clone() }
}

fn address(item: &Item<'_>) -> Option<Ipv4Addr> {
    let text = item.text()?;
    let read = text.parse().ok().filter(|address| place(*address).is_some());
    if read.is_none() {
        item.problem(format!(
            "`{text}` is not an address for a station: these are 198.18.0.1 to 198.19.255.254, set aside for benchmarks \
             (RFC 2544, appendix C.2.2)"
        ));
    }
    read
}

/// How many usable addresses there are.
pub(super) const ADDRESSES: u32 = (1 << 17) - 2;

/// The network's own address, 198.18.0.0.
const NETWORK: u32 = u32::from_be_bytes([198, 18, 0, 0]);

/// The place of an address among those that a station can have, from 0.
pub(super) fn place(address: Ipv4Addr) -> Option<u32> {
    u32::from(address).checked_sub(NETWORK + 1).filter(|place| *place < ADDRESSES)
}

/// The address at a place, as [`place`] counts.
pub(super) fn address_at(place: u32) -> Ipv4Addr {
    Ipv4Addr::from(NETWORK + 1 + place)
}
