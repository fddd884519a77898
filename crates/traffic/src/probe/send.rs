//! The sending side of an offer.

use std::net::{SocketAddr, UdpSocket};

use btu_units::{Span, Time};

use super::{LEAST_PAYLOAD, Parcel};
use crate::clock::PreciseTimers;
use crate::error::TrafficError;
use crate::udp::pace::wait_until;

/// What is to be sent, and what became of it.
pub(super) struct Outbox<'a> {
    sockets: &'a [UdpSocket],
    parcels: &'a [Parcel],
    /// Of the sockets.
    addresses: Vec<SocketAddr>,
    /// One packet after the other: our octets, and nothing behind them.
    packet: Vec<u8>,
    /// When each packet was handed to the kernel.
    pub(super) sent: Vec<Option<Time>>,
    /// Packets that the kernel refused.
    pub(super) refused: u64,
}

impl<'a> Outbox<'a> {
    /// Everything that is needed, so that nothing is allocated while packets are sent.
    pub(super) fn new(sockets: &'a [UdpSocket], number: u32, parcels: &'a [Parcel]) -> Result<Self, TrafficError> {
        let nowhere = SocketAddr::from(([0; 4], 0));
        let addresses = sockets.iter().map(UdpSocket::local_addr).collect::<Result<_, _>>();
        let longest = parcels.iter().map(|parcel| parcel.payload).max().unwrap_or(LEAST_PAYLOAD);
        let mut packet = vec![0; longest.count() as usize];
        packet[..4].copy_from_slice(&number.to_be_bytes());
        Ok(Self {
            sockets,
            parcels,
            addresses: addresses.map_err(TrafficError::socket("read the own address", nowhere))?,
            packet,
            sent: vec![None; parcels.len()],
            refused: 0,
        })
    }

    /// Sends each packet when it is due, until all are sent or one is later than `patience`.
    pub(super) fn run(&mut self, start: Time, patience: Span) -> Result<(), TrafficError> {
        let _timers = PreciseTimers::hold();
        for place in 0..self.parcels.len() {
            let due = start + self.parcels[place].due;
            let time = wait_until(due);
            if time.since(due) > patience {
                break;
            }
            self.send(place, time)?;
        }
        Ok(())
    }

    fn send(&mut self, place: usize, time: Time) -> Result<(), TrafficError> {
        let parcel = self.parcels[place];
        self.packet[4..8].copy_from_slice(&(place as u32).to_be_bytes());
        let to = self.addresses[parcel.to as usize];
        let packet = &self.packet[..parcel.payload.count() as usize];
        match self.sockets[parcel.from as usize].send_to(packet, to) {
            Ok(_) => self.sent[place] = Some(time),
            Err(error) if is_refusal(&error) => self.refused += 1,
            Err(error) => return Err(TrafficError::socket("send a packet", to)(error)),
        }
        Ok(())
    }
}

/// Whether the kernel only had no room, or found nobody there.
fn is_refusal(error: &std::io::Error) -> bool {
    let known = [libc::ENOBUFS, libc::EAGAIN, libc::ECONNREFUSED, libc::EHOSTUNREACH, libc::EINTR];
    error.raw_os_error().is_some_and(|code| known.contains(&code))
}
