//! A bridge's table: the port of each address that it has learned.
//!
//! Source: IEEE 802.1D clauses 7.8 and 7.9. Deviations: entries do not age, because networks here
//! live no longer than a run; a table that is full learns no more.

use crate::frame::Address;

/// The ports that a bridge has learnt, by address.
#[derive(Debug)]
pub(super) struct Table {
    /// By number of the network's stations: the port plus one, 0 where it is not known.
    stations: Vec<u32>,
    /// Other addresses (a driver's own), ascending.
    strangers: Vec<(Address, u32)>,
    known: u32,
    limit: u32,
}

impl Table {
    /// An empty table in a network of `stations` stations that learns at most `limit` addresses.
    pub(super) fn new(stations: usize, limit: u32) -> Self {
        Self { stations: vec![0; stations], strangers: Vec::new(), known: 0, limit }
    }

    /// Notes that `address` is behind `port`.
    pub(super) fn learn(&mut self, address: Address, port: u32) {
        if address.is_group() {
            return;
        }
        match self.station(address) {
            Some(station) => self.learn_station(station, port),
            None => self.learn_stranger(address, port),
        }
    }

    /// The port behind which `address` is.
    pub(super) fn find(&self, address: Address) -> Option<u32> {
        match self.station(address) {
            Some(station) => self.stations[station].checked_sub(1),
            None => self.place(address).ok().map(|place| self.strangers[place].1),
        }
    }

    fn learn_station(&mut self, station: usize, port: u32) {
        let entry = &mut self.stations[station];
        if *entry == 0 {
            if self.known == self.limit {
                return;
            }
            self.known += 1;
        }
        *entry = port + 1;
    }

    fn learn_stranger(&mut self, address: Address, port: u32) {
        match self.place(address) {
            Ok(place) => self.strangers[place].1 = port,
            Err(place) if self.known < self.limit => {
                self.known += 1;
                self.strangers.insert(place, (address, port));
            }
            Err(_) => {}
        }
    }

    fn station(&self, address: Address) -> Option<usize> {
        address
            .station_number()
            .map(|number| number as usize)
            .filter(|&number| number < self.stations.len())
    }

    fn place(&self, address: Address) -> Result<usize, usize> {
        self.strangers.binary_search_by_key(&address, |&(known, _)| known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: Address = Address::from_octets([2, 0, 0, 0, 0, 9]);

    #[test]
    fn stations_and_strangers_are_learned_and_may_move() {
        let mut table = Table::new(3, 10);
        for (address, port) in
            [(Address::of_station(1), 0), (STRANGER, 2), (Address::of_station(77), 1)]
        {
            assert_eq!(table.find(address), None);
            table.learn(address, port);
            assert_eq!(table.find(address), Some(port));
        }
        table.learn(STRANGER, 1);
        table.learn(Address::of_station(1), 4);
        assert_eq!((table.find(STRANGER), table.find(Address::of_station(1))), (Some(1), Some(4)));
    }

    #[test]
    fn groups_are_never_learned() {
        let mut table = Table::new(3, 10);
        table.learn(Address::BROADCAST, 1);
        assert_eq!(table.find(Address::BROADCAST), None);
    }

    #[test]
    fn a_full_table_learns_no_more_but_keeps_up_with_what_it_knows() {
        let mut table = Table::new(3, 2);
        table.learn(Address::of_station(0), 0);
        table.learn(STRANGER, 1);
        table.learn(Address::of_station(2), 1);
        table.learn(Address::from_octets([2, 0, 0, 0, 0, 8]), 1);
        assert_eq!((table.find(Address::of_station(2)), table.known), (None, 2));
        table.learn(STRANGER, 0);
        assert_eq!(table.find(STRANGER), Some(0));
    }
}
