//! The places of a server: no client takes all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections at a time, of all clients and of one address. A client of this program has at most 16
/// that fill the network, and 512 probes.
const MOST: usize = 2048;
const MOST_OF_ADDRESS: usize = 640;

/// The taken places, by address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A taken place, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    places: Places,
    address: IpAddr,
}

impl Places {
    /// A place for a connection from there; `None` if there is none.
    pub(crate) fn take(&self, address: IpAddr) -> Option<ConnectionPlace> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let of_address = taken.get(&address).copied().unwrap_or(0);
        if all >= MOST || of_address >= MOST_OF_ADDRESS {
            return None;
        }
        taken.insert(address, of_address + 1);
        Some(ConnectionPlace { places: self.clone(), address })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.address) {
            Some(number) if *number > 1 => *number -= 1,
            _ => drop(taken.remove(&self.address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_leaves_the_others_theirs() {
        let places = Places::default();
        let [one, two] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut taken: Vec<ConnectionPlace> = std::iter::from_fn(|| places.take(one)).collect();
        assert_eq!(taken.len(), MOST_OF_ADDRESS);
        assert!(places.take(two).is_some());
        taken.pop();
        assert!(places.take(one).is_some());
        drop(taken);
        assert!(places.0.lock().unwrap().is_empty());
    }
}
