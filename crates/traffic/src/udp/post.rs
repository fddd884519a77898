//! A UDP socket with its flow's token: how two ends find each other, and how they part.
//!
//! ```text
//! caller    Hello(0) ------------------------> Hello(n) -------------------------> data
//! listener            ---> Challenge(n) --->            ---> Welcome --->
//! ```
//!
//! The caller sends `Hello` after 20 ms, 40 ms and so on, at least once a second, until it receives a
//! datagram of its flow: on a slow line with a long delay, greetings at a fixed pace would fill the
//! queue. The listener,
//! which cannot know the caller's port before, answers each `Hello` with the right token by as many
//! octets: a `Challenge` with a number that only a receiver at that address can send back. The
//! listener accepts that caller: it connects its socket to that address (from then on the kernel
//! drops datagrams from others) and sends `Welcome`. So a forged address gets no stream, even from
//! a sender that knows the token. An end that is done sends `Farewell`, up to 25 times 20 ms apart,
//! until it receives `Goodbye` or an error that no process listens any more.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use btu_contract::activity::{Rendezvous, Token};
use btu_contract::dscp::Dscp;
use btu_contract::peers::Callers;
use btu_units::Span;
use ring::hmac::{HMAC_SHA256, Key, sign};
use ring::rand::SystemRandom;
use socket2::SockRef;

use super::header::{DatagramKind, HEADER, Header};
use crate::clock::{Limit, TICK, now};
use crate::error::TrafficError;
use crate::sys::{option, stream};
use crate::tcp::line::mark;
use crate::token;

/// Between the first two greetings, and two farewells.
const AGAIN: Duration = Duration::from_millis(20);

/// The longest time between two greetings: that before TCP's first retransmission (RFC 6298, section
/// 2).
const LONGEST_AGAIN: Duration = Duration::from_secs(1);

/// Most farewells: 25 lost in a row happen once in 10^17 times even where every fifth datagram is
/// lost.
const FAREWELLS: u32 = 25;

/// Receive buffer asked for, so that a receiver which is not scheduled for a while loses nothing;
/// the kernel gives at most `net.core.rmem_max`.
const ROOM: usize = 4 << 20;

/// A bound socket; that of a caller also has the peer's address.
pub(crate) struct Post {
    socket: UdpSocket,
    token: Token,
    callee: Option<SocketAddr>,
    local: SocketAddr,
    callers: Callers,
}

impl Post {
    /// Binds, and for a caller fixes the peer; nothing is sent yet. Its packets carry this code
    /// point.
    pub(crate) fn prepare(
        meeting: &Rendezvous,
        token: Token,
        dscp: Option<Dscp>,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let (address, callee) = match *meeting {
            Rendezvous::Listen(address) => (SocketAddr::new(address, 0), None),
            Rendezvous::Connect(peer @ SocketAddr::V4(_)) => {
                ((Ipv4Addr::UNSPECIFIED, 0).into(), Some(peer))
            }
            Rendezvous::Connect(peer @ SocketAddr::V6(_)) => {
                ((Ipv6Addr::UNSPECIFIED, 0).into(), Some(peer))
            }
        };
        let socket = bind(address).map_err(|source| TrafficError::Listen { address, source })?;
        mark(&SockRef::from(&socket), address, dscp)
            .map_err(TrafficError::socket("mark packets", address))?;
        if let Some(peer) = callee {
            socket.connect(peer).map_err(|source| TrafficError::Connect { peer, source })?;
        }
        let local =
            socket.local_addr().map_err(TrafficError::socket("read the own address", address))?;
        Ok(Self { socket, token, callee, local, callers: callers.clone() })
    }

    /// The address for callers; `None` when it is the caller.
    pub(crate) fn endpoint(&self) -> Option<SocketAddr> {
        self.callee.is_none().then_some(self.local)
    }

