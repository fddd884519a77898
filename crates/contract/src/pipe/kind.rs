//! Transports, and patterns of messages.

use std::str::FromStr;

use btu_units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

btu_units::named! {
    /// A way to move bytes between two processes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Kind {
        /// The transport is a TCP connection.
        Tcp = "tcp",
        /// UDP datagrams; lost ones are repeated by the pattern, and counted.
        Udp = "udp",
        /// A Unix socket that carries a stream.
        UnixStream = "unix-stream",
        /// A Unix socket that keeps messages apart (`SOCK_SEQPACKET`).
        UnixSeqpacket = "unix-seqpacket",
        /// Two pipes, one each way (`pipe(2)`).
        Pipe = "pipe",
        /// Rings in memory that both processes map.
        SharedMemory = "shared-memory",
        /// TLS 1.3 over TCP.
        Tls = "tls",
        /// A bidirectional QUIC stream.
        Quic = "quic",
        /// A request and its answer over HTTP/2.
        Http2 = "http2",
        /// Messages of the Message Passing Interface.
        Mpi = "mpi",
    }
}

impl Kind {
    /// The usual name.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::UnixStream => "Unix stream",
            Self::UnixSeqpacket => "Unix seqpacket",
            Self::Pipe => "pipe",
            Self::SharedMemory => "shared memory",
            Self::Tls => "TLS 1.3",
            Self::Quic => "QUIC",
            Self::Http2 => "HTTP/2",
            Self::Mpi => "MPI",
        }
    }

    /// Whether both ends must be on the same machine.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::UnixStream | Self::UnixSeqpacket | Self::Pipe | Self::SharedMemory)
    }
}

btu_units::named! {
    /// The pattern of messages: which end sends, and when.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Pattern {
        /// A message there and a message of the same size back; half the round trip counts (1996: block
        /// transfer).
        PingPong = "ping-pong",
        /// Messages in one direction without an answer; the receiver's time counts, and latency is
        /// unknown.
        Streaming = "streaming",
        /// Both ends send a message, then both receive one; the bits of both count.
        Bidirectional = "bidirectional",
    }
}

impl Pattern {
    /// Messages that one repetition moves, both directions together.
    pub const fn messages_per_repetition(self) -> u64 {
        match self {
            Self::Streaming => 1,
            Self::PingPong | Self::Bidirectional => 2,
        }
    }

    /// The divisor of a repetition's time: a round trip is two one-way times, everything else one.
    pub(crate) const fn one_way_parts(self) -> f64 {
        match self {
            Self::PingPong => 2.0,
            Self::Streaming | Self::Bidirectional => 1.0,
        }
    }

    /// Bits that `pairs` pairs move in the one-way time of a message of `size`.
    pub fn bits_at_once(self, size: Bytes, pairs: u32) -> f64 {
        let messages = if self == Self::Bidirectional { 2.0 } else { 1.0 };
        size.bits() * messages * f64::from(pairs)
    }
}

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not {what}: give one of {allowed}")]
pub struct UnknownName {
    /// The text that was written, which is none of the known names.
    pub text: String,
    /// What was wanted, with its article.
    pub what: &'static str,
    /// What would have been accepted.
    pub allowed: String,
}

/// The member of `all` with the name `text`.
fn named<T: Copy>(
    text: &str,
    what: &'static str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    all.iter().copied().find(|candidate| name(*candidate) == text).ok_or_else(|| UnknownName {
        text: text.to_owned(),
        what,
        allowed: all.iter().map(|candidate| name(*candidate)).collect::<Vec<_>>().join(", "),
    })
}

impl FromStr for Kind {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        named(text, "a transport", &Self::ALL, Self::name)
    }
}

impl FromStr for Pattern {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        named(text, "a pattern", &Self::ALL, Self::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn names_are_the_stored_ones_and_come_back() {
        for kind in Kind::ALL {
            assert_eq!(json::to_value(&kind).unwrap(), kind.name());
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        for pattern in Pattern::ALL {
            assert_eq!(json::to_value(&pattern).unwrap(), pattern.name());
            assert_eq!(pattern.name().parse(), Ok(pattern));
        }
    }

    #[test]
    fn an_unknown_name_says_what_there_is() {
        let error = "block".parse::<Pattern>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`block` is not a pattern: give one of ping-pong, streaming, bidirectional"
        );
    }
}
