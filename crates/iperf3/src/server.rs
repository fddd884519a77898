//! The listener: it accepts connections, reads their cookies, and opens UDP streams.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use btu_traffic::{Share, bound};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Type;

use crate::control::{Deadline, linger};
use crate::error::{Ending, Iperf3Error};
use crate::protocol::{Cookie, State};
use crate::registry::{Delivered, Registry};
use crate::report::Report;
use crate::session;
use crate::settings::Settings;
use crate::udp;

/// What the server tells its user.
#[derive(Debug)]
pub enum Event {
    /// A test has finished.
    Finished(Box<Report>),
    /// A test ended early, or was refused.
    Failed {
        /// The client's end of the control connection.
        client: SocketAddr,
        /// The reason.
        why: Ending,
    },
}

/// Who gets the events, from several threads.
type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// Connections that the kernel queues until they are accepted.
const WAITING: i32 = 1024;
/// When the system gives no connection (no descriptor is free, say), the pause until the next
/// attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// How long tests may take to tell their clients that the server ends.
const GRACE: Duration = Duration::from_secs(2);
/// Attempts to find a port that is free for TCP and UDP.
const ATTEMPTS: usize = 16;
/// Datagrams that are read from a socket before others have their turn.
const AT_ONCE: usize = 64;

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Shared,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Shared {
    registry: Registry,
    settings: Settings,
    tell: Tell,
    /// A byte to it ends the listener's wait.
    wake: Arc<UnixStream>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Server {
    /// Begins to serve; `tell` gets the results.
    ///
    /// # Errors
    /// The address or the port cannot be used.
    pub fn open(
        settings: Settings,
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, Iperf3Error> {
        let (tcp, udp) = sockets(settings.listen)?;
        let failed =
            |source| Iperf3Error::Listen { operation: "listen", address: settings.listen, source };
        let address = tcp.local_addr().map_err(failed)?;
        let system = |operation| move |source| Iperf3Error::System { operation, source };
        let (wake, woken) = UnixStream::pair().map_err(system("make a pipe"))?;
        let registry = Registry::new(settings.clone());
        let shared = Shared { registry, settings, tell: Arc::new(tell), wake: Arc::new(wake) };
        let listener = Listener { tcp, udp, woken, shared: shared.clone(), accepted: 0 };
        let thread = thread::Builder::new()
            .name("iperf3-listener".to_owned())
            .spawn(move || listener.run())
            .map_err(system("start the listener's thread"))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// The IP address and port on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it ends by itself: after the first test, if the settings say so.
    pub fn has_ended(&self) -> bool {
        self.shared.registry.is_stopped()
    }

    /// Tells clients that the server ends, and waits for their tests' threads, but not long.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
            self.shared.registry.drain(GRACE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn stop(&self) {
        self.registry.stop();
        let _ = (&*self.wake).write(&[1]);
    }
}

/// TCP and UDP on one port.
fn sockets(listen: SocketAddr) -> Result<(TcpListener, UdpSocket), Iperf3Error> {
    let mut attempts = if listen.port() == 0 { ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        let listener =
            |operation| move |source| Iperf3Error::Listen { operation, address: listen, source };
        let tcp = bound(listen, Type::STREAM).map_err(listener("listen for TCP"))?;
        let listening = tcp.listen(WAITING).and_then(|()| tcp.set_nonblocking(true));
        listening.map_err(listener("listen for TCP"))?;
        let tcp = TcpListener::from(tcp);
        let address = tcp.local_addr().map_err(listener("learn the port"))?;
        match of_udp(address) {
            Ok(udp) => return Ok((tcp, udp)),
            Err(_) if attempts > 0 => {}
            Err(error) => return Err(listener("listen for UDP")(error)),
        }
    }
}

/// A socket of UDP that does not block; all of them share the port.
fn of_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bound(address, Type::DGRAM)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The thread that accepts.
struct Listener {
    tcp: TcpListener,
    udp: UdpSocket,
    woken: UnixStream,
    shared: Shared,
    /// Streams are put into the order in which they were accepted.
    accepted: u64,
}

impl Listener {
    fn run(mut self) {
        while !self.shared.registry.is_stopped() {
            let [tcp, udp] = self.wait();
            if tcp {
                self.accept();
            }
            if udp {
                self.greet();
            }
        }
    }

    fn wait(&self) -> [bool; 2] {
        let source = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut sources = [self.tcp.as_fd(), self.udp.as_fd(), self.woken.as_fd()].map(source);
        if poll(&mut sources, PollTimeout::NONE).is_err() {
            return [false; 2];
        }
        [0, 1].map(|place| sources[place].any().unwrap_or(false))
    }

    fn accept(&mut self) {
        match self.tcp.accept() {
            Ok((stream, peer)) => {
                self.accepted += 1;
                // Beyond the limit of unknown callers, this one gets no answer.
                if let Some(greeting) = self.shared.registry.greet(peer.ip()) {
                    let (shared, order) = (self.shared.clone(), self.accepted);
                    let work = move || shared.receive(stream, peer, order, greeting);
                    // Without a thread, the connection is closed.
                    let _ = thread::Builder::new().name("iperf3-test".to_owned()).spawn(work);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // Out of descriptors or the peer is gone already: neither ends the server, and neither
            // may spin it.
            Err(_) => thread::sleep(RETRY_INTERVAL),
        }
    }

    /// Opens streams for the greetings that have come.
    fn greet(&mut self) {
        let mut greetings = VecDeque::new();
        take_greetings(&self.udp, &mut greetings);
        while let Some(peer) = greetings.pop_front() {
            // A failure concerns only this peer, whose test ends by its deadline.
            let _ = self.open_stream(peer, &mut greetings);
        }
    }

    /// Opens a UDP stream to `peer`, if a test of its address expects one; nothing is sent to any other.
    ///
    /// The stream's socket has the same port as the listener. Until it is connected, it may get
    /// greetings of others; they are added to `greetings`, and none is lost.
    fn open_stream(
        &mut self,
        peer: SocketAddr,
        greetings: &mut VecDeque<SocketAddr>,
    ) -> io::Result<()> {
        let address = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let Some(local) = self.shared.registry.expects(address) else { return Ok(()) };
        let socket = of_udp(local)?;
        socket.connect(peer)?;
        take_greetings(&socket, greetings);
        greetings.retain(|one| *one != peer);
        // Before the test can send on it: the client takes the first datagram for the answer.
        socket.send(&udp::ANSWER.to_ne_bytes())?;
        self.accepted += 1;
        self.shared.registry.deliver_udp(address, self.accepted, socket);
        Ok(())
    }
}

/// Reads what has arrived, and remembers who sent greetings.
fn take_greetings(socket: &UdpSocket, greetings: &mut VecDeque<SocketAddr>) {
    let mut datagram = [0; 16];
    for _ in 0..AT_ONCE {
        match socket.recv_from(&mut datagram) {
            Ok((octets, peer)) if udp::is_greeting(&datagram[..octets]) => {
                greetings.push_back(peer);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // No greeting, or news by ICMP of an earlier datagram.
            Ok(_) | Err(_) => {}
        }
    }
}

impl Shared {
    /// Reads the cookie of a connection, which says what the connection is.
    fn receive(&self, mut stream: TcpStream, peer: SocketAddr, order: u64, greeting: Share) {
        let cookie = read_cookie(&mut stream, self.settings.deadlines.cookie);
        drop(greeting);
        let cookie = match cookie {
            Ok(Some(cookie)) => cookie,
            Ok(None) => return,
            Err(why) => {
                let client = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                (self.tell)(Event::Failed { client, why });
                return;
            }
        };
        match self.registry.deliver(&cookie, order, stream) {
            Delivered::Taken => {}
            Delivered::Unexpected(stream) => deny(&stream),
            Delivered::Unknown(stream) => self.test(stream, peer, cookie),
        }
    }

    fn test(&self, stream: TcpStream, peer: SocketAddr, cookie: Cookie) {
        let client = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let admitted = stream.local_addr().map_err(Ending::system("learn the own address"));
        let admitted = admitted.and_then(|local| self.registry.admit(cookie, client, local));
        let (place, wake) = match admitted {
            Ok(admitted) => admitted,
            Err(why) => {
                (self.tell)(Event::Failed { client, why });
                deny(&stream);
                return;
            }
        };
        let finished = session::run(stream, client, &place, wake, &self.settings);
        (self.tell)(match finished.result {
            Ok(report) => Event::Finished(Box::new(report)),
            Err(why) => Event::Failed { client, why },
        });
        if self.settings.one_off && finished.has_begun {
            self.stop();
        }
        // The place is free before the client has read why its test ended.
        drop(place);
        if let Some(rest) = finished.rest {
            rest.linger();
        }
    }
}

fn deny(mut stream: &TcpStream) {
    if stream.write_all(&[State::AccessDenied.octet()]).is_ok() {
        linger(stream);
    }
}

/// `None` if nothing comes: probes of a port, and round trips that are measured by handshakes.
fn read_cookie(stream: &mut TcpStream, within: Duration) -> Result<Option<Cookie>, Ending> {
    let by = Deadline::after(within, "send the name of its test");
    let mut cookie = [0; Cookie::LENGTH];
    let mut read = 0;
    let ended = |read: usize, why: Ending| if read == 0 { Ok(None) } else { Err(why) };
    while read < cookie.len() {
        let left = by.at().saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return ended(read, by.late());
        }
        match stream.read(&mut cookie[read..]) {
            Ok(octets) if octets > 0 => read += octets,
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Ok(_) | Err(_) => return ended(read, by.gone()),
        }
    }
    let none = || Ending::Nonsense("no name of a test, so it is not a client of iperf3".to_owned());
    Cookie::read(cookie).ok_or_else(none).map(Some)
}
