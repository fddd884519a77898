//! What callers take of a server: bounded in all and for each host, so that no host takes all of it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The host that counts as the owner of an address: for IPv6 the whole /64, since a host can use each address of it.
pub fn host_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

/// Connections, streams or octets of a server, so many in all and for each host. Clones share them.
#[derive(Debug, Clone)]
pub struct Shares {
    most: usize,
    most_of_host: usize,
    /// By host; a host without a share is not in it.
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// What a caller has taken, until it is dropped.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    host: IpAddr,
    number: usize,
}

impl Shares {
    /// Nothing is taken yet.
    pub fn new(most: usize, most_of_host: usize) -> Self {
        Self { most, most_of_host, taken: Arc::default() }
    }

    /// Takes so many for a caller at this address; `None` if there are not so many left, or not for its host.
    pub fn take(&self, address: IpAddr, number: usize) -> Option<Share> {
        let host = host_of(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let of_host = taken.get(&host).copied().unwrap_or(0);
        if all + number > self.most || of_host + number > self.most_of_host {
            return None;
        }
        taken.insert(host, of_host + number);
        Some(Share { shares: self.clone(), host, number })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.host) {
            Some(number) if *number > self.number => *number -= self.number,
            _ => drop(taken.remove(&self.host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_of_ipv6_are_their_networks() {
        let of = |text: &str| host_of(address(text));
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    }

    #[test]
    fn a_host_has_its_share_and_leaves_the_others_theirs() {
        let shares = Shares::new(10, 4);
        let take = |from: &str, number| shares.take(address(from), number);
        let first = take("2001:db8::1", 3).unwrap();
        assert!(take("2001:db8::2", 2).is_none(), "another address of the same host");
        let _second = take("2001:db8::2", 1).unwrap();
        let _others = [take("192.0.2.1", 4).unwrap(), take("192.0.2.2", 2).unwrap()];
        assert!(take("192.0.2.3", 1).is_none(), "ten are taken");
        drop(first);
        assert!(take("192.0.2.3", 3).is_some());
        assert_eq!(shares.taken.lock().unwrap().values().sum::<usize>(), 7);
    }
}
