//! The sender: packets at a steady interval from a random moment on (RFC 3432), whatever becomes of the
//! answers, which are taken meanwhile.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use btu_traffic::{ClockReading, clock_state};
use btu_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::error::StampError;
use crate::ledger::{Ledger, SentPacket, sequence};
use crate::packet::SenderPacket;
use crate::report::StampReport;
use crate::socket::{Inbox, tell_arrivals};
use crate::time::{ErrorEstimate, Timestamp};

/// The most packets of a measurement: each takes some 100 octets of memory.
pub const MOST_PACKETS: u32 = 100_000;

/// Answers are waited for three times as long as the longest round trip so far, and at least so long; or
/// for so long if none has come.
const GRACE: Span = Span::from_seconds(1);
const GRACE_OF_NONE: Span = Span::from_seconds(3);

/// The interval of progress.
const SHOWN: Span = Span::from_seconds(1);

/// Datagrams that are taken before a packet that is due is looked for.
const AT_ONCE: u32 = 64;

/// A measurement.
#[derive(Debug, Clone, Copy)]
pub struct SenderSettings {
    /// The address and port of the reflector.
    pub reflector: SocketAddr,
    /// The time from a packet to the next one.
    pub interval: Span,
    /// For how long packets are sent.
    pub time: Span,
    /// Of the random moment of the first packet.
    pub seed: u64,
}

/// The state of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct SenderProgress {
    /// Packets that were sent.
    pub sent: u64,
    /// Those of them that were answered.
    pub answered: u64,
    /// The time from sending the last packet that was answered until its answer.
    pub round_trip: Option<Span>,
}

impl SenderSettings {
    /// How many packets are sent: at least one, and at most [`MOST_PACKETS`].
    pub fn packets(&self) -> u32 {
        let number = self.time.nanoseconds().div_ceil(self.interval.nanoseconds().max(1));
        number.clamp(1, u64::from(MOST_PACKETS)) as u32
    }
}

/// Measures, and tells about it once a second.
///
/// # Errors
/// No packet was answered, or the system refuses to send.
pub fn measure(
    settings: &SenderSettings,
    show: &mut dyn FnMut(SenderProgress),
) -> Result<StampReport, StampError> {
    let mut sender = Sender::open(settings)?;
    sender.run(show)?;
    sender.report()
}

struct Sender {
    socket: UdpSocket,
    reflector: SocketAddr,
    inbox: Inbox,
    ledger: Ledger,
    packet: SenderPacket,
    interval: Span,
    packets: u32,
    /// The place of the next packet in the schedule, and when the first one is due.
    next: u32,
    start: Time,
    not_sent: u64,
    last_sent: Time,
    longest: Span,
    round_trip: Option<Span>,
}

impl Sender {
    fn open(settings: &SenderSettings) -> Result<Self, StampError> {
        let reflector = settings.reflector;
        let socket = connected(reflector).map_err(|source| StampError::System {
            operation: "opening a socket to",
            object: reflector,
            source,
        })?;
        let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
        let phase = random.random_range(0..settings.interval.nanoseconds().max(1));
        let now = ClockReading::now();
        // A session of its own, though another program may have had this port before. 0 is a sender
        // without sessions.
        let session = (now.wall.nanoseconds() >> 10) as u16 | 1;
        let error = ErrorEstimate::of_clock(clock_state());
        let packets = settings.packets();
        Ok(Self {
            socket,
            reflector,
            inbox: Inbox::new(),
            ledger: Ledger::new(packets),
            packet: SenderPacket { sequence: 0, sent: Timestamp::default(), error, session },
            interval: settings.interval,
            packets,
            next: 0,
            start: now.monotonic + Span::from_nanoseconds(phase),
            not_sent: 0,
            last_sent: now.monotonic,
            longest: Span::ZERO,
            round_trip: None,
        })
    }

    fn run(&mut self, show: &mut dyn FnMut(SenderProgress)) -> Result<(), StampError> {
        let mut shown = self.start;
        loop {
            let now = ClockReading::now().monotonic;
            if self.is_over(now) {
                return Ok(());
            }
            if now.since(shown) >= SHOWN {
                shown = now;
                show(self.progress());
            }
            match self.due() {
                Some(due) if due <= now => self.send()?,
                due => self.take(due.unwrap_or_else(|| self.end()).since(now))?,
            }
        }
    }