    /// Finds the peer; its data after the greeting stay in the socket.
    pub(crate) fn meet(self, limit: &Limit<'_>) -> Result<Exchange, TrafficError> {
        match self.callee {
            Some(peer) => self.exchange(peer).call(limit),
            None => self.listen(limit),
        }
    }

    fn exchange(self, peer: SocketAddr) -> Exchange {
        Exchange { socket: self.socket, token: self.token, peer, round_trip: Span::ZERO }
    }

    fn listen(self, limit: &Limit<'_>) -> Result<Exchange, TrafficError> {
        let challenges =
            Challenges::new().map_err(TrafficError::socket("make a challenge", self.local))?;
        let mut room = [0; HEADER + 1];
        loop {
            limit.check(now(), "wait for the peer's greeting", self.local)?;
            match self.socket.recv_from(&mut room) {
                Ok((_, caller)) if !self.callers.may_call(caller) => {}
                Ok((length, caller)) => match greeting(&room[..length], &self.token) {
                    Some(number) if number == challenges.of(caller) => return self.welcome(caller),
                    Some(_) => self.challenge(caller, challenges.of(caller)),
                    None => {}
                },
                Err(error) if is_pause(&error) => {}
                Err(error) => {
                    return Err(TrafficError::socket("wait for the peer's greeting", self.local)(
                        error,
                    ));
                }
            }
        }
    }

    fn welcome(self, peer: SocketAddr) -> Result<Exchange, TrafficError> {
        self.socket.connect(peer).map_err(|source| TrafficError::Connect { peer, source })?;
        let exchange = self.exchange(peer);
        exchange.say(DatagramKind::Welcome, 0)?;
        Ok(exchange)
    }

    fn challenge(&self, caller: SocketAddr, number: u64) {
        let challenge =
            Header { kind: DatagramKind::Challenge, token: self.token, number }.encode();
        // Any host may have forged that address: a failure to send there does not affect other
        // callers.
        let _ = self.socket.send_to(&challenge, caller);
    }
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    SockRef::from(&socket).set_recv_buffer_size(ROOM)?;
    socket.set_read_timeout(Some(TICK))?;
    Ok(socket)
}

/// The number in a greeting with the token.
fn greeting(datagram: &[u8], token: &Token) -> Option<u64> {
    match Header::decode(datagram)? {
        (Header { kind: DatagramKind::Hello, token: said, number }, [])
            if token::is_same(&said, token) =>
        {
            Some(number)
        }
        _ => None,
    }
}

/// A timeout or a signal: no datagram arrived.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Two ends that have found each other; only the peer's datagrams are received.
pub(crate) struct Exchange {
    socket: UdpSocket,
    token: Token,
    peer: SocketAddr,
    round_trip: Span,
}

/// The answers to a caller's greeting.
enum Heard {
    /// The listener requests this number.
    Challenge(u64),
    /// The flow was accepted.
    Flow,
    Nothing,
}

impl Exchange {
    fn call(mut self, limit: &Limit<'_>) -> Result<Self, TrafficError> {
        self.wait_at_most(AGAIN)?;
        let (mut number, mut answered, mut again) = (0, now(), AGAIN);
        loop {
            self.say(DatagramKind::Hello, number)?;
            match self.hear(number, again, limit)? {
                Heard::Challenge(wanted) => (number, answered) = (wanted, now()),
                Heard::Flow => break,
                Heard::Nothing => again = (again * 2).min(LONGEST_AGAIN),
            }
        }
        self.round_trip = now().since(answered);
        self.wait_at_most(TICK)?;
        Ok(self)
    }

