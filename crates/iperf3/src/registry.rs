//! The tests of the server: who may begin one, and which data connection belongs to which.
//!
//! A TCP data connection is its test's by the cookie. A UDP greeting has no cookie: it belongs to
//! the test of its source address that creates UDP streams now. Tests from one address take turns
//! there, for as long as it takes to create the streams.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use btu_traffic::{Share, Shares, host_of};

use crate::company::{Companies, Company};
use crate::control::News;
use crate::error::Ending;
use crate::protocol::Cookie;
use crate::settings::Settings;
use crate::streams::Socket;

/// Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Registry(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    tests: HashMap<Cookie, Test>,
    /// Tests that create UDP streams, or wait to do so, by their clients' addresses.
    turns: HashMap<IpAddr, VecDeque<u64>>,
    /// Connections without a cookie yet.
    unknown: Shares,
    companies: Companies,
    streams: Shares,
    next: u64,
    is_stopped: bool,
    settings: Settings,
}

#[derive(Debug)]
struct Test {
    id: u64,
    address: IpAddr,
    /// The server's end of the control connection: UDP streams have the same address.
    local: SocketAddr,
    wake: UnixStream,
    /// Streams that may still come.
    expected: usize,
    arrived: Vec<(u64, Socket)>,
    ports: HashSet<u16>,
    /// Its streams of the budget.
    reserved: Option<Share>,
}

impl Test {
    /// The buffer is full only if the test has not yet looked at earlier news.
    fn wake(&self) {
        let _ = (&self.wake).write(&[1]);
    }
}

/// What became of a connection with a cookie.
pub(crate) enum Delivered {
    /// It is a stream of a test.
    Taken,
    /// No test has this cookie.
    Unknown(TcpStream),
    /// The test with this cookie expects no stream.
    Unexpected(TcpStream),
}

