//! Archives, reports and comparisons on their way: bounded in memory, in all and for each host. A reader who takes nothing
//! makes room.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use btu_traffic::{ConnectionPlace, host_of};

/// As many bytes of answers are on their way.
const OUTGOING_BYTES: usize = 256 << 20;

/// Of which one host has so many.
const OUTGOING_BYTES_OF_HOST: usize = OUTGOING_BYTES / 4;

/// A reader who has taken no part for so long makes room. A part has at most 256 KiB: at 100 kB/s, with what the system
/// keeps of it, one goes every 4 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Who reads an answer, and by which connection.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) address: IpAddr,
    pub(crate) connection: Arc<ConnectionPlace>,
}

/// The answers on their way. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Outgoing(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    next: u64,
    all: HashMap<u64, Answer>,
}

struct Answer {
    host: IpAddr,
    bytes: usize,
    /// When its last part went.
    went: Instant,
    connection: Arc<ConnectionPlace>,
}

/// The room of an answer, until it is dropped.
pub(super) struct Room {
    outgoing: Outgoing,
    number: u64,
}

impl Outgoing {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for so many bytes. If there is none, answers are ended whose readers take nothing; then, one after the other,
    /// those of the host with most, if that has more than this one would have. Else `None`.
    pub(super) fn take(&self, reader: &Reader, bytes: usize) -> Option<Room> {
        let (host, mut answers) = (host_of(reader.address), self.answers());
        while answers.bytes_of(host) + bytes > OUTGOING_BYTES_OF_HOST {
            answers.end(LONGEST_PAUSE, |one| one.host == host)?;
        }
        while answers.bytes() + bytes > OUTGOING_BYTES {
            answers.end(LONGEST_PAUSE, |_| true).or_else(|| answers.end_of_largest(host, bytes))?;
        }
        let (number, connection) = (answers.next, Arc::clone(&reader.connection));
        answers.next += 1;
        answers.all.insert(number, Answer { host, bytes, went: Instant::now(), connection });
        Some(Room { outgoing: self.clone(), number })
    }
}

impl Answers {
    fn bytes(&self) -> usize {
        self.all.values().map(|one| one.bytes).sum()
    }

    fn bytes_of(&self, host: IpAddr) -> usize {
        self.all.values().filter(|one| one.host == host).map(|one| one.bytes).sum()
    }

    /// Ends the answer of which no part went for the longest time, if that is longer than `pause`.
    fn end(&mut self, pause: Duration, is_one: impl Fn(&Answer) -> bool) -> Option<()> {
        let ones = self.all.iter().filter(|(_, one)| one.went.elapsed() >= pause && is_one(one));
        let (_, number) = ones.map(|(number, one)| (one.went, *number)).min()?;
        self.all.remove(&number)?.connection.end();
        Some(())
    }

    fn end_of_largest(&mut self, next: IpAddr, bytes: usize) -> Option<()> {
        let mut hosts: HashMap<IpAddr, usize> = HashMap::new();
        for one in self.all.values() {
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

impl Room {
    /// Notes that the reader takes a part.
    pub(super) fn note_part(&self) {
        if let Some(own) = self.outgoing.answers().all.get_mut(&self.number) {
            own.went = Instant::now();
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.outgoing.answers().all.remove(&self.number);
    }
}
