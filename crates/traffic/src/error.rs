//! The errors of traffic, each with the operation, the object and the advice.

use std::io;
use std::net::SocketAddr;

use btu_units::{Bytes, Span};

/// Why a network activity could not be prepared or performed.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// The order asks for messages this activity cannot move.
    #[error(
        "{activity}: messages of {message} cannot be moved; choose a size from {least} to {most}"
    )]
    MessageSize {
        /// The kind of the activity.
        activity: &'static str,
        /// What was asked for.
        message: Bytes,
        /// The smallest size that works.
        least: Bytes,
        /// The largest size that works.
        most: Bytes,
    },
    /// Another number in the order is out of range.
    #[error("{activity}: {what}")]
    Order {
        /// The kind of the activity.
        activity: &'static str,
        /// What is wrong, and what is allowed.
        what: String,
    },
    /// A local socket could not be made.
    #[error("listen on {address}: {source}; check that this station has the address")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The peer could not be reached.
    #[error("connect to {peer}: {source}; check that the peer is ready and that the path is up")]
    Connect {
        /// The address that was called.
        peer: SocketAddr,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// A system call failed on a socket.
    #[error("{operation} ({object}): {source}")]
    Socket {
        /// The operation that failed.
        operation: &'static str,
        /// The address of the socket.
        object: SocketAddr,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// One end of a pipe could not be set up, or failed.
    #[error("{operation} ({object}): {source}")]
    Pipe {
        /// The operation that failed.
        operation: &'static str,
        /// Which transport, and with what.
        object: String,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The peer ended the flow before it was complete.
    #[error(
        "{peer} closed the connection {when}; look at that station's own account for the cause"
    )]
    Closed {
        /// The address of the peer that closed the connection.
        peer: SocketAddr,
        /// Where in the flow.
        when: &'static str,
    },
    /// The peer's first bytes were not the token of this flow.
    #[error("{peer} did not present this flow's token; is something else using that port?")]
    Token {
        /// The address of the peer that sent the message.
        peer: SocketAddr,
    },
    /// The peer sent a message that the protocol does not allow.
    #[error("{peer} broke the protocol: {what}")]
    Protocol {
        /// The address of the peer that broke the protocol.
        peer: SocketAddr,
        /// How the peer broke the protocol.
        what: &'static str,
    },
    /// The order's time is over.
    #[error(
        "{doing} ({object}) was not finished within the deadline of {deadline}; allow more time or less work"
    )]
    Deadline {
        /// The current operation.
        doing: &'static str,
        /// With whom, or where.
        object: SocketAddr,
        /// The deadline of the order.
        deadline: Span,
    },
    /// The agent sent `stop` during a flow.
    #[error("{doing} ({object}) was stopped before it was finished")]
    Stopped {
        /// The current operation.
        doing: &'static str,
        /// With whom, or where.
        object: SocketAddr,
    },
}

impl TrafficError {
    /// For `map_err`: the operation on the socket `object` failed.
    pub(crate) fn socket<E: Into<io::Error>>(
        operation: &'static str,
        object: SocketAddr,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Socket { operation, object, source: source.into() }
    }
}
