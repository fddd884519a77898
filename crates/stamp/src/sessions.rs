//! The sessions of a reflector: how many packets of each it has seen, and how much it answers to one
//! host. No caller can make the table large, and none can keep another out of it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use btu_traffic::host_of;
use btu_units::{Span, Time};

/// A session that sends nothing for so long is over (RFC 5357, section 4.2: REFWAIT).
const REFWAIT: Span = Span::from_seconds(900);

/// Sessions at a time, of all hosts and of one.
pub(crate) const MOST: usize = 16_384;
pub(crate) const MOST_OF_HOST: usize = 512;

/// Octets a second that are answered to one host, and as many at once: 12 Mb/s. A packet counts as 1500 at least,
/// so there are 1000 packets a second at most.
pub(crate) const OCTETS_PER_SECOND: u64 = 1_500_000;
const LEAST_OCTETS: u64 = 1500;

/// A session: who sends, and which of its sessions (RFC 8972, section 3).
pub(crate) type Key = (SocketAddr, u16);

struct Session {
    /// The number of its next answer.
    next: u32,
    last: Time,
}

/// Sessions of a host, with the time of their last packets: the one that was idle for longest is the first.
type ByAge = BTreeSet<(Time, Key)>;

struct SenderHost {
    sessions: ByAge,
    /// The time for which it has been answered: a bucket that fills as the clock goes on.
    used_until: Time,
}

/// A host's rank when a session has to end: the most sessions, and of two such hosts the one with the longest
/// idle session, come last in the order.
type Rank = (usize, Reverse<Time>, IpAddr);

/// All sessions.
pub(crate) struct Sessions {
    running: HashMap<Key, Session>,
    /// Every host of a session.
    hosts: HashMap<IpAddr, SenderHost>,
    ranks: BTreeSet<Rank>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self { running: HashMap::new(), hosts: HashMap::new(), ranks: BTreeSet::new() }
    }

    /// The number of the answer to a packet of so many octets that arrived at `now`; `None` if it is not
    /// answered, because its host sends too much. Then it has no number either, and its sender sees it as lost
    /// on the way here.
    pub(crate) fn number(&mut self, key: Key, octets: usize, now: Time) -> Option<u32> {
        let host = host_of(key.0.ip());
        if !self.running.contains_key(&key) {
            self.make_room(host);
            self.running.insert(key, Session { next: 0, last: now });
            self.change(host, |sessions| {
                sessions.insert((now, key));
            });
        }
        if !self.hosts.get_mut(&host)?.may_send(octets, now) {
            return None;
        }
        let session = self.running.get_mut(&key)?;
        let last = std::mem::replace(&mut session.last, now);
        if now.since(last) > REFWAIT {
            session.next = 0;
        }
        let number = session.next;
        session.next = number.wrapping_add(1);
        self.change(host, |sessions| {
            sessions.remove(&(last, key));
            sessions.insert((now, key));
        });
        Some(number)
    }

    /// Ends a session if a new one of this host would be too many: of the host itself, or of the one with the most.
    fn make_room(&mut self, host: IpAddr) {
        let of_host = self.hosts.get(&host).map_or(0, |host| host.sessions.len());
        let crowded = if of_host >= MOST_OF_HOST {
            Some(host)
        } else {
            self.ranks.last().filter(|_| self.running.len() >= MOST).map(|(.., host)| *host)
        };
        let oldest = crowded.and_then(|host| self.hosts.get(&host)?.sessions.first().copied());
        if let (Some(host), Some(oldest)) = (crowded, oldest) {
            self.running.remove(&oldest.1);
            self.change(host, |sessions| {
                sessions.remove(&oldest);
            });
        }
    }

    /// Changes the sessions of a host, and its rank with them. A host without one is forgotten.
    fn change(&mut self, host: IpAddr, change: impl FnOnce(&mut ByAge)) {
        let fresh = || SenderHost { sessions: BTreeSet::new(), used_until: Time::ZERO };
        let sessions = &mut self.hosts.entry(host).or_insert_with(fresh).sessions;
        if let Some(rank) = rank(host, sessions) {
            self.ranks.remove(&rank);
        }
        change(sessions);
        match rank(host, sessions) {
            Some(rank) => drop(self.ranks.insert(rank)),
            None => drop(self.hosts.remove(&host)),
        }
    }
}

