//! The reflector: answers each packet with its own number and times, and never with more octets
//! than it got.
//!
//! RFC 8762, section 4.6, would answer a shorter packet with a whole one. This reflector does not answer
//! it, so that no forged sender can use it to send more than he does: senders of TWAMP Light pad
//! their packets, with 30 octets at least.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use btu_traffic::{ClockReading, clock_state};
use btu_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::PORT;
use crate::error::StampError;
use crate::packet::{BASE_OCTETS, ReflectorPacket, SenderPacket, UNKNOWN_TTL};
use crate::sessions::Sessions;
use crate::socket::{Arrival, Inbox, tell_arrivals};
use crate::time::{ErrorEstimate, Format, Timestamp};

/// The interval of looks whether to end, in milliseconds.
const LOOK_MILLISECONDS: u8 = 100;

/// Packets that are answered between two such looks at most.
const AT_ONCE: u32 = 256;

/// A pause after an error of the system that does not go away by itself.
const PAUSE: Duration = Duration::from_millis(10);

/// The state of the clock is read again after so long.
const CLOCK: Span = Span::from_seconds(1);

/// Within so long an answer comes back that another reflector has answered.
const RETURN: Span = Span::from_seconds(60);

/// A reflector, until it is dropped.
#[derive(Debug)]
pub struct Reflector {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reflector {
    /// Listens there, and answers from now on.
    ///
    /// # Errors
    /// The address cannot be used, or the system has no thread left.
    pub fn open(listen: SocketAddr) -> Result<Self, StampError> {
        let failed = |source| StampError::Listen { address: listen, source };
        let socket = bound(listen).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut work = Reflecting::new(socket, address.port());
        let ends = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("stamp".to_owned());
        let thread = thread.spawn(move || work.run(&ends)).map_err(failed)?;
        Ok(Self { address, is_over, thread: Some(thread) })
    }

    /// The address and port on which it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, the message has been printed.
            let _ = thread.join();
        }
    }
}

fn bound(listen: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(listen)?;
    socket.set_nonblocking(true)?;
    tell_arrivals(&socket)?;
    Ok(socket)
}

/// The thread that answers.
struct Reflecting {
    socket: UdpSocket,
    inbox: Inbox,
    answers: Answers,
}

impl Reflecting {
    fn new(socket: UdpSocket, port: u16) -> Self {
        Self { socket, inbox: Inbox::new(), answers: Answers::new(port) }
    }

    fn run(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let mut watched = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            // A signal only makes the next look earlier.
            let _ = poll(&mut watched, PollTimeout::from(LOOK_MILLISECONDS));
            for _ in 0..AT_ONCE {
                match self.inbox.receive(&self.socket) {
                    Ok(arrival) => self.answer(&arrival),
                    Err(nix::Error::EAGAIN) => break,
                    Err(nix::Error::EINTR) => {}
                    Err(_) => {
                        thread::sleep(PAUSE);
                        break;
                    }
                }
            }
        }
    }

    fn answer(&mut self, arrival: &Arrival) {
        let octets = self.inbox.octets(arrival);
        let Some(from) = arrival.from else { return };
        if self.answers.write(octets, from, arrival).is_some() {
            // What the kernel does not take is lost on its way back, as the sender will see.
            let _ = self.socket.send_to(octets, from);
        }
    }
}

/// What is answered.
pub(crate) struct Answers {
    sessions: Sessions,
    own_port: u16,
    error: ErrorEstimate,
    error_read: Time,
}

impl Answers {
    pub(crate) fn new(own_port: u16) -> Self {
        let error = ErrorEstimate::of_clock(clock_state());
        Self { sessions: Sessions::new(), own_port, error, error_read: Time::ZERO }
    }

    /// Turns a packet into its answer, which is as long; `None` if there is no answer. Extensions and
    /// padding stay as they are: a sender sets the flag U of each extension, and a reflector that does
    /// not understand it leaves it set (RFC 8972, section 4).
    pub(crate) fn write(
        &mut self,
        octets: &mut [u8],
        from: SocketAddr,
        arrival: &Arrival,
    ) -> Option<()> {
        let packet = SenderPacket::decode(octets)?;
        if self.is_reflector(from.port()) || is_own_answer(octets, arrival.wall) {
            return None;
        }
        let key = (from, packet.session);
        let sequence = self.sessions.number(key, octets.len(), arrival.monotonic)?;
        let answer = ReflectorPacket {
            sequence,
            sent: Timestamp::of_wall(Time::ZERO),
            error: self.error(arrival.monotonic),
            session: packet.session,
            received: Timestamp::of_wall(arrival.wall),
            sender_sequence: packet.sequence,
            sender_sent: packet.sent,
            sender_error: packet.error,
            sender_ttl: Some(arrival.ttl.unwrap_or(UNKNOWN_TTL)),
        };
        let (base, _) = octets.split_first_chunk_mut::<BASE_OCTETS>()?;
        // The time of sending is read last.
        *base = ReflectorPacket { sent: Timestamp::of_wall(ClockReading::now().wall), ..answer }
            .encode();
        Some(())
    }

    /// Whether that port may be a reflector's, which would answer an answer.
    fn is_reflector(&self, port: u16) -> bool {
        port == self.own_port || port == PORT || port == 0
    }

    fn error(&mut self, now: Time) -> ErrorEstimate {
        if now.since(self.error_read) > CLOCK {
            (self.error, self.error_read) = (ErrorEstimate::of_clock(clock_state()), now);
        }
        self.error
    }
}

/// Whether this is an answer of this reflector that another one has answered: it has the time at which that was sent
/// where a sender has zeros or its padding. If it were answered, one packet with a forged sender would let the two
/// answer each other for ever.
fn is_own_answer(octets: &[u8], now: Time) -> bool {
    let Some(answer) = ReflectorPacket::decode(octets) else { return false };
    let since = Timestamp::of_wall(now).nanoseconds_since(answer.sender_sent, Format::Ntp);
    since.unsigned_abs() < RETURN.nanoseconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_reflectors_do_not_answer_each_other() {
        let mut reflectors = [Answers::new(8620), Answers::new(8621)];
        let addresses = [([198, 18, 0, 1], 8620), ([198, 18, 0, 3], 8621)].map(SocketAddr::from);
        // Forged packets to the first reflector, in the name of the second.
        let mut packets = vec![(0, vec![7; 1400]); 10];
        let mut answered = 0;
        for round in 0..1000 {
            let (wall, monotonic) =
                (ClockReading::now().wall, Time::ZERO + Span::from_seconds(10 + round));
            let mut answer = |(to, mut octets): (usize, Vec<u8>)| {
                let from = addresses[1 - to];
                let arrival =
                    Arrival { octets: octets.len(), from: Some(from), wall, monotonic, ttl: None };
                reflectors[to].write(&mut octets, from, &arrival)?;
                answered += 1;
                Some((1 - to, octets))
            };
            packets = packets.into_iter().filter_map(&mut answer).collect();
        }
        assert_eq!((answered, packets.len()), (20, 0));
    }
}
