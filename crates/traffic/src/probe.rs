//! Offers packets to a network at given times, and records when each of them arrived.
//!
//! One thread sends for all stations, in the order of time; another receives at all of them. Each
//! has its sockets beforehand: a socket belongs to the network namespace it was made in, so
//! stations in namespaces need no processes.
//!
//! * **Deadlines are absolute.** A packet that could not be sent in time is sent as soon as
//!   possible, and the ones after it in their own time: the load does not depend on the measured
//!   network. How late each left is in its [`PacketOutcome`].
//! * **Arrival is when the kernel took the packet up** (`SO_TIMESTAMPNS`, socket(7)), not when this
//!   program read it. The kernel stamps by the wall clock; each stamp is turned into the monotonic
//!   clock's time by its age, so that only a clock that is set between a packet's arrival and its
//!   reading, within a millisecond or so, would do harm.
//! * A packet's delay counted from the moment it was *due* has the sender's lateness in it.
//!
//! A packet's payload begins with eight octets of ours, so payloads are from [`LEAST_PAYLOAD`] on.

mod receive;
mod send;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use btu_units::{Bytes, Span, Time};
use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, ReceiveTimestampns},
};
use socket2::SockRef;

use crate::clock::now;
use crate::error::TrafficError;
use receive::Inbox;
#[doc(hidden)]
pub use receive::fuzz_packet;

/// btu's octets in a packet's payload: the number of its offer, and the packet's number in it.
pub const LEAST_PAYLOAD: Bytes = Bytes::new(8);

/// The overhead of an Ethernet frame with such a packet: 14 octets of its header, 20 of IPv4's (RFC
/// 791), 8 of UDP's (RFC 768) and the check sequence's 4.
pub const AROUND_PAYLOAD: Bytes = Bytes::new(14 + 20 + 8 + 4);

/// The most packets of one offer.
pub const MOST_PARCELS: usize = 2_000_000;

/// From the end of all preparations until the offer's time begins.
const HEAD_START: Span = Span::from_milliseconds(30);

/// Receive buffer asked for in bytes; the kernel gives ordinary users at most `net.core.rmem_max`.
const ROOM: usize = 4 << 20;

/// A packet that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledPacket {
    /// When, from the beginning of the offer.
    pub due: Span,
    /// The sender's place among the sockets.
    pub from: u32,
    /// The receiver's place among the sockets.
    pub to: u32,
    /// Of the UDP payload, from [`LEAST_PAYLOAD`] to 65,507 octets.
    pub payload: Bytes,
}

/// The limits of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// A sender that is later than this gives up: this machine cannot offer that much.
    pub lateness: Span,
    /// The longest wait for packets after the last was sent.
    pub arrival: Span,
}

/// The outcome of a packet; times are from the beginning of the offer, and may be a little before
/// it by the clock's grain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketOutcome {
    /// When it was handed to the kernel; `None` when the sender gave up before, or the kernel
    /// refused it.
    pub sent: Option<Span>,
    /// When the receiver's kernel had it.
    pub arrived: Option<Span>,
}

/// The outcome of an offer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Of each packet, in the offer's order.
    pub outcomes: Vec<PacketOutcome>,
    /// Packets that the sender's kernel refused to take.
    pub refused: u64,
    /// Packets that arrived more than once.
    pub duplicates: u64,
    /// Packets that the receivers' kernels dropped because their sockets' buffers were full.
    pub buffer_drops: u64,
}

/// A socket for [`offer`] at this address, with a port of the kernel's choice. To be called inside
/// the station's network.
///
/// # Errors
/// The station does not have the address, or the kernel lacks an option.
pub fn socket(address: Ipv4Addr) -> Result<UdpSocket, TrafficError> {
    let address = SocketAddr::from((address, 0));
    let open = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        // Beyond the limit only the superuser may go.
        if setsockopt(&socket, RcvBufForce, &ROOM).is_err() {
            SockRef::from(&socket).set_recv_buffer_size(ROOM)?;
        }
        Ok(socket)
    };
    open().map_err(|source| TrafficError::Listen { address, source })
}

/// Offers `schedule`, which are in the order of time, between `sockets`; returns when all have
/// arrived, or nothing more can be expected to. Call it from the thread that is to send: it is as
/// prompt as that.
///
/// # Errors
/// An invalid schedule; a system call that failed.
pub fn offer(
    sockets: &[UdpSocket],
    schedule: &[ScheduledPacket],
    timeout: Timeouts,
) -> Result<Log, TrafficError> {
    check(sockets, schedule)?;
    // Packets of an earlier offer that were under way all the time must not count.
    let number = now().nanoseconds() as u32;
    let mut outbox = send::Outbox::new(sockets, number, schedule)?;
    let (is_sent, start) = (AtomicBool::new(false), now() + HEAD_START);
    let mut inbox = Inbox::new(sockets, schedule, number, start)?;
    let (sent, received) = thread::scope(|scope| {
        let receiver = scope.spawn(|| inbox.run(&is_sent, timeout.arrival).map(|()| inbox));
        let sent = outbox.run(start, timeout.lateness);
        is_sent.store(true, Ordering::Release);
        (sent, receiver.join())
    });
    sent?;
    let received = received.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(log(start, &outbox, &received))
}

fn check(sockets: &[UdpSocket], schedule: &[ScheduledPacket]) -> Result<(), TrafficError> {
    let wrong = |what: String| Err(TrafficError::Order { activity: "offer", what });
    if schedule.len() > MOST_PARCELS {
        return wrong(format!(
            "{} packets are more than the {MOST_PARCELS} that can be noted",
            schedule.len()
        ));
    }
    let is_known = |place: u32| (place as usize) < sockets.len();
    let sizes = LEAST_PAYLOAD.count()..=65_507;
    let is_good = |one: &ScheduledPacket| {
        is_known(one.from) && is_known(one.to) && sizes.contains(&one.payload.count())
    };
    match schedule.iter().find(|scheduled| !is_good(scheduled)) {
        Some(scheduled) => wrong(format!(
            "{scheduled:?} names no socket, or its payload is not from {LEAST_PAYLOAD} on"
        )),
        None if schedule.is_sorted_by_key(|scheduled| scheduled.due) => Ok(()),
        None => wrong("packets are not in the order of time".to_owned()),
    }
}

fn log(start: Time, outbox: &send::Outbox<'_>, inbox: &Inbox<'_>) -> Log {
    let since = |time: &Option<Time>| time.map(|time| time.since(start));
    let outcomes = outbox.sent.iter().zip(&inbox.arrived);
    Log {
        outcomes: outcomes
            .map(|(sent, arrived)| PacketOutcome { sent: since(sent), arrived: since(arrived) })
            .collect(),
        refused: outbox.refused,
        duplicates: inbox.duplicates,
        buffer_drops: inbox.buffer_drops(),
    }
}
