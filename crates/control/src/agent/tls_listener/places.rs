//! The places for handshakes: which connection has which place, and which must leave if there are
//! too few.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::sync::oneshot;

use super::ListenerLimits;
use super::log::RefusalCause;

/// Addresses that are remembered as those of clients, the newest.
pub(super) const MOST_KNOWN: usize = 64;

/// The places for handshakes in progress.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By number, which is the order in which they came.
    held: BTreeMap<u64, PendingHandshake>,
    next: u64,
    /// Where clients came from, the newest last.
    known: VecDeque<IpAddr>,
}

#[derive(Debug)]
struct PendingHandshake {
    from: IpAddr,
    is_known: bool,
    /// The agent has already sent the reason of the refusal, and reads until the caller closes.
    is_judged: bool,
    leave: oneshot::Sender<()>,
}

/// The result of taking a place: the number of the place, and a message when the place goes to
/// another caller.
pub(super) type Taken = (u64, oneshot::Receiver<()>);

impl Places {
    /// Whether that address had clients before.
    pub(super) fn knows(&self, from: IpAddr) -> bool {
        self.known.contains(&block(from))
    }

    /// Adds the address of a client.
    pub(super) fn remember(&mut self, from: IpAddr) {
        let from = block(from);
        self.known.retain(|one| *one != from);
        if self.known.len() == MOST_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(from);
    }

    /// Takes a place, and returns the handshake that lost it: a handshake takes a few milliseconds,
    /// so the oldest is least likely to be a real one.
    pub(super) fn take(
        &mut self,
        from: IpAddr,
        limits: &ListenerLimits,
    ) -> (Taken, Option<(IpAddr, RefusalCause)>) {
        let is_known = self.knows(from);
        let left = self
            .make_room(from, is_known, limits)
            .map(|(number, cause)| (self.leave(number), cause));
        let (leave, left_for) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        self.held.insert(number, PendingHandshake { from, is_known, is_judged: false, leave });
        ((number, left_for), left.and_then(|(gone, cause)| Some((gone?, cause))))
    }

    /// Whether the caller in this place is refused only now, and not already for another caller
    /// that needed the place. It keeps the place.
    pub(super) fn judge(&mut self, number: u64) -> bool {
        self.held
            .get_mut(&number)
            .is_some_and(|place| !std::mem::replace(&mut place.is_judged, true))
    }

    /// Releases a place; returns whether it had not been taken away.
    pub(super) fn give_back(&mut self, number: u64) -> bool {
        self.held.remove(&number).is_some()
    }

    /// The handshake that must end to make a place for that address.
    fn make_room(
        &self,
        from: IpAddr,
        is_known: bool,
        limits: &ListenerLimits,
    ) -> Option<(u64, RefusalCause)> {
        let own = self.oldest(|place| block(place.from) == block(from));
        if self.count(|place| block(place.from) == block(from)) >= limits.handshakes_per_address {
            return own.map(|number| (number, RefusalCause::CrowdedAddress));
        }
        let strangers = self.count(|place| !place.is_known);
        let is_full = self.held.len() >= limits.handshakes;
        let are_many = !is_known && strangers + limits.kept_for_known >= limits.handshakes;
        let stranger = || self.oldest(|place| !place.is_known);
        let oldest =
            if is_full || are_many { stranger().or_else(|| self.oldest(|_| true)) } else { None };
        oldest.map(|number| (number, RefusalCause::Crowded))
    }

    fn leave(&mut self, number: u64) -> Option<IpAddr> {
        let place = self.held.remove(&number)?;
        // It fails when the handshake has ended meanwhile.
        let _ = place.leave.send(());
        (!place.is_judged).then_some(place.from)
    }

    fn oldest(&self, is: impl Fn(&PendingHandshake) -> bool) -> Option<u64> {
        self.held.iter().find(|(_, place)| is(place)).map(|(number, _)| *number)
    }

    fn count(&self, is: impl Fn(&PendingHandshake) -> bool) -> usize {
        self.held.values().filter(|place| is(place)).count()
    }
}

/// The unit that counts as one address: for IPv6 a /64, which one host can fill.
pub(super) fn block(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => six_of(six),
    }
}

/// The unit that counts as one network: for IPv4 a /24, for IPv6 a /64.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(four) => {
            let [a, b, c, _] = four.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(six) => six_of(six),
    }
}

fn six_of(six: Ipv6Addr) -> IpAddr {
    let [a, b, c, d, ..] = six.segments();
    IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ListenerLimits = ListenerLimits {
        handshakes: 4,
        handshakes_per_address: 2,
        kept_for_known: 1,
        ..ListenerLimits::STANDARD
    };

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn the_oldest_leaves_first_its_own_address_and_then_a_stranger() {
        let mut places = Places::default();
        let mut take = |last: u8| {
            let (_, left) = places.take(ip(last), &LIMITS);
            left.map(|(from, cause)| (from, matches!(cause, RefusalCause::CrowdedAddress)))
        };
        assert_eq!([take(1), take(1), take(2)], [None, None, None]);
        assert_eq!(take(1), Some((ip(1), true)));
        // Three places are for unknown callers; the oldest of them is now that of 2, after it the
        // second of 1.
        assert_eq!(take(3), Some((ip(1), false)));
        assert_eq!(take(4), Some((ip(2), false)));
        places.remember(ip(9));
        assert!(places.take(ip(9), &LIMITS).1.is_none(), "a place is kept for who was a client");
        assert_eq!(places.take(ip(9), &LIMITS).1.map(|left| left.0), Some(ip(1)));
        assert_eq!(places.held.len(), 4);
    }

    #[test]
    fn who_has_to_leave_hears_of_it_and_gives_nothing_back() {
        let mut places = Places::default();
        let limits = ListenerLimits { handshakes_per_address: 1, ..LIMITS };
        let ((first, mut left_for), _) = places.take(ip(1), &limits);
        places.take(ip(1), &limits);
        assert_eq!(left_for.try_recv(), Ok(()));
        assert!(!places.judge(first), "it was refused before");
        assert!(!places.give_back(first));
        assert_eq!(places.held.len(), 1);
    }

    #[test]
    fn nobody_is_turned_away_twice() {
        let mut places = Places::default();
        let limits = ListenerLimits { handshakes_per_address: 1, ..LIMITS };
        let ((first, _left_for), _) = places.take(ip(1), &limits);
        assert!(places.judge(first) && !places.judge(first));
        assert!(places.take(ip(1), &limits).1.is_none());
    }

    #[test]
    fn so_many_clients_are_remembered() {
        let mut places = Places::default();
        (0..=64).for_each(|last| places.remember(ip(last)));
        assert!(!places.knows(ip(0)) && places.knows(ip(1)) && places.known.len() == MOST_KNOWN);
        places.remember("2001:db8::1".parse().unwrap());
        assert!(places.knows("2001:db8::2".parse().unwrap()));
    }
}
