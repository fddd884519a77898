//! Pipes: any way to move messages of exact sizes both ways between two processes, and the rounds
//! that measure one.
//!
//! A transport is a type with the two calls of [`Pipe`], and a way to be set up; each has one file.
//! What is measured (`lead.rs`, `follow.rs`) is generic over it, so that the hot loops contain the
//! transport's system calls and nothing else. The method is `NetPIPE`'s (Snell, Mikler, Gustafson
//! 1996; Turner and Chen 2002): for each size so many round trips that a trial lasts about as long
//! as wanted, several trials, the first and last byte of every message checked.

mod certificate;
mod check;
mod draw;
mod exchange;
mod follow;
mod frame;
mod fuzz;
mod http2;
mod inside;
mod integrate;
mod lead;
mod local;
mod memory;
mod message;
#[cfg(feature = "mpi")]
mod mpi;
mod os_pipe;
mod pairs;
mod perform;
mod pieces;
mod quic;
mod ring;
mod stream;
mod talk;
mod tcp;
mod timeout;
mod tls;
mod udp;
mod unix;
mod zero_copy;

use std::io;
use std::net::SocketAddr;

use btu_suite::activity::{PipeMeeting, Token};
use btu_suite::peers::Callers;
use btu_suite::pipe::{End, PipePlan};
use btu_units::Span;

use crate::clock::Limit;
use crate::error::TrafficError;

/// An established pair as one end sees it.
///
/// Calls wait as long as it takes: a peer that is gone is an error, and who started the process
/// bounds everything else.
pub(crate) trait Pipe: Send {
    /// Whether messages of a stream can get lost: then [`Self::begin_stream`] and [`Self::catch`]
    /// take them.
    const LOSES: bool = false;

    /// Hands all of `message` to the transport.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Fills `room` with the next bytes of the peer; its messages have the sizes that both ends
    /// have agreed on.
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()>;

    /// Both at the same time. What a transport holds under way is limited, so one that is to move
    /// more than that must not wait for the one before it begins the other.
    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        self.send(message)?;
        self.receive(room)
    }

    /// Sends something that is no message of a measurement, from memory that is gone when this
    /// returns.
    fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.send(words)
    }

    /// Hears what is no message of a measurement.
    fn hear(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.receive(room)
    }

    /// Waits until the memory of the last message may be written again.
    fn reclaim(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// From now on so many messages of a stream come, or less.
    fn begin_stream(&mut self, _count: u64) {}

    /// Sends a message of a stream.
    fn cast(&mut self, message: &[u8]) -> io::Result<()> {
        self.send(message)
    }

    /// The next message of a stream, and its number in it; `None` when all is over.
    fn catch(&mut self, room: &mut [u8]) -> io::Result<Option<u64>> {
        self.receive(room).map(|()| Some(0))
    }

    /// What this end has sent again, and got again, so far. Most transports repair by themselves
    /// and tell nothing.
    fn repeats(&self) -> Repeats {
        Repeats::default()
    }

    /// Before this end does something else for a while: what is due to the other end leaves.
    fn rest(&mut self) {}

    /// Waits until the other end has heard the last word, where the system does not see to it
    /// alone.
    fn close(&mut self) {}

    /// What a reader of the result should know about how bytes were moved.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What both ends have agreed on before they meet.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Which end this is.
    pub(crate) end: End,
    pub(crate) token: Token,
    pub(crate) plan: PipePlan,
    /// Whether this end may be kept waiting between sizes, by who started it.
    pub(crate) turns: bool,
    /// Whether both ends work between messages: then silence means nothing.
    pub(crate) works: bool,
    /// How long they may take to find each other.
    pub(crate) deadline: Span,
    /// The addresses that may call an end that listens on a network.
    pub(crate) callers: Callers,
}

/// A transport that is being set up: it listens, or has connected and presented the token.
pub(crate) trait Setup: Send + Sized {
    /// What comes of it.
    type Pipe: Pipe;

    /// Sets up the end: it listens or connects.
    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError>;

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
    /// The number of messages that were sent again.
    pub(crate) repeated: u64,
    /// Messages that had come before.
    pub(crate) duplicates: u64,
}

impl Repeats {
    fn and(self, other: Self) -> Self {
        Self {
            repeated: self.repeated + other.repeated,
            duplicates: self.duplicates + other.duplicates,
        }
    }

    /// What was added to `before`, which is earlier; less is nonsense of the peer, and counts as
    /// nothing.
    fn since(self, before: Self) -> Self {
        Self {
            repeated: self.repeated.saturating_sub(before.repeated),
            duplicates: self.duplicates.saturating_sub(before.duplicates),
        }
    }
}

pub use check::{check, largest};
#[doc(hidden)]
pub use fuzz::fuzz_frame;
pub(crate) use inside::Inside;
pub(crate) use integrate::Alone;
pub(crate) use perform::prepare;

#[cfg(test)]
mod tests;
