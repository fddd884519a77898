//! Raw ports: frames in and out of a network interface, many at a time.
//!
//! `AF_PACKET` sockets (packet(7)), which need no more privilege than a user namespace gives: the
//! kernel puts arriving frames into a ring that this process maps, and takes others by `sendmmsg`.
//! Frames live in [`Buffers`].

mod batch;
mod buffers;
mod clock;
mod ring;
mod socket;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use btu_units::Time;
use nix::sys::socket::{getsockopt, sockopt};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use ring::FrameRing;

pub(crate) use socket::set as set_option;

pub use batch::Batch;
pub use buffers::Buffers;
pub use clock::{Instants, now};

/// Frames moved by one system call.
pub const BATCH: usize = 64;

/// Octets of `struct virtio_net_hdr` before each frame of a port that carries superframes.
const OFFLOAD_HEADER: usize = 10;

/// The kind of frames that a port carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carriage {
    /// Frames as they are on a wire. The stations' offloads have to be off
    /// ([`crate::offload::set_offloads`]).
    #[default]
    Frames,
    /// Superframes as the stations' kernels hand them over, up to 64 kB with unfinished checksums
    /// and a header about them (`PACKET_VNET_HDR`): fast, but delays, losses and counts are per
    /// superframe.
    Superframes,
}

impl Carriage {
    /// The size of its buffers, for an interface with this MTU.
    pub(crate) fn buffer_bytes(self, mtu: usize) -> usize {
        const HEADERS: usize = 14 + 4 + 4;
        let frame = match self {
            Self::Frames => mtu + HEADERS,
            Self::Superframes => OFFLOAD_HEADER + 65_536 + HEADERS,
        };
        frame.next_multiple_of(512)
    }

    fn header(self) -> usize {
        match self {
            Self::Frames => 0,
            Self::Superframes => OFFLOAD_HEADER,
        }
    }
}

/// A system call on a port failed.
#[derive(Debug, Error)]
#[error("{operation} on interface {interface}: {source}; {remedy}")]
pub struct PortError {
    operation: &'static str,
    interface: String,
    remedy: &'static str,
    source: io::Error,
}

/// A frame that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Its buffer; the receiver of this value holds a reference to it.
    pub buffer: u32,
    /// The time at which the kernel took it from the other side, by the monotonic clock.
    pub at: Time,
}

/// The result of a receive in addition to [`Batch::received`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Took {
    /// Whether there may be more: the batch was full, or no buffer was free.
    pub more: bool,
    /// Frames that were longer than a buffer, or shorter than an Ethernet header.
    misfits: u64,
    /// Superframes for which the kernel had no memory.
    dropped: u64,
}

/// One end of the wire on a network interface.
#[derive(Debug)]
pub struct Port {
    socket: OwnedFd,
    interface: String,
    carriage: Carriage,
    ring: FrameRing,
    mtu: usize,
    kernel_drops: u64,
    misfits: u64,
}

impl Port {
    /// Opens the interface of that name in the calling thread's network namespace, in promiscuous
    /// mode, with about so much memory for frames that wait to be taken. Frames that the host itself
    /// sends through it are not seen.
    ///
    /// # Errors
    /// No such interface, or no `CAP_NET_RAW` over the namespace.
    pub fn open(interface: &str, carriage: Carriage, ring_bytes: usize) -> Result<Self, PortError> {
        let (socket, ring, mtu) = socket::open(interface, carriage, ring_bytes)?;
        Ok(Self {
            socket,
            ring,
            mtu,
            interface: interface.to_owned(),
            carriage,
            kernel_drops: 0,
            misfits: 0,
        })
    }

    /// The name of the network interface that the port is bound to.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The largest packet the interface passes, without its Ethernet header.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Takes at most [`BATCH`] frames without waiting, into free buffers; they are then in
    /// [`Batch::received`]. None when there is none, or no free buffer: then frames stay in the ring,
    /// and the kernel drops and counts those without room.
    ///
    /// # Errors
    /// The interface was set down, or is gone.
    pub fn receive(&mut self, batch: &mut Batch, buffers: &mut Buffers) -> Result<Took, PortError> {
        let (socket, header) = (self.socket.as_fd(), self.carriage.header());
        let took = batch.receive(&mut self.ring, socket, header, buffers);
        let took = took.map_err(|error| self.error("receiving", error))?;
        self.misfits += took.misfits;
        self.kernel_drops += took.dropped;
        Ok(took)
    }

    /// What may be wrong with a port that is ready and has no frame.
    ///
    /// # Errors
    /// The interface was set down, or is gone.
    pub(crate) fn check(&self) -> Result<(), PortError> {
        let state = getsockopt(&self.socket, sockopt::SocketError).map_err(io::Error::from);
        let state = state.and_then(|error| match error {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        });
        state.map_err(|error| self.error("receiving", error))
    }

    /// Sends frames, in order, and returns the number that the kernel took; the others are lost.
    /// References do not change.
    ///
    /// # Errors
    /// Never for a frame that cannot be sent; only when the interface is gone.
    pub fn send(
        &mut self,
        batch: &mut Batch,
        buffers: &Buffers,
        frames: &[u32],
    ) -> Result<usize, PortError> {
        let sent = batch.send(self.socket.as_fd(), buffers, frames);
        sent.map_err(|error| self.error("sending", error))
    }

    /// Frames the kernel dropped on this side since the port was opened, because this process did
    /// not take them in time.
    ///
    /// # Errors
    /// The interface is gone.
    pub(crate) fn kernel_drops(&mut self) -> Result<u64, PortError> {
        // The kernel's counter starts again with every reading.
        let more = socket::drops(self.socket.as_fd())
            .map_err(|error| self.error("reading the drop counter", error))?;
        self.kernel_drops += u64::from(more);
        Ok(self.kernel_drops)
    }

    /// Frames that were longer than a buffer, or shorter than an Ethernet header, since the port
    /// was opened.
    pub(crate) fn misfits(&self) -> u64 {
        self.misfits
    }

    fn error(&self, operation: &'static str, source: io::Error) -> PortError {
        let remedy = "it must be there and up as long as the link emulator runs";
        PortError { operation, interface: self.interface.clone(), remedy, source }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
