//! The unit that moves through the medium: a frame's description, without its payload.

use btu_units::Bytes;

/// A frame on its way. Small and copied freely; the payload stays with the driver, which finds it
/// by `tag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The driver's name for the payload: an index into its buffers, or a running number. Copies
    /// share it.
    pub tag: u32,
    /// Octets from destination address to end of payload, without preamble, check sequence and gap:
    /// what a driver sees.
    length: u32,
    /// The address of the station that sent the frame.
    pub source: Address,
    /// Its destination.
    pub destination: Address,
    /// The kind of payload that the frame carries.
    pub kind: Kind,
    /// Whether and where a bit of it was inverted.
    pub damage: Damage,
    /// Which flow it belongs to, for fair queues: any number that a driver makes of network
    /// addresses and ports. 0 means no flow; then source and destination distinguish flows.
    pub flow: u32,
}

/// Whether a bit of a frame was inverted under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage(u16);

impl Damage {
    /// The value of a frame of which no bit was inverted.
    pub const NONE: Self = Self(0);

    /// A bit was inverted at this place: 0 is the frame's first bit, 65 534 its last.
    pub const fn at(place: u16) -> Self {
        Self(if place == u16::MAX { place } else { place + 1 })
    }

    /// Which of `bits` bits is inverted, counted from the frame's first.
    pub fn bit(self, bits: u64) -> Option<u64> {
        let place = u64::from(self.0.checked_sub(1)?);
        Some((place * bits) / u64::from(u16::MAX))
    }
}

impl Frame {
    /// An IP frame between unnamed stations; lengths beyond 4 GiB count as 4 GiB.
    pub fn new(tag: u32, length: Bytes) -> Self {
        let length = u32::try_from(length.count()).unwrap_or(u32::MAX);
        Self {
            tag,
            length,
            source: Address::default(),
            destination: Address::default(),
            kind: Kind::Ip,
            damage: Damage::NONE,
            flow: 0,
        }
    }

    /// This frame, but between `source` and `destination`.
    #[must_use]
    pub fn between(self, source: Address, destination: Address) -> Self {
        Self { source, destination, ..self }
    }

    /// This frame, but carrying `kind`.
    #[must_use]
    pub fn carrying(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// This frame, but in the flow numbered `flow`.
    #[must_use]
    pub fn in_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }

    /// Octets from destination address to end of payload.
    pub fn length(self) -> Bytes {
        Bytes::new(u64::from(self.length))
    }
}

/// What a frame carries, as far as elements care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An IPv4 or IPv6 packet.
    Ip,
    /// Anything else: ARP, link-level control.
    Other,
}

/// An Ethernet address (IEEE 802, 48 bits), or any other number that names a station in a
/// simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(u64);

impl Address {
    /// The broadcast address `ff:ff:ff:ff:ff:ff`, which means all stations.
    pub const BROADCAST: Self = Self(0xffff_ffff_ffff);

    /// The address with these octets on the wire.
    pub const fn from_octets(octets: [u8; 6]) -> Self {
        let [first, second, third, fourth, fifth, sixth] = octets;
        Self(u64::from_be_bytes([0, 0, first, second, third, fourth, fifth, sixth]))
    }

    /// The locally administered address of the `number`th station of a network file: `02:62:74`
    /// ("bt") and the number.
    pub const fn of_station(number: u32) -> Self {
        Self(0x0262_7400_0000 | (number as u64 & 0x00ff_ffff))
    }

    /// Whether it is one of [`Self::of_station`].
    pub(crate) const fn is_station(self) -> bool {
        self.0 >> 24 == 0x0002_6274
    }

    /// The number of the station with this address, if it is one of [`Self::of_station`].
    pub(crate) const fn station_number(self) -> Option<u32> {
        if self.is_station() { Some((self.0 & 0x00ff_ffff) as u32) } else { None }
    }

    /// Its octets on the wire.
    pub const fn octets(self) -> [u8; 6] {
        let [_, _, first, second, third, fourth, fifth, sixth] = self.0.to_be_bytes();
        [first, second, third, fourth, fifth, sixth]
    }

    /// Broadcast or multicast: the lowest bit of the first octet is set (IEEE 802, clause 8.2).
    pub const fn is_group(self) -> bool {
        self.0 & 0x0100_0000_0000 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_addresses_are_told_by_their_first_octet() {
        assert!(Address::BROADCAST.is_group());
        assert!(Address::from_octets([0x33, 0x33, 0, 0, 0, 1]).is_group());
        assert!(!Address::from_octets([0x02, 0xff, 0xff, 0xff, 0xff, 0xff]).is_group());
    }

    #[test]
    fn damage_stays_inside_the_frame() {
        assert_eq!(Damage::NONE.bit(480), None);
        assert_eq!(Damage::at(0).bit(480), Some(0));
        assert_eq!(Damage::at(u16::MAX).bit(480), Some(479));
    }

    #[test]
    fn stations_have_individual_addresses() {
        let address = Address::of_station(0x01_0203);
        assert_eq!(address.octets(), [2, 0x62, 0x74, 1, 2, 3]);
        assert!(address.is_station() && !address.is_group());
        assert_eq!(address.station_number(), Some(0x01_0203));
        assert_eq!(Address::BROADCAST.station_number(), None);
    }

    #[test]
    fn a_frame_stays_small() {
        assert!(size_of::<Frame>() <= 32);
    }
}
