//! Unix sockets: a stream, or sequenced packets, between two processes of one machine.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};

use super::local::Booth;
use super::stream::{StreamPipe, ended};
use super::{Pipe, Setup};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::stream;

/// A Unix stream.
pub(super) struct UnixStream(pub(super) Booth);

impl Setup for UnixStream {
    type Pipe = StreamPipe<OwnedFd>;

    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError> {
        Ok(StreamPipe::new(self.0.meet(limit)?))
    }
}

/// Sequenced packets: a message is a packet.
pub(super) struct UnixPackets(pub(super) Booth);

impl Setup for UnixPackets {
    type Pipe = PacketPipe;

    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError> {
        Ok(PacketPipe(self.0.meet(limit)?))
    }
}

/// A connected socket that keeps packets whole.
pub(super) struct PacketPipe(OwnedFd);

impl Pipe for PacketPipe {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        loop {
            match stream::send(self.0.as_fd(), message, 0) {
                // A packet goes whole or not at all.
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        loop {
            match stream::receive(self.0.as_fd(), room, 0) {
                Ok(0) => return Err(ended()),
                Ok(length) if length == room.len() => return Ok(()),
                Ok(_) => return Err(io::Error::new(ErrorKind::InvalidData, "a packet has not the agreed size")),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
