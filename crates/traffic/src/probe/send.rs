//! The sending side of an offer.

use std::net::{SocketAddr, UdpSocket};

use btu_units::{Span, Time};

use super::{LEAST_PAYLOAD, ScheduledPacket};
use crate::clock::PreciseTimers;
use crate::error::TrafficError;
use crate::udp::pace::wait_until;

/// The packets to send, and their outcomes.
pub(super) struct Outbox<'a> {
    sockets: &'a [UdpSocket],
    schedule: &'a [ScheduledPacket],
    /// The addresses of the sockets.
    addresses: Vec<SocketAddr>,
    /// The packets one after the other: btu's octets, and zeros behind them.
    packet: Vec<u8>,
    /// When each packet was handed to the kernel.
    pub(super) sent: Vec<Option<Time>>,
    /// Packets that the kernel refused.
    pub(super) refused: u64,
}

impl<'a> Outbox<'a> {
    /// Allocates all memory, so that nothing is allocated while packets are sent.
    pub(super) fn new(
        sockets: &'a [UdpSocket],
        number: u32,
        schedule: &'a [ScheduledPacket],
    ) -> Result<Self, TrafficError> {
        let nowhere = SocketAddr::from(([0; 4], 0));
        let addresses = sockets.iter().map(UdpSocket::local_addr).collect::<Result<_, _>>();
        let longest =
            schedule.iter().map(|scheduled| scheduled.payload).max().unwrap_or(LEAST_PAYLOAD);
        let mut packet = vec![0; longest.count() as usize];
        packet[..4].copy_from_slice(&number.to_be_bytes());
        Ok(Self {
            sockets,
            schedule,
            addresses: addresses.map_err(TrafficError::socket("read the own address", nowhere))?,
            packet,
            sent: vec![None; schedule.len()],
            refused: 0,
        })
    }

    /// Sends each packet when it is due, until all are sent or one is later than `timeout`.
    pub(super) fn run(&mut self, start: Time, timeout: Span) -> Result<(), TrafficError> {
        let _timers = PreciseTimers::hold();
        for place in 0..self.schedule.len() {
            let due = start + self.schedule[place].due;
            let time = wait_until(due);
            if time.since(due) > timeout {
                break;
            }
            self.send(place, time)?;
        }
        Ok(())
    }

    fn send(&mut self, place: usize, time: Time) -> Result<(), TrafficError> {
        let scheduled = self.schedule[place];
        self.packet[4..8].copy_from_slice(&(place as u32).to_be_bytes());
        let to = self.addresses[scheduled.to as usize];
        let packet = &self.packet[..scheduled.payload.count() as usize];
        match self.sockets[scheduled.from as usize].send_to(packet, to) {
            Ok(_) => self.sent[place] = Some(time),
            Err(error) if is_refusal(&error) => self.refused += 1,
            Err(error) => return Err(TrafficError::socket("send a packet", to)(error)),
        }
        Ok(())
    }
}

/// Whether the kernel only had no room, or found no receiver there.
fn is_refusal(error: &std::io::Error) -> bool {
    let known = [libc::ENOBUFS, libc::EAGAIN, libc::ECONNREFUSED, libc::EHOSTUNREACH, libc::EINTR];
    error.raw_os_error().is_some_and(|code| known.contains(&code))
}
