//! The sessions of a reflector: how many packets of each it has seen, and how many it answers to one
//! host. No caller can make the table large.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use btu_units::{Span, Time};

/// A session that sends nothing for so long is over (RFC 5357, section 4.2: REFWAIT).
const REFWAIT: Span = Span::from_seconds(900);

/// When there is no room for a new session, those that were idle for so long make it.
const IDLE: Span = Span::from_seconds(10);

/// At most so often is the table searched for idle sessions, so that callers without a place cost
/// little.
const SEARCH: Span = Span::from_seconds(1);

/// Sessions at a time, of all hosts and of one.
pub(crate) const MOST: usize = 16_384;
pub(crate) const MOST_OF_HOST: usize = 512;

/// Packets a second that are answered to one host, and as many at once. With packets of 1500 octets it
/// is 12 Mb/s.
pub(crate) const PACKETS_PER_SECOND: u64 = 1000;

/// A session: who sends, and which of its sessions (RFC 8972, section 3).
pub(crate) type Key = (SocketAddr, u16);

struct Session {
    /// The number of its next answer.
    next: u32,
    last: Time,
}

struct SenderHost {
    sessions: usize,
    /// The time for which it has been answered: a bucket that fills as the clock goes on.
    used_until: Time,
}

/// All sessions.
pub(crate) struct Sessions {
    running: HashMap<Key, Session>,
    /// Every host of a session.
    hosts: HashMap<IpAddr, SenderHost>,
    searched: Time,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self { running: HashMap::new(), hosts: HashMap::new(), searched: Time::ZERO }
    }

    /// The number of the answer to a packet that arrived at `now`; `None` if it is not answered: its host
    /// sends too many, or there is no room for its session. Then it has no number either, and its sender
    /// sees it as lost on the way here.
    pub(crate) fn number(&mut self, key: Key, now: Time) -> Option<u32> {
        if !self.running.contains_key(&key) {
            self.admit(key, now)?;
        }
        if !self.hosts.get_mut(&host(key.0.ip()))?.may_send(now) {
            return None;
        }
        let session = self.running.get_mut(&key)?;
        if now.since(session.last) > REFWAIT {
            session.next = 0;
        }
        let number = session.next;
        (session.next, session.last) = (number.wrapping_add(1), now);
        Some(number)
    }

    fn admit(&mut self, key: Key, now: Time) -> Option<()> {
        let host = host(key.0.ip());
        if !self.has_room(host) {
            self.end_idle(now);
        }
        if !self.has_room(host) {
            return None;
        }
        let fresh = || SenderHost { sessions: 0, used_until: Time::ZERO };
        self.hosts.entry(host).or_insert_with(fresh).sessions += 1;
        self.running.insert(key, Session { next: 0, last: now });
        Some(())
    }

    fn has_room(&self, host: IpAddr) -> bool {
        let of_host = self.hosts.get(&host).map_or(0, |host| host.sessions);
        self.running.len() < MOST && of_host < MOST_OF_HOST
    }

    /// Ends sessions that were idle. A host without one is forgotten: by then its bucket is full.
    fn end_idle(&mut self, now: Time) {
        if now.since(self.searched) < SEARCH {
            return;
        }
        self.searched = now;
        let hosts = &mut self.hosts;
        self.running.retain(|(address, _), session| {
            let stays = now.since(session.last) <= IDLE;
            if let Some(host) = hosts.get_mut(&host(address.ip())).filter(|_| !stays) {
                host.sessions -= 1;
            }
            stays
        });
        hosts.retain(|_, host| host.sessions > 0);
    }
}

impl SenderHost {
    /// Takes a packet's share of the budget.
    fn may_send(&mut self, now: Time) -> bool {
        let share = Span::from_nanoseconds(1_000_000_000 / PACKETS_PER_SECOND);
        let full = Time::ZERO + now.since(Time::ZERO + Span::from_seconds(1));
        let used_until = self.used_until.max(full) + share;
        let may = used_until <= now;
        if may {
            self.used_until = used_until;
        }
        may
    }
}

/// Whose budget an address has: one of IPv6 is a host's choice among the 2^64 of its network.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: [u8; 4], port: u16) -> Key {
        (SocketAddr::from((address, port)), 0)
    }

    fn at(milliseconds: u64) -> Time {
        Time::from_nanoseconds(1_000_000 * milliseconds)
    }

    #[test]
    fn each_session_counts_for_itself() {
        let mut sessions = Sessions::new();
        let [one, other] = [key([192, 0, 2, 1], 1), key([192, 0, 2, 1], 2)];
        let third = (one.0, 5);
        let said = [one, one, other, third, one].map(|key| sessions.number(key, at(5000)));
        assert_eq!(said, [Some(0), Some(1), Some(0), Some(0), Some(2)]);
        // After REFWAIT it is another session.
        assert_eq!(sessions.number(one, at(905_000)), Some(3));
        assert_eq!(sessions.number(one, at(1_805_001)), Some(0));
    }

    #[test]
    fn a_host_has_its_budget_and_leaves_the_others_theirs() {
        let mut sessions = Sessions::new();
        let (greedy, modest) = (key([192, 0, 2, 1], 1), key([192, 0, 2, 2], 1));
        let answered = (0..10_000).filter(|_| sessions.number(greedy, at(9000)).is_some()).count();
        assert_eq!(answered, 1000);
        assert_eq!(sessions.number(modest, at(9000)), Some(0));
        let later = (0..10_000).filter(|_| sessions.number(greedy, at(9100)).is_some()).count();
        assert_eq!(later, 100);
    }

    #[test]
    fn a_hundred_thousand_ports_take_the_places_of_their_host_only() {
        let mut sessions = Sessions::new();
        for number in 0..100_000u32 {
            let address =
                (SocketAddr::from(([192, 0, 2, 1], number as u16)), (number >> 16) as u16);
            sessions.number(address, at(5000 + u64::from(number / 100)));
        }
        assert!(sessions.running.len() <= MOST_OF_HOST);
        assert_eq!(sessions.number(key([192, 0, 2, 2], 1), at(6000)), Some(0));
    }

    #[test]
    fn many_hosts_fill_the_table_until_they_are_idle() {
        let mut sessions = Sessions::new();
        let from = |number: u32| (SocketAddr::from((number.to_be_bytes(), 1)), 0);
        for number in 0..100_000 {
            sessions.number(from(number), at(5000));
        }
        assert_eq!(sessions.running.len(), MOST);
        assert_eq!(sessions.hosts.len(), MOST);
        assert_eq!(sessions.number(from(200_000), at(15_000)), None);
        assert_eq!(sessions.number(from(200_000), at(16_001)), Some(0));
        assert_eq!((sessions.running.len(), sessions.hosts.len()), (1, 1));
    }

    #[test]
    fn hosts_of_ipv6_are_their_networks() {
        let of = |text: &str| host(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    }
}
