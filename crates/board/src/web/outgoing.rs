//! Archives, reports and comparisons on their way: bounded in memory, in all and for each host. A reader who takes nothing
//! makes room.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use btu_traffic::{ConnectionPlace, host_of};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::server::LastTaken;

/// As many bytes of answers are on their way.
const OUTGOING_BYTES: usize = 256 << 20;

/// Of which one host has so many.
const OUTGOING_BYTES_OF_HOST: usize = OUTGOING_BYTES / 4;

/// A reader who has taken nothing for so long makes room.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Who reads an answer, and by which connection.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) address: IpAddr,
    pub(crate) connection: Arc<ConnectionPlace>,
    pub(crate) taken: LastTaken,
}

/// As long does a caller wait until what was ended has given its memory back: a moment, but for a machine that is busy.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The answers on their way. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Outgoing {
    answers: Arc<Mutex<Answers>>,
    freed: Arc<Notify>,
}

#[derive(Default)]
struct Answers {
    next: u64,
    all: HashMap<u64, Answer>,
}

struct Answer {
    host: IpAddr,
    bytes: usize,
    began: Instant,
    taken: LastTaken,
    connection: Arc<ConnectionPlace>,
    /// Whether its connection was ended: it keeps its memory until that is gone.
    has_ended: bool,
}

/// The room of an answer, until it is dropped.
pub(super) struct Room {
    outgoing: Outgoing,
    number: u64,
}

/// What takes a room in memory.
struct Held {
    octets: Vec<u8>,
    _room: Arc<Room>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

impl Outgoing {
    fn all(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for so many bytes. If there is none, answers are ended whose readers take nothing; then, one after the other,
    /// those of the host with most, if that has more than this one would have. Else `None`.
    pub(super) async fn take(&self, reader: &Reader, bytes: usize) -> Option<Arc<Room>> {
        let number = self.all().add(reader, bytes)?;
        let room = Arc::new(Room { outgoing: self.clone(), number });
        timeout(LONGEST_WAIT, self.until_free()).await.ok().map(|()| room)
    }

    /// Until what was ended has made the room that was taken.
    async fn until_free(&self) {
        loop {
            // What is freed from here on wakes this caller.
            let freed = self.freed.notified();
            if self.all().all.values().map(|one| one.bytes).sum::<usize>() <= OUTGOING_BYTES {
                return;
            }
            freed.await;
        }
    }
}

impl Answers {
    fn add(&mut self, reader: &Reader, bytes: usize) -> Option<u64> {
        let host = host_of(reader.address);
        while self.bytes_of(|one| one.host == host) + bytes > OUTGOING_BYTES_OF_HOST {
            self.end(LONGEST_PAUSE, |one| one.host == host)?;
        }
        while self.bytes_of(|_| true) + bytes > OUTGOING_BYTES {
            self.end(LONGEST_PAUSE, |_| true).or_else(|| self.end_of_largest(host, bytes))?;
        }
        let number = self.next;
        self.next += 1;
        let Reader { connection, taken, .. } = reader.clone();
        let (began, has_ended) = (Instant::now(), false);
        self.all.insert(number, Answer { host, bytes, began, taken, connection, has_ended });
        Some(number)
    }

    fn live(&self) -> impl Iterator<Item = &Answer> {
        self.all.values().filter(|one| !one.has_ended)
    }

    fn bytes_of(&self, is_one: impl Fn(&Answer) -> bool) -> usize {
        self.live().filter(|one| is_one(one)).map(|one| one.bytes).sum()
    }

    /// Ends the connection of which nothing was taken for the longest time, if that is longer than `pause`.
    fn end(&mut self, pause: Duration, is_one: impl Fn(&Answer) -> bool) -> Option<()> {
        let ones = self.live().filter(|one| is_one(one) && one.last_taken().elapsed() >= pause);
        let ended = Arc::clone(&ones.min_by_key(|one| one.last_taken())?.connection);
        ended.end();
        for one in self.all.values_mut() {
            one.has_ended |= Arc::ptr_eq(&one.connection, &ended);
        }
        Some(())
    }

    fn end_of_largest(&mut self, next: IpAddr, bytes: usize) -> Option<()> {
        let mut hosts: HashMap<IpAddr, usize> = HashMap::new();
        for one in self.live() {
            *hosts.entry(one.host).or_default() += one.bytes;
        }
        let own = hosts.get(&next).copied().unwrap_or_default();
        let (largest, most) = hosts.into_iter().max_by_key(|(_, most)| *most)?;
        if most <= own + bytes {
            return None;
        }
        self.end(Duration::ZERO, |one| one.host == largest)
    }
}

impl Answer {
    /// When its reader took something last; its beginning, before.
    fn last_taken(&self) -> Instant {
        self.began.max(self.taken.at())
    }
}

impl Room {
    /// Octets that have this room until the last part of them has gone: the server keeps a part behind the end of an answer,
    /// until the system has taken it, and with it all of which it is a part.
    pub(super) fn hold(self: &Arc<Self>, octets: Vec<u8>) -> Bytes {
        Bytes::from_owner(Held { octets, _room: Arc::clone(self) })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.outgoing.all().all.remove(&self.number);
        self.outgoing.freed.notify_waiters();
    }
}
