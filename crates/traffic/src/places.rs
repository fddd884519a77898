//! The connections of a server: bounded for each host and in all, so that one host keeps no other out.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// The connections of a server, so many in all and of each host.
#[derive(Debug)]
pub struct Places {
    most: usize,
    most_of_host: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    connections: HashMap<u64, OpenConnection>,
}

#[derive(Debug)]
struct OpenConnection {
    /// Absent for one of a proxy, which is of many hosts.
    host: Option<IpAddr>,
    /// Its requests that are being answered.
    answered: usize,
    /// Since when there is none.
    waits_since: Instant,
    /// Told when another one takes its place.
    lost: Arc<Notify>,
}

/// The place of a connection, until it is dropped.
#[derive(Debug)]
pub struct ConnectionPlace {
    places: Arc<Places>,
    number: u64,
    lost: Arc<Notify>,
}

/// A request of a connection, which is being answered until this is dropped.
#[derive(Debug)]
pub struct AnsweredRequest(Arc<ConnectionPlace>);

impl Places {
    /// All are free.
    pub fn new(most: usize, most_of_host: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_host, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection of this host ([`crate::host_of`]); `None` is a proxy, which is of many. If none is free, of
    /// those that ask for nothing the host with most loses one; if all are answered at present, the oldest of the host with most connections, if that has more than this one would
    /// have. Else `None`.
    pub fn take(self: &Arc<Self>, host: Option<IpAddr>) -> Option<ConnectionPlace> {
        let mut taken = self.taken();
        let is_own = |one: &OpenConnection| host.is_some() && one.host == host;
        if taken.connections.values().filter(|one| is_own(one)).count() >= self.most_of_host {
            taken.free(is_own)?;
        }
        if taken.connections.len() >= self.most {
            taken.free(|one| one.host.is_some()).or_else(|| taken.free_of_largest(host))?;
        }
        let (number, lost) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        let (waits_since, lost_too) = (Instant::now(), Arc::clone(&lost));
        let open = OpenConnection { host, answered: 0, waits_since, lost: lost_too };
        taken.connections.insert(number, open);
        Some(ConnectionPlace { places: Arc::clone(self), number, lost })
    }
}

impl Taken {
    /// Takes the place of one that waits: of the host with most of them the one that has waited for the longest time. By time
    /// alone, hosts that open connections fast enough would take the place of each other one before it has asked.
    fn free(&mut self, is_one: impl Fn(&OpenConnection) -> bool) -> Option<()> {
        let mut hosts = HashMap::new();
        for (number, one) in &self.connections {
            if one.answered == 0 && is_one(one) {
                let waits = Reverse((one.waits_since, *number));
                let (count, longest) = hosts.entry(one.host).or_insert((0, waits));
                *count += 1;
                *longest = waits.max(*longest);
            }
        }
        let (_, Reverse((_, number))) = hosts.into_values().max()?;
        self.connections.remove(&number)?.lost.notify_one();
        Some(())
    }

    /// Takes the oldest place of the host with most connections.
    fn free_of_largest(&mut self, next: Option<IpAddr>) -> Option<()> {
        let mut hosts: HashMap<IpAddr, (usize, u64)> = HashMap::new();
        for (number, one) in &self.connections {
            let Some(host) = one.host else { continue };
            let (count, oldest) = hosts.entry(host).or_insert((0, *number));
            *count += 1;
            *oldest = (*oldest).min(*number);
        }
        let own = next.and_then(|host| hosts.get(&host)).map_or(0, |(count, _)| *count);
        let (count, oldest) = hosts.into_values().max()?;
        if count <= own + 1 {
            return None;
        }
        self.connections.remove(&oldest)?.lost.notify_one();
        Some(())
    }
}

impl ConnectionPlace {
    /// Ends when another connection has taken the place.
    pub async fn lost(&self) {
        self.lost.notified().await;
    }

    /// Ends the connection, since what it takes is wanted elsewhere.
    pub fn end(&self) {
        self.lost.notify_one();
    }

    /// A request of the connection, from now on.
    pub fn answering(self: &Arc<Self>) -> AnsweredRequest {
        self.change(|own| own.answered += 1);
        AnsweredRequest(Arc::clone(self))
    }

    fn change(&self, change: impl FnOnce(&mut OpenConnection)) {
        self.places.taken().connections.get_mut(&self.number).map(change);
    }
}

impl Drop for AnsweredRequest {
    fn drop(&mut self) {
        self.0.change(|own| {
            own.answered = own.answered.saturating_sub(1);
            own.waits_since = Instant::now();
        });
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.taken().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn host(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn taken(places: &Arc<Places>, last: u8) -> Arc<ConnectionPlace> {
        Arc::new(places.take(Some(host(last))).unwrap())
    }

    fn has_lost(place: &ConnectionPlace) -> bool {
        !place.places.taken().connections.contains_key(&place.number)
    }

    #[test]
    fn a_host_has_at_most_its_places_and_takes_them_of_itself() {
        let places = Places::new(1000, 64);
        let other = places.take(Some(host(2))).unwrap();
        let all: Vec<_> = (0..64).map(|_| taken(&places, 1)).collect();
        let _answered: Vec<_> = all[1..].iter().map(ConnectionPlace::answering).collect();
        let _next = places.take(Some(host(1))).unwrap();
        assert!(has_lost(&all[0]) && !has_lost(&other));
        drop(places.take(Some(host(1))).unwrap());
        let proxied: Vec<_> = (0..200).map(|_| places.take(None).unwrap()).collect();
        assert!(proxied.iter().all(|place| !has_lost(place)), "a proxy is of many hosts");
    }

    #[test]
    fn a_host_with_many_requests_makes_room_for_others() {
        let places = Places::new(4, 64);
        let answered = |last| {
            let place = taken(&places, last);
            (place.answering(), place)
        };
        let all = [1, 2, 1, 1].map(answered);
        let _next = answered(3);
        assert_eq!(all.each_ref().map(|(_, place)| has_lost(place)), [true, false, false, false]);
        assert!(places.take(Some(host(1))).is_none(), "it has most of them itself");
    }

    #[test]
    fn hosts_that_open_many_connections_take_the_places_of_their_own() {
        let places = Places::new(11, 64);
        let first = taken(&places, 1);
        let _answered: Vec<_> = (0..4).map(|_| taken(&places, 1).answering()).collect();
        let others: Vec<_> = (0..60).map(|n| taken(&places, 2 + n % 3)).collect();
        assert!(!has_lost(&first), "it waits alone");
        assert_eq!(others.iter().filter(|one| !has_lost(one)).count(), 6);
    }

    #[test]
    fn whoever_has_waited_longest_makes_room_and_whoever_is_answered_stays() {
        let places = Places::new(3, 64);
        let all = [1, 2, 3].map(|last| {
            std::thread::sleep(Duration::from_millis(1));
            taken(&places, last)
        });
        let first = [all[0].answering(), all[0].answering()];
        let next = taken(&places, 4);
        assert_eq!(all.each_ref().map(|place| has_lost(place)), [false, true, false]);
        let _others = [all[2].answering(), next.answering()];
        let [one, other] = first;
        drop(one);
        assert!(places.take(Some(host(5))).is_none(), "all are answered at present");
        drop(other);
        assert!(places.take(Some(host(5))).is_some());
        assert!(has_lost(&all[0]), "it waits again");
    }
}