impl Registry {
    pub(crate) fn new(settings: Settings) -> Self {
        let limits = settings.limits;
        Self(Arc::new(Mutex::new(Inner {
            tests: HashMap::new(),
            turns: HashMap::new(),
            unknown: Shares::new(limits.unknown, limits.unknown_per_address),
            companies: Companies::new(Instant::now()),
            streams: Shares::new(limits.streams, limits.streams_per_address),
            next: 0,
            is_stopped: false,
            settings,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No operation under the lock can be interrupted halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all tests, and the acceptance of others.
    pub(crate) fn stop(&self) {
        let mut inner = self.lock();
        inner.is_stopped = true;
        inner.tests.values().for_each(Test::wake);
    }

    /// Whether the server ends.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Waits until all tests have ended, but not long.
    pub(crate) fn drain(&self, most: Duration) {
        let until = Instant::now() + most;
        while Instant::now() < until && !self.lock().tests.is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A place for a connection that has not sent its cookie; `None` if there are too many.
    pub(crate) fn greet(&self, address: IpAddr) -> Option<Share> {
        let inner = self.lock();
        if inner.is_stopped { None } else { inner.unknown.take(address, 1) }
    }

    /// Gives a connection to the test of its cookie; `order` is its place among all accepted ones.
    pub(crate) fn deliver(&self, cookie: &Cookie, order: u64, stream: TcpStream) -> Delivered {
        let mut inner = self.lock();
        let Some(test) = inner.tests.get_mut(cookie) else { return Delivered::Unknown(stream) };
        if test.expected == 0 {
            return Delivered::Unexpected(stream);
        }
        test.expected -= 1;
        test.arrived.push((order, Socket::Tcp(stream)));
        test.wake();
        Delivered::Taken
    }

    /// The server's address for the next UDP stream from `peer`; `None` if no test expects it.
    pub(crate) fn expects(&self, peer: SocketAddr) -> Option<SocketAddr> {
        let inner = self.lock();
        let id = *inner.turns.get(&peer.ip())?.front()?;
        let test = inner.tests.values().find(|test| test.id == id)?;
        (test.expected > 0 && !test.ports.contains(&peer.port())).then_some(test.local)
    }

    /// Gives a UDP stream from `peer` to the test whose turn it is. If that has just ended, so does
    /// the stream.
    pub(crate) fn deliver_udp(&self, peer: SocketAddr, order: u64, socket: UdpSocket) {
        let mut inner = self.lock();
        let first = inner.turns.get(&peer.ip()).and_then(|queue| queue.front().copied());
        let test = inner.tests.values_mut().find(|test| Some(test.id) == first);
        if let Some(test) = test.filter(|test| test.expected > 0) {
            test.expected -= 1;
            test.ports.insert(peer.port());
            test.arrived.push((order, Socket::Udp(socket)));
            test.wake();
        }
    }

    /// A place for the test of a new client.
    pub(crate) fn admit(
        &self,
        cookie: Cookie,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Result<(TestPlace, UnixStream), Ending> {
        let (wake, woken) = UnixStream::pair().map_err(Ending::system("make a pipe"))?;
        for end in [&wake, &woken] {
            end.set_nonblocking(true).map_err(Ending::system("prepare a pipe"))?;
        }
        let mut inner = self.lock();
        let limits = inner.settings.limits;
        let host = host_of(peer.ip());
        let of_host = inner.tests.values().filter(|test| host_of(test.address) == host).count();
        let is_alone = inner.settings.exclusive || inner.settings.one_off;
        let busy = if inner.is_stopped {
            Some("this server ends")
        } else if is_alone && !inner.tests.is_empty() {
            Some("another test is running, and this server makes one at a time")
        } else if inner.tests.len() >= limits.tests {
            Some("as many tests are running as this server makes")
        } else if of_host >= limits.tests_per_address {
            Some("as many tests are running as one address may have")
        } else if inner.tests.contains_key(&cookie) {
            Some("a test has this cookie already")
        } else {
            None
        };
        if let Some(why) = busy {
            return Err(Ending::Busy(why));
        }
        let id = inner.next;
        inner.next += 1;
        inner.tests.insert(
            cookie,
            Test {
                id,
                address: peer.ip(),
                local,
                wake,
                expected: 0,
                arrived: Vec::new(),
                ports: HashSet::new(),
                reserved: None,
            },
        );
        drop(inner);
        Ok((TestPlace { registry: self.clone(), cookie, id, address: peer.ip() }, woken))
    }
}

/// The place of a test; free when this is dropped.
#[derive(Debug)]
pub(crate) struct TestPlace {
    registry: Registry,
    cookie: Cookie,
    id: u64,
    address: IpAddr,
}

impl TestPlace {
    /// What may end a wait of this test; a byte comes to `woken` when the registry has news.
    pub(crate) fn news(&self, woken: UnixStream) -> News {
        News::Registry(self.registry.clone(), woken)
    }

    /// Takes so many streams from the server's budget.
    pub(crate) fn reserve(&self, streams: usize) -> Result<(), Ending> {
        let mut inner = self.registry.lock();
        let why = "as many streams are open as this server has, or as one address may have";
        let share = inner.streams.take(self.address, streams).ok_or(Ending::Busy(why))?;
        self.test(&mut inner, |test| test.reserved = Some(share));
        Ok(())
    }

    /// Expects so many streams.
    pub(crate) fn expect(&self, streams: usize) {
        let mut inner = self.registry.lock();
        self.test(&mut inner, |test| test.expected = streams);
    }

    /// The streams that have come, in the order in which the client made them, once there are so
    /// many.
    pub(crate) fn arrived(&self, streams: usize) -> Option<Vec<Socket>> {
        let mut inner = self.registry.lock();
        let whole = |test: &mut Test| {
            (test.arrived.len() >= streams).then(|| std::mem::take(&mut test.arrived))
        };
        let mut arrived = self.test(&mut inner, whole)??;
        arrived.sort_by_key(|(order, _)| *order);
        Some(arrived.into_iter().map(|(_, socket)| socket).collect())
    }

    /// Waits in the line of tests that create UDP streams from this client's address.
    pub(crate) fn queue(&self) {
        self.registry.lock().turns.entry(self.address).or_default().push_back(self.id);
    }

    /// Whether this test is the first there.
    pub(crate) fn has_turn(&self) -> bool {
        let inner = self.registry.lock();
        inner.turns.get(&self.address).and_then(VecDeque::front) == Some(&self.id)
    }

    /// Leaves the line.
    pub(crate) fn leave_queue(&self) {
        leave_queue(&mut self.registry.lock(), self.address, self.id);
    }

    /// Data begin to move.
    pub(crate) fn begin(&self, now: Instant) {
        self.registry.lock().companies.begin(self.id, self.address, now);
    }

    /// Data move no more; the other tests meanwhile.
    pub(crate) fn end(&self, now: Instant) -> Company {
        self.registry.lock().companies.end(self.id, now)
    }

    fn test<T>(&self, inner: &mut Inner, change: impl FnOnce(&mut Test) -> T) -> Option<T> {
        inner.tests.get_mut(&self.cookie).map(change)
    }
}

fn leave_queue(inner: &mut Inner, address: IpAddr, id: u64) {
    let Some(queue) = inner.turns.get_mut(&address) else { return };
    queue.retain(|one| *one != id);
    let first = queue.front().copied();
    if first.is_none() {
        inner.turns.remove(&address);
    }
    inner.tests.values().filter(|test| Some(test.id) == first).for_each(Test::wake);
}

impl Drop for TestPlace {
    fn drop(&mut self) {
        let mut inner = self.registry.lock();
        leave_queue(&mut inner, self.address, self.id);
        inner.companies.end(self.id, Instant::now());
        inner.tests.remove(&self.cookie);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn a_network_of_ipv6_has_the_places_of_one_host() {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let registry = Registry::new(Settings::at(local));
        let peer = |number: u16| {
            SocketAddr::from((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number), 1))
        };
        let greeted = (0..1000).filter_map(|number| registry.greet(peer(number).ip()));
        assert_eq!(greeted.collect::<Vec<Share>>().len(), 160);
        let admit = |number| registry.admit(Cookie::random(), peer(number), local).ok();
        let admitted: Vec<_> = (0..100).filter_map(admit).collect();
        assert_eq!(admitted.len(), 8);
    }
}