    /// Waits for so long until a datagram of this flow has arrived (other than the challenge
    /// `answered`); a welcome is consumed, the flow's data stay for their reader.
    fn hear(
        &self,
        answered: u64,
        longest: Duration,
        limit: &Limit<'_>,
    ) -> Result<Heard, TrafficError> {
        let until = now() + longest.into();
        let mut room = [0; HEADER];
        while now() < until {
            limit.check(now(), "greet the peer", self.peer)?;
            match self.socket.peek(&mut room) {
                Ok(length) => {
                    let header = self.header(&room[..length]).map(|(header, _)| header);
                    if header.is_some_and(|header| header.kind == DatagramKind::Data) {
                        return Ok(Heard::Flow);
                    }
                    self.socket
                        .recv(&mut room)
                        .map_err(TrafficError::socket("read a datagram", self.peer))?;
                    match header {
                        Some(Header { kind: DatagramKind::Welcome, .. }) => return Ok(Heard::Flow),
                        Some(Header { kind: DatagramKind::Challenge, number, .. })
                            if number != answered =>
                        {
                            return Ok(Heard::Challenge(number));
                        }
                        _ => {}
                    }
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(TrafficError::socket("greet", self.peer)(error)),
            }
        }
        Ok(Heard::Nothing)
    }

    /// The time until the peer's answer to a caller's last greeting: a round trip, or more where
    /// one of the two was lost.
    pub(crate) fn round_trip(&self) -> Span {
        self.round_trip
    }

    /// The address of the other end.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The token of the flow.
    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// The file descriptor, for system calls.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a datagram to the peer.
    pub(crate) fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        stream::send(self.socket(), datagram, 0)
    }