    /// When the next packet is due: whatever was late before. At most 10^5 intervals of an hour are 3.6 *
    /// 10^17 ns.
    fn due(&self) -> Option<Time> {
        (self.next < self.packets).then(|| self.start + self.interval * u64::from(self.next))
    }

    /// When no more answers are waited for, after the last packet.
    fn end(&self) -> Time {
        let grace = if self.ledger.answered == 0 {
            GRACE_OF_NONE
        } else {
            GRACE.max(Span::from_nanoseconds(self.longest.nanoseconds().saturating_mul(3)))
        };
        self.last_sent + grace
    }

    fn is_over(&self, now: Time) -> bool {
        let is_all_there = self.ledger.answered + self.not_sent == u64::from(self.packets);
        self.next == self.packets && (is_all_there || now >= self.end())
    }

    fn progress(&self) -> SenderProgress {
        SenderProgress {
            sent: u64::from(self.next) - self.not_sent,
            answered: self.ledger.answered,
            round_trip: self.round_trip,
        }
    }

    /// Sends the next packet. Its time is read last.
    fn send(&mut self) -> Result<(), StampError> {
        let number = sequence(self.next);
        self.next += 1;
        // The second time after what is known of earlier packets, which the system tells first.
        for _ in 0..2 {
            let now = ClockReading::now();
            let stamp = Timestamp::of_wall(now.wall);
            let packet = SenderPacket { sequence: number, sent: stamp, ..self.packet };
            self.last_sent = now.monotonic;
            match self.socket.send(&packet.encode()) {
                Ok(_) => {
                    self.ledger.note_sent(number, SentPacket { at: now.monotonic, stamp });
                    return Ok(());
                }
                Err(error) => self.consider(error, "sending to")?,
            }
        }
        self.not_sent += 1;
        Ok(())
    }

    /// Takes what has come, or waits for it for so long.
    fn take(&mut self, wait: Span) -> Result<(), StampError> {
        let mut watched = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let wait = TimeSpec::from_duration(wait.min(SHOWN).into());
        // A signal only makes the next look earlier.
        let _ = ppoll(&mut watched, Some(wait), None);
        for _ in 0..AT_ONCE {
            match self.inbox.receive(&self.socket) {
                Ok(arrival) => {
                    let before = self.ledger.answered;
                    self.ledger.take(self.inbox.octets(&arrival), arrival.monotonic);
                    if self.ledger.answered > before {
                        self.note_round_trip(arrival.monotonic);
                    }
                }
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(error) => self.consider(error.into(), "receiving from")?,
            }
        }
        Ok(())
    }

    /// The grace time and the line of progress follow the round trip of the last packet that was answered.
    fn note_round_trip(&mut self, arrived: Time) {
        let sent = self.ledger.sent.get(self.ledger.last_answered() as usize).copied().flatten();
        if let Some(sent) = sent {
            let round_trip = arrived.since(sent.at);
            self.round_trip = Some(round_trip);
            self.longest = self.longest.max(round_trip);
        }
    }

    /// An error ends the measurement if it is the system's own, or if the network says that there is no
    /// reflector. Later, the network only says that packets are lost, and a full buffer that one is not
    /// sent.
    fn consider(&self, source: io::Error, operation: &'static str) -> Result<(), StampError> {
        use io::ErrorKind::{
            ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, WouldBlock,
        };
        let is_full = source.raw_os_error() == Some(nix::libc::ENOBUFS);
        match source.kind() {
            Interrupted | WouldBlock => Ok(()),
            _ if is_full => Ok(()),
            ConnectionRefused | HostUnreachable | NetworkUnreachable => {
                match self.ledger.answered {
                    0 => Err(StampError::Refused { reflector: self.reflector, source }),
                    _ => Ok(()),
                }
            }
            _ => Err(StampError::System { operation, object: self.reflector, source }),
        }
    }

    fn report(self) -> Result<StampReport, StampError> {
        if self.ledger.answered > 0 {
            return Ok(StampReport::of(&self.ledger, self.not_sent, self.packet.error));
        }
        let strange = match self.ledger.strange {
            0 => String::new(),
            number => format!("; {number} datagrams came that are no answers"),
        };
        let sent = self.ledger.sent_in_all();
        Err(StampError::Silent { reflector: self.reflector, sent, strange })
    }
}

/// A socket that gets datagrams of the reflector only.
fn connected(reflector: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match reflector {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    tell_arrivals(&socket)?;
    socket.set_nonblocking(true)?;
    socket.connect(reflector)?;
    Ok(socket)
}
