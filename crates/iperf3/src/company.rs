//! Which tests ran at the same time: a test that shares the machine or its line measures less.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde::Serialize;

/// The other tests during a test.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Company {
    /// Their number.
    pub tests: u64,
    /// The share of this test's time during which at least one of them ran, from 0 to 1.
    pub share: f64,
    /// Where their clients were.
    pub neighbours: Vec<Neighbour>,
    /// Further addresses that are not listed.
    pub more_addresses: u64,
}

/// The other tests from one address.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Neighbour {
    /// The address of their clients.
    pub address: IpAddr,
    /// The share of the test's time during which at least one of them ran, from 0 to 1.
    pub share: f64,
}

/// The addresses that a test lists.
const MOST_ADDRESSES: usize = 32;

/// The tests that move data now.
#[derive(Debug)]
pub(crate) struct Companies {
    running: HashMap<u64, Running>,
    last: Instant,
}

#[derive(Debug)]
struct Running {
    address: IpAddr,
    since: Instant,
    others: u64,
    shared: Duration,
    by_address: HashMap<IpAddr, Duration>,
    more_addresses: u64,
}

impl Companies {
    pub(crate) fn new(now: Instant) -> Self {
        Self { running: HashMap::new(), last: now }
    }

    /// Test `id` of a client at `address` begins to move data.
    pub(crate) fn begin(&mut self, id: u64, address: IpAddr, now: Instant) {
        self.advance(now);
        for other in self.running.values_mut() {
            other.others += 1;
        }
        let others = self.running.len() as u64;
        self.running.insert(
            id,
            Running {
                address,
                since: now,
                others,
                shared: Duration::ZERO,
                by_address: HashMap::new(),
                more_addresses: 0,
            },
        );
    }

    /// Test `id` has ended, or never began.
    pub(crate) fn end(&mut self, id: u64, now: Instant) -> Company {
        self.advance(now);
        let Some(test) = self.running.remove(&id) else { return Company::default() };
        let whole = now.saturating_duration_since(test.since).as_secs_f64();
        let share = |part: Duration| {
            if whole > 0.0 { (part.as_secs_f64() / whole).min(1.0) } else { 0.0 }
        };
        let neighbours = test.by_address.iter();
        let mut neighbours: Vec<Neighbour> = neighbours
            .map(|(address, part)| Neighbour { address: *address, share: share(*part) })
            .collect();
        neighbours.sort_by_key(|one| one.address);
        let (tests, more_addresses) = (test.others, test.more_addresses);
        Company { tests, share: share(test.shared), neighbours, more_addresses }
    }

    /// Accounts for the time since the last change, in which the same tests ran.
    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.last);
        self.last = self.last.max(now);
        if self.running.len() < 2 {
            return;
        }
        let mut tests: HashMap<IpAddr, usize> = HashMap::new();
        for test in self.running.values() {
            *tests.entry(test.address).or_default() += 1;
        }
        for test in self.running.values_mut() {
            test.shared += passed;
            for (&address, &number) in &tests {
                if address == test.address && number == 1 {
                    continue;
                }
                if test.by_address.len() < MOST_ADDRESSES || test.by_address.contains_key(&address)
                {
                    *test.by_address.entry(address).or_default() += passed;
                } else {
                    test.more_addresses += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn times_together_are_added_up() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut companies = Companies::new(start);
        companies.begin(1, address(1), at(0));
        companies.begin(2, address(2), at(2));
        companies.begin(3, address(2), at(3));
        let second = companies.end(2, at(4));
        let third = companies.end(3, at(5));
        let first = companies.end(1, at(10));
        assert_eq!((first.tests, first.share), (2, 0.3));
        assert_eq!(first.neighbours, [Neighbour { address: address(2), share: 0.3 }]);
        assert_eq!((second.tests, second.share), (2, 1.0));
        assert_eq!(second.neighbours[1], Neighbour { address: address(2), share: 0.5 });
        assert_eq!((third.tests, third.share), (2, 1.0));
    }

    #[test]
    fn a_test_alone_has_no_company() {
        let start = Instant::now();
        let mut companies = Companies::new(start);
        companies.begin(1, address(1), start);
        let company = companies.end(1, start + Duration::from_secs(1));
        assert_eq!(company, Company::default());
        assert_eq!(companies.end(7, start), Company::default());
    }
}