/// `None` without a session.
fn rank(host: IpAddr, sessions: &ByAge) -> Option<Rank> {
    sessions.first().map(|(oldest, _)| (sessions.len(), Reverse(*oldest), host))
}

impl SenderHost {
    /// Takes a packet's share of the budget. At most 2^16 octets, so the product is below 2^46.
    fn may_send(&mut self, octets: usize, now: Time) -> bool {
        let octets = LEAST_OCTETS.max(octets as u64);
        let share = Span::from_nanoseconds(octets * 1_000_000_000 / OCTETS_PER_SECOND);
        let full = Time::ZERO + now.since(Time::ZERO + Span::from_seconds(1));
        let used_until = self.used_until.max(full) + share;
        let may = used_until <= now;
        if may {
            self.used_until = used_until;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OCTETS: usize = 44;

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
        let said = [one, one, other, third, one].map(|key| sessions.number(key, OCTETS, at(5000)));
        assert_eq!(said, [Some(0), Some(1), Some(0), Some(0), Some(2)]);
        // After REFWAIT it is another session.
        assert_eq!(sessions.number(one, OCTETS, at(905_000)), Some(3));
        assert_eq!(sessions.number(one, OCTETS, at(1_805_001)), Some(0));
    }

    #[test]
    fn a_host_has_its_budget_and_leaves_the_others_theirs() {
        let mut sessions = Sessions::new();
        let (greedy, modest) = (key([192, 0, 2, 1], 1), key([192, 0, 2, 2], 1));
        let mut answered = |octets, now: u64| {
            (0..10_000).filter(|_| sessions.number(greedy, octets, at(now)).is_some()).count()
        };
        assert_eq!(answered(OCTETS, 9000), 1000);
        assert_eq!(answered(1500, 9100), 100);
        // 60,000 octets are a twenty-fifth of a second's.
        assert_eq!(answered(60_000, 19_000), 25);
        assert_eq!(sessions.number(modest, OCTETS, at(19_000)), Some(0));
    }

    #[test]
    fn a_hundred_thousand_ports_take_the_places_of_their_host_only() {
        let mut sessions = Sessions::new();
        let modest = key([192, 0, 2, 2], 1);
        assert_eq!(sessions.number(modest, OCTETS, at(5000)), Some(0));
        for number in 0..100_000u32 {
            let address =
                (SocketAddr::from(([192, 0, 2, 1], number as u16)), (number >> 16) as u16);
            sessions.number(address, OCTETS, at(5000 + u64::from(number / 100)));
        }
        assert_eq!(sessions.running.len(), MOST_OF_HOST + 1);
        assert_eq!(sessions.number(modest, OCTETS, at(6000)), Some(1));
    }

    #[test]
    fn hosts_with_many_sessions_make_room_for_a_host_with_one() {
        let mut sessions = Sessions::new();
        let modest = key([192, 0, 2, 1], 1);
        for round in 0..5 {
            let now = at(5000 * (u64::from(round) + 1));
            for (host, port) in (0..34).flat_map(|host| (0..512).map(move |port| (host, port))) {
                sessions.number(key([198, 51, 100, host], port), OCTETS, now);
            }
            assert_eq!(sessions.running.len(), MOST);
            assert_eq!(sessions.number(modest, OCTETS, now), Some(round));
        }
        let of_hosts: usize = sessions.hosts.values().map(|host| host.sessions.len()).sum();
        assert_eq!((of_hosts, sessions.hosts.len()), (MOST, sessions.ranks.len()));
    }

    #[test]
    fn of_hosts_with_one_session_the_longest_idle_makes_room() {
        let mut sessions = Sessions::new();
        let from = |number: u32| (SocketAddr::from((number.to_be_bytes(), 1)), 0);
        let active = from(200_000);
        for number in 0..100_000 {
            let now = at(5000 + u64::from(number / 100));
            if number % 10_000 == 0 {
                assert_eq!(sessions.number(active, OCTETS, now), Some(number / 10_000));
            }
            assert_eq!(sessions.number(from(number), OCTETS, now), Some(0));
        }
        assert_eq!((sessions.running.len(), sessions.hosts.len()), (MOST, MOST));
    }
}