    /// Receives one datagram; longer ones than `room` are cut.
    pub(crate) fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        stream::receive(self.socket(), room, 0)
    }

    /// Receives one datagram if there is one.
    pub(crate) fn receive_now(&self, room: &mut [u8]) -> io::Result<usize> {
        stream::receive(self.socket(), room, libc::MSG_DONTWAIT)
    }

    /// Reports the number of arrived datagrams and their time to a sender. A sender that is gone or
    /// a full path is no error here: the report is repeated.
    pub(crate) fn tell(&self, datagrams: u64, since: Span) {
        let head =
            Header { kind: DatagramKind::Count, token: self.token, number: datagrams }.encode();
        let mut told = [0; HEADER + 8];
        told[..HEADER].copy_from_slice(&head);
        told[HEADER..].copy_from_slice(&since.nanoseconds().to_be_bytes());
        let _ = self.socket.send(&told);
    }

    /// The header and payload of a datagram of this flow.
    pub(crate) fn header<'a>(&self, datagram: &'a [u8]) -> Option<(Header, &'a [u8])> {
        Header::decode(datagram).filter(|(header, _)| header.token == self.token)
    }

    /// Sets how long a receiving call waits.
    pub(crate) fn wait_at_most(&self, longest: Duration) -> Result<(), TrafficError> {
        self.socket
            .set_read_timeout(Some(longest))
            .map_err(TrafficError::socket("set SO_RCVTIMEO", self.peer))
    }

    /// Datagrams the kernel dropped because this socket's buffer was full.
    pub(crate) fn drops(&self) -> Result<u32, TrafficError> {
        option::drops(&self.socket).map_err(TrafficError::socket("read SO_MEMINFO", self.peer))
    }

    /// Sends a control message without payload. A peer that is gone or a full path is no error
    /// here: control messages are repeated.
    pub(crate) fn say(&self, kind: DatagramKind, number: u64) -> Result<(), TrafficError> {
        match self.socket.send(&Header { kind, token: self.token, number }.encode()) {
            Ok(_) => Ok(()),
            Err(error) if is_pause(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
            Err(error) => Err(TrafficError::socket("send a datagram", self.peer)(error)),
        }
    }

    /// Sends the farewell until the peer has received it, is gone, or half a second is over.
    pub(crate) fn part(&self, datagrams: u64) -> Result<(), TrafficError> {
        self.wait_at_most(AGAIN)?;
        for _ in 0..FAREWELLS {
            match self.say(DatagramKind::Farewell, datagrams).and_then(|()| self.hears_goodbye()) {
                Ok(false) => {}
                Ok(true) => break,
                Err(TrafficError::Socket { source, .. })
                    if source.kind() == ErrorKind::ConnectionRefused =>
                {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn hears_goodbye(&self) -> Result<bool, TrafficError> {
        let until = now() + Span::from(AGAIN);
        let mut room = [0; HEADER];
        while now() < until {
            match self.socket.recv(&mut room) {
                Ok(length) => {
                    if self
                        .header(&room[..length])
                        .is_some_and(|(header, _)| header.kind == DatagramKind::Goodbye)
                    {
                        return Ok(true);
                    }
                }
                Err(error) if is_pause(&error) => break,
                Err(error) => {
                    return Err(TrafficError::socket("wait for goodbye", self.peer)(error));
                }
            }
        }
        Ok(false)
    }
}

// Proof that a caller receives data at its address: a number for each address, which the caller
// must send back. The listener keeps no state of a caller before that (as with SYN cookies, RFC
// 4987 section 3.6).

/// Makes the numbers: a process that does not get them cannot know them.
struct Challenges(Key);

impl Challenges {
    /// With a secret of its own.
    fn new() -> io::Result<Self> {
        let refused = |_| io::Error::other("the system gives no random numbers");
        Key::generate(HMAC_SHA256, &SystemRandom::new()).map(Self).map_err(refused)
    }

    /// The number for a caller at this address and port; never 0, which means that a caller has no
    /// number yet.
    fn of(&self, caller: SocketAddr) -> u64 {
        let tag = sign(&self.0, caller.to_string().as_bytes());
        tag.as_ref().first_chunk().map_or(1, |octets| u64::from_be_bytes(*octets) | 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_a_greeting_with_the_token_is_one(garbage in prop::collection::vec(any::<u8>(), 0..40), token in any::<Token>(), number in any::<u64>()) {
            let hello = Header { kind: DatagramKind::Hello, token, number }.encode();
            prop_assert_eq!(greeting(&hello, &token), Some(number));
            prop_assert_eq!(greeting(&garbage, &token).is_some(), garbage[..] == hello[..]);
            let welcome = Header { kind: DatagramKind::Welcome, token, number }.encode();
            prop_assert_eq!(greeting(&welcome, &token), None);
        }
    }

    /// After 20, 40, 80 ms and so on: a line of 9600 b/s with a round trip of four seconds would need
    /// fifteen seconds to send greetings at a fixed pace.
    #[test]
    fn greetings_become_rarer() {
        let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let (meeting, callers) =
            (Rendezvous::Connect(silent.local_addr().expect("an address")), Callers::any());
        let post = Post::prepare(&meeting, Token::default(), None, &callers).expect("a caller");
        let stop = std::sync::atomic::AtomicBool::new(false);
        let limit = Limit::new(now(), Span::from_milliseconds(600), &stop);
        assert!(post.meet(&limit).is_err(), "there is no answer");
        silent.set_nonblocking(true).expect("a socket");
        let greetings = std::iter::from_fn(|| silent.recv(&mut [0; 64]).ok()).count();
        // At 0, 20, 60, 140 and 300 ms; fewer on a machine that is late.
        assert!((1..=5).contains(&greetings), "{greetings} greetings");
    }

    proptest! {
        #[test]
        fn each_address_has_its_own_number_from_each_listener(address in any::<[u8; 4]>(), port in any::<u16>(), bit in 0u32..48) {
            let (one, other) = (Challenges::new().unwrap(), Challenges::new().unwrap());
            let caller = SocketAddr::from((address, port));
            prop_assert_eq!(one.of(caller), one.of(caller));
            prop_assert_ne!(one.of(caller), 0);
            prop_assert_ne!(one.of(caller), other.of(caller));
            let place = u64::from(u32::from_be_bytes(address)) << 16 | u64::from(port);
            let near = place ^ 1 << bit;
            let near = SocketAddr::from((((near >> 16) as u32).to_be_bytes(), near as u16));
            prop_assert_ne!(one.of(caller), one.of(near));
        }
    }
}
