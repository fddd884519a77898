//! Pipes: any way to move messages of exact sizes both ways between two processes, and the rounds that measure one.
//!
//! A transport is a type with the two calls of [`Pipe`], and a way to be set up; each has one file. What is measured
//! (`lead.rs`, `follow.rs`) is generic over it, so that the hot loops contain the transport's system calls and nothing
//! else. The method is `NetPIPE`'s (Snell, Mikler, Gustafson 1996; Turner and Chen 2002): for each size so many round trips that
//! a trial lasts about as long as wanted, several trials, the first and last byte of every message checked.

mod follow;
mod frame;
mod fuzz;
mod integrate;
mod lead;
mod local;
mod memory;
mod message;
mod perform;
mod stream;
mod talk;
mod tcp;
mod tube;
mod udp;
mod unix;

use std::io;
use std::net::SocketAddr;

use crate::clock::Limit;
use crate::error::TrafficError;

/// An established pair as one end sees it.
///
/// Calls wait as long as it takes: a peer that is gone is an error, and who started the process bounds everything else.
pub(crate) trait Pipe: Send {
    /// Hands all of `message` to the transport.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Fills `room` with the next bytes of the peer; its messages have the sizes that both ends have agreed on.
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()>;

    /// Both at the same time. What a transport holds under way is limited, so one that is to move more than that must not
    /// wait for the one before it begins the other.
    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        self.send(message)?;
        self.receive(room)
    }

    /// What this end has sent again, and got again, so far. Most transports repair by themselves and tell nothing.
    fn repeats(&self) -> Repeats {
        Repeats::default()
    }
}

/// A transport that is being set up: it listens, or has connected and presented the token.
pub(crate) trait Setup: Send + Sized {
    /// What comes of it.
    type Pipe: Pipe;

    /// Where a peer can connect to over a network, if this end listens there.
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    /// Waits for the peer.
    fn meet(self, limit: &Limit<'_>) -> Result<Self::Pipe, TrafficError>;
}

/// Repairs of an unreliable transport.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Repeats {
    /// Messages sent again.
    pub(crate) repeated: u64,
    /// Messages that had come before.
    pub(crate) duplicates: u64,
}

impl Repeats {
    fn and(self, other: Self) -> Self {
        Self { repeated: self.repeated + other.repeated, duplicates: self.duplicates + other.duplicates }
    }

    /// What was added to `before`, which is earlier; less is nonsense of the peer, and counts as nothing.
    fn since(self, before: Self) -> Self {
        Self {
            repeated: self.repeated.saturating_sub(before.repeated),
            duplicates: self.duplicates.saturating_sub(before.duplicates),
        }
    }
}

#[doc(hidden)]
pub use fuzz::fuzz_frame;
pub(crate) use integrate::Alone;
pub(crate) use perform::prepare;
pub use perform::{check, largest};

#[cfg(test)]
mod tests;
