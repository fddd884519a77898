//! The receiving side of an offer.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_units::{Span, Time};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;

use super::ScheduledPacket;
use crate::clock::now;
use crate::error::TrafficError;
use crate::moment::ClockReading;
use crate::sys::option;

/// Packets are taken together this often: the kernel keeps and stamps them, and the sender has the
/// processor meanwhile.
const EVERY: Duration = Duration::from_millis(1);

/// Sockets named by one system call.
const AT_ONCE: usize = 64;

/// When nothing has come for this many times the longest delay so far, and for the shortest
/// silence, nothing more will.
const SILENCE_DELAYS: u64 = 2;
const SHORTEST_SILENCE: Span = Span::from_milliseconds(200);

/// The thread that receives what arrives.
pub(super) struct Inbox<'a> {
    sockets: &'a [UdpSocket],
    schedule: &'a [ScheduledPacket],
    epoll: Epoll,
    start: Time,
    number: u32,
    control: Vec<u8>,
    /// When each packet arrived.
    pub(super) arrived: Vec<Option<Time>>,
    /// Packets that came again.
    pub(super) duplicates: u64,
    drops_before: u64,
    missing: usize,
    /// When the last one came, and the longest that one took.
    last: Option<Time>,
    longest: Span,
}

impl<'a> Inbox<'a> {
    /// Watches the sockets for packets of the offer with this number, which is to start then.
    pub(super) fn new(
        sockets: &'a [UdpSocket],
        schedule: &'a [ScheduledPacket],
        number: u32,
        start: Time,
    ) -> Result<Self, TrafficError> {
        let nowhere = SocketAddr::from(([0; 4], 0));
        let failed = TrafficError::socket::<io::Error>("watch the stations' sockets", nowhere);
        let epoll = watch(sockets).map_err(failed)?;
        let mut inbox = Self {
            sockets,
            schedule,
            epoll,
            start,
            number,
            control: nix::cmsg_space!(TimeSpec),
            arrived: vec![None; schedule.len()],
            duplicates: 0,
            drops_before: 0,
            missing: schedule.len(),
            last: None,
            longest: Span::ZERO,
        };
        inbox.drops_before = inbox.buffer_drops();
        Ok(inbox)
    }

    /// Packets that the kernel dropped because these sockets were full.
    pub(super) fn buffer_drops(&self) -> u64 {
        // An older kernel (before 4.12) does not report drops: they count as missing packets.
        let drops = self.sockets.iter().map(|socket| u64::from(option::drops(socket).unwrap_or(0)));
        drops.sum::<u64>() - self.drops_before
    }

    /// Takes packets until all are there, or all were sent and nothing more is to be expected.
    pub(super) fn run(&mut self, is_sent: &AtomicBool, timeout: Span) -> Result<(), TrafficError> {
        let mut sent_at = None;
        while self.missing > 0 {
            let before = now();
            if is_sent.load(Ordering::Acquire) {
                sent_at.get_or_insert(before);
            }
            self.take_all()?;
            if sent_at.is_some_and(|sent| self.is_over(sent, before, timeout)) {
                break;
            }
            thread::sleep(EVERY);
        }
        Ok(())
    }

    /// Whether no more packets are expected. A path without any arrival gets the full timeout.
    fn is_over(&self, sent: Time, now: Time, timeout: Span) -> bool {
        if now.since(sent) > timeout {
            return true;
        }
        let Some(last) = self.last else { return false };
        let silence =
            Span::from_nanoseconds(self.longest.nanoseconds().saturating_mul(SILENCE_DELAYS));
        now.since(last.max(sent)) > silence.max(SHORTEST_SILENCE)
    }

    fn take_all(&mut self) -> Result<(), TrafficError> {
        let mut events = [EpollEvent::empty(); AT_ONCE];
        loop {
            let count = match self.epoll.wait(&mut events, EpollTimeout::ZERO) {
                Err(nix::Error::EINTR) => continue,
                result => result.map_err(TrafficError::socket(
                    "wait for packets",
                    SocketAddr::from(([0; 4], 0)),
                ))?,
            };
            for event in &events[..count] {
                self.empty(event.data() as usize)?;
            }
            if count < AT_ONCE {
                return Ok(());
            }
        }
    }

    /// Reads all packets of one socket.
    fn empty(&mut self, place: usize) -> Result<(), TrafficError> {
        loop {
            match self.take_one(place) {
                // An earlier packet of this station found no receiver: the packet is missed where
                // it should have arrived.
                Ok(())
                | Err(nix::Error::EINTR | nix::Error::ECONNREFUSED | nix::Error::EHOSTUNREACH) => {}
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(error) => {
                    let own =
                        self.sockets[place].local_addr().unwrap_or(SocketAddr::from(([0; 4], 0)));
                    return Err(TrafficError::socket("receive a packet", own)(error));
                }
            }
        }
    }

    fn take_one(&mut self, place: usize) -> nix::Result<()> {
        let mut bytes = [0; 8];
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let socket = self.sockets[place].as_raw_fd();
        let message =
            recvmsg::<()>(socket, &mut parts, Some(&mut self.control), MsgFlags::MSG_DONTWAIT)?;
        let (length, mut stamp) = (message.bytes, None);
        for part in message.cmsgs()? {
            if let ControlMessageOwned::ScmTimestampns(time) = part {
                stamp = Some(Time::from_nanoseconds(
                    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64,
                ));
            }
        }
        if length == bytes.len() {
            self.note(bytes, stamp);
        }
        Ok(())
    }

    /// Notes an arrival; a packet that is not of this offer is ignored.
    fn note(&mut self, packet: [u8; 8], stamp: Option<Time>) {
        let Some(scheduled) = scheduled(packet, self.number, self.arrived.len()) else { return };
        let moment = ClockReading::now();
        if self.arrived[scheduled].is_some() {
            self.duplicates += 1;
            return;
        }
        let at = stamp.map_or_else(now, |stamp| moment.at(stamp));
        self.arrived[scheduled] = Some(at);
        self.missing -= 1;
        self.last = self.last.max(Some(at));
        self.longest = self.longest.max(at.since(self.start + self.schedule[scheduled].due));
    }
}

/// Which of `schedule` a packet of offer `number` is; `None` when it is not of this offer.
fn scheduled([a, b, c, d, scheduled @ ..]: [u8; 8], number: u32, schedule: usize) -> Option<usize> {
    let scheduled = u32::from_be_bytes(scheduled) as usize;
    (u32::from_be_bytes([a, b, c, d]) == number && scheduled < schedule).then_some(scheduled)
}

/// For fuzzers: a packet that is taken has a place.
#[doc(hidden)]
pub fn fuzz_packet(packet: &[u8]) {
    if let Some(packet) = packet.first_chunk() {
        assert!(scheduled(*packet, 0, 1000).is_none_or(|scheduled| scheduled < 1000));
    }
}

fn watch(sockets: &[UdpSocket]) -> io::Result<Epoll> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for (place, socket) in (0u64..).zip(sockets) {
        epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, place))?;
    }
    Ok(epoll)
}
