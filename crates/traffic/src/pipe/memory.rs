//! Shared memory: a ring of bytes each way that both processes map.

use std::io;
use std::thread::available_parallelism;

use btu_contract::activity::PipeMeeting;
use btu_units::Bytes;
use socket2::Type;

use super::local::UnixRendezvous;
use super::{Pipe, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::memory::{Rings, create};

/// The default size of a ring: it fits in a processor's second cache.
const CAPACITY: Bytes = Bytes::new(256 * 1024);

/// The number of polls of a waiting end before it sleeps: some microseconds, the time of a wake-up.
/// Longer polling would take a busy machine's processor from the other end; with a single processor
/// it always would.
const LOOKS: u32 = 200;

/// Two rings that are yet to be made, by the end that listens.
pub(super) struct SharedMemory {
    rendezvous: UnixRendezvous,
    capacity: usize,
    is_maker: bool,
}

impl Setup for SharedMemory {
    type Pipe = Rings;

    /// Rings in whole pages.
    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let rendezvous = UnixRendezvous::take(meeting, Type::STREAM, terms)?;
        let capacity = terms.plan.socket.send_buffer.unwrap_or(CAPACITY).count() as usize;
        Ok(Self {
            is_maker: rendezvous.listens(),
            rendezvous,
            capacity: capacity.next_multiple_of(4096),
        })
    }

    fn meet(self, limit: &Limit<'_>) -> Result<Rings, TrafficError> {
        let place = self.rendezvous.path().display().to_string();
        let ([file], keep_alive) = self.rendezvous.share(limit, || {
            let file = create(self.capacity)?;
            Ok(([file.try_clone()?], [file]))
        })?;
        let looks = if available_parallelism().is_ok_and(|processors| processors.get() > 1) {
            LOOKS
        } else {
            0
        };
        Rings::map(&file, self.capacity, self.is_maker, looks, keep_alive).map_err(|source| {
            TrafficError::Pipe { operation: "map the shared memory", object: place, source }
        })
    }
}

impl Pipe for Rings {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.write(message)
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.read(room)
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        Rings::exchange(self, message, room)
    }
}
