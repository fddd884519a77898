//! Pipes: transports that move messages of exact sizes both ways between two processes, and the
//! rounds that measure them.
//!
//! A transport is a type with the two calls of [`Pipe`], and a way to be set up; each has one file.
//! The measurement (`lead.rs`, `follow.rs`) is generic over it, so that the hot loops contain the
//! transport's system calls and nothing else. The method is `NetPIPE`'s (Snell, Mikler, Gustafson
//! 1996; Turner and Chen 2002): for each size so many round trips that a trial lasts about as long
//! as wanted, several trials, the first and last byte of every message checked.

mod certificate;
mod check;
mod draw;
mod echo;
mod exchange;
mod follow;
mod frame;
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
mod over;
mod pairs;
mod perform;
mod pieces;
mod quic;
mod ring;
mod stream;
mod talk;
mod tally;
mod tcp;
mod timeout;
mod tls;
mod udp;
mod unix;
mod viewer;
mod zero_copy;

use std::io;
use std::net::SocketAddr;

use btu_contract::activity::{PipeMeeting, Token};
use btu_contract::peers::Callers;
use btu_contract::pipe::{End, PipePlan};
use btu_units::Span;

use crate::clock::Limit;
use crate::error::TrafficError;

/// An established pair as one end sees it.
///
/// Calls wait as long as it takes: a peer that is gone is an error, and the process's starter
/// bounds all other waits.
pub(crate) trait Pipe: Send {
    /// Whether messages of a stream can get lost: then [`Self::begin_stream`] and [`Self::catch`]
    /// take them.
    const LOSES: bool = false;

    /// Hands all of `message` to the transport.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Fills `room` with the next bytes of the peer; its messages have the sizes that both ends
    /// have agreed on.
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()>;

    /// Both at the same time. A transport holds a limited amount in flight, so to move more it must
    /// not complete one direction before it begins the other.
    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        self.send(message)?;
        self.receive(room)
    }

    /// Sends a control message, from memory that may be freed when this returns.
    fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.send(words)
    }

    /// Receives a control message.
    fn hear(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.receive(room)
    }

    /// Waits until the memory of the last message may be written again.
    fn reclaim(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// From now on at most this number of messages of a stream arrives.
    fn begin_stream(&mut self, _count: u64) {}

    /// Sends a message of a stream.
    fn cast(&mut self, message: &[u8]) -> io::Result<()> {
        self.send(message)
    }

    /// The next message of a stream, and its number in it; `None` when all is over.
    fn catch(&mut self, room: &mut [u8]) -> io::Result<Option<u64>> {
        self.receive(room).map(|()| Some(0))
    }

    /// The messages that this end has sent again, and received again, so far. Most transports
    /// retransmit by themselves and report nothing.
    fn repeats(&self) -> Repeats {
        Repeats::default()
    }

    /// Flushes pending data to the other end, before this end is busy for a while.
    fn rest(&mut self) {}

    /// Waits until the other end has received the last message, if the system does not guarantee
    /// it.
    fn close(&mut self) {}

    /// Notes for the reader of the result about the transport.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The settings on which both ends have agreed before they meet.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Which end this is.
    pub(crate) end: End,
    pub(crate) token: Token,
    pub(crate) plan: PipePlan,
    /// Whether this end may have to wait between sizes for its starter.
    pub(crate) turns: bool,
    /// Whether both ends compute between messages: then silence is normal.
    pub(crate) works: bool,
    /// How long they may take to find each other.
    pub(crate) deadline: Span,
    /// The addresses that may call an end that listens on a network.
    pub(crate) callers: Callers,
}

/// A transport that is being set up: it listens, or has connected and presented the token.
pub(crate) trait Setup: Send + Sized {
    /// The established pipe.
    type Pipe: Pipe;

    /// Sets up the end: it listens or connects.
    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError>;

    /// The address for a peer over a network, if this end listens there.
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

    /// The difference to `before`, which is earlier; a negative difference is an error of the peer,
    /// and counts as zero.
    fn since(self, before: Self) -> Self {
        Self {
            repeated: self.repeated.saturating_sub(before.repeated),
            duplicates: self.duplicates.saturating_sub(before.duplicates),
        }
    }
}

pub use certificate::{any_server, self_signed, with_certificate};
pub use check::{check, largest};
pub use draw::{compute, keeps_to_quota, slow_down};
#[doc(hidden)]
pub use frame::fuzz_frame;
pub(crate) use inside::Inside;
pub(crate) use integrate::Alone;
pub use over::draw_over;
pub(crate) use perform::prepare;

#[cfg(test)]
mod tests;
