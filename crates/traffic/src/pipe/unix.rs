//! Unix sockets: a stream, or sequenced packets, between two processes of one machine.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

use btu_contract::activity::PipeMeeting;
use socket2::Type;

use super::local::UnixRendezvous;
use super::pieces::{ended, now_or_nothing, retry_or_fail};
use super::stream::{StreamPipe, wanted};
use super::{Pipe, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::stream;

/// A pipe over a Unix stream socket.
pub(super) struct UnixStream(UnixRendezvous);

impl Setup for UnixStream {
    type Pipe = StreamPipe<OwnedFd>;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        UnixRendezvous::take(meeting, Type::STREAM, terms).map(Self)
    }

    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError> {
        Ok(StreamPipe::new(self.0.meet(limit)?))
    }
}

/// Sequenced packets: a message is a packet.
pub(super) struct UnixPackets(UnixRendezvous);

impl Setup for UnixPackets {
    type Pipe = PacketPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        UnixRendezvous::take(meeting, Type::SEQPACKET, terms).map(Self)
    }

    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError> {
        Ok(PacketPipe(StreamPipe::new(self.0.meet(limit)?)))
    }
}

/// A connected socket that keeps packets whole.
pub(super) struct PacketPipe(StreamPipe<OwnedFd>);

/// A packet goes whole or not at all.
fn whole(length: usize, due: usize) -> io::Result<()> {
    match length {
        0 => Err(ended()),
        length if length == due => Ok(()),
        _ => Err(io::Error::new(ErrorKind::InvalidData, "a packet has not the agreed size")),
    }
}

impl Pipe for PacketPipe {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        loop {
            match stream::send(self.0.fd(), message, 0) {
                Ok(_) => return Ok(()),
                Err(error) => retry_or_fail(error)?,
            }
        }
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        loop {
            match stream::receive(self.0.fd(), room, libc::MSG_TRUNC) {
                Ok(length) => return whole(length, room.len()),
                Err(error) => retry_or_fail(error)?,
            }
        }
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let (mut sends, mut receives) = (true, true);
        while sends || receives {
            let before = (sends, receives);
            if sends {
                sends =
                    now_or_nothing(stream::send(self.0.fd(), message, libc::MSG_DONTWAIT))? == 0;
            }
            if receives {
                match stream::receive(self.0.fd(), room, libc::MSG_DONTWAIT | libc::MSG_TRUNC) {
                    Ok(length) => receives = whole(length, room.len()).map(|()| false)?,
                    Err(error) => receives = now_or_nothing(Err(error))? == 0,
                }
            }
            if before == (sends, receives) {
                self.0.wait(wanted(sends, receives))?;
            }
        }
        Ok(())
    }
}
