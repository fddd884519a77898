//! A learning switch: sends a frame to the port where its destination was last seen, or to all others.
//!
//! Source: IEEE 802.1D clauses 7.7 and 7.8. Deviations: addresses do not age, because networks here live no longer
//! than a run; a table that is full learns no more, and what it does not know is flooded.

use crate::frame::{Address, Frame};
use crate::network::Port;

/// How many addresses are learned at most.
const MOST_ADDRESSES: usize = 4096;

/// Where stations are, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    /// Ascending by address.
    seen: Vec<(Address, Port)>,
}

impl Switch {
    /// Notes where the frame came from and says where it goes: one port, or every port but the one it came from.
    pub(crate) fn route(&mut self, from: Port, frame: &Frame) -> Route {
        self.learn(frame.source, from);
        if frame.destination.is_group() {
            return Route::AllBut(from);
        }
        match self.find(frame.destination) {
            Ok(place) if self.seen[place].1 == from => Route::Nowhere,
            Ok(place) => Route::To(self.seen[place].1),
            Err(_) => Route::AllBut(from),
        }
    }

    fn learn(&mut self, address: Address, port: Port) {
        if address.is_group() {
            return;
        }
        match self.find(address) {
            Ok(place) => self.seen[place].1 = port,
            Err(place) if self.seen.len() < MOST_ADDRESSES => self.seen.insert(place, (address, port)),
            Err(_) => {}
        }
    }

    fn find(&self, address: Address) -> Result<usize, usize> {
        self.seen.binary_search_by_key(&address, |&(known, _)| known)
    }
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Nowhere: it is where it should be.
    Nowhere,
    /// One port.
    To(Port),
    /// Every port but this one.
    AllBut(Port),
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::Bytes;

    const A: Address = Address::from_octets([2, 0, 0, 0, 0, 1]);
    const B: Address = Address::from_octets([2, 0, 0, 0, 0, 2]);

    fn frame(source: Address, destination: Address) -> Frame {
        Frame::new(0, Bytes::new(60)).between(source, destination)
    }

    #[test]
    fn unknown_is_flooded_known_is_not() {
        let mut switch = Switch::default();
        assert_eq!(switch.route(Port(0), &frame(A, B)), Route::AllBut(Port(0)));
        assert_eq!(switch.route(Port(1), &frame(B, A)), Route::To(Port(0)));
        assert_eq!(switch.route(Port(0), &frame(A, B)), Route::To(Port(1)));
        assert_eq!(switch.route(Port(1), &frame(A, B)), Route::Nowhere);
        assert_eq!(switch.route(Port(2), &frame(B, Address::BROADCAST)), Route::AllBut(Port(2)));
        assert_eq!(switch.route(Port(0), &frame(A, B)), Route::To(Port(2)));
    }

    #[test]
    fn a_flood_of_addresses_does_not_grow_the_table_without_end() {
        let mut switch = Switch::default();
        for n in 0..10_000u32 {
            let [a, b, c, d] = n.to_be_bytes();
            switch.route(Port(0), &frame(Address::from_octets([2, 0, a, b, c, d]), A));
        }
        assert_eq!(switch.seen.len(), MOST_ADDRESSES);
    }
}
