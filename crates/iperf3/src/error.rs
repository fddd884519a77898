//! Why a server does not start, and why a test ends early.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

/// Why the server cannot serve.
#[derive(Debug, Error)]
pub enum Iperf3Error {
    /// The address cannot be used.
    #[error(
        "{operation} on {address}: {source}; another server may have the port: choose one with --listen"
    )]
    Listen {
        /// What was attempted.
        operation: &'static str,
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The system has no thread or descriptor for the server itself.
    #[error("{operation}: {source}; the limits of this user may be too low (ulimit -n, ulimit -u)")]
    System {
        /// What was attempted.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// Why a test ended before its results were exchanged.
#[derive(Debug, Error)]
pub enum Ending {
    /// The client closed its control connection.
    #[error("the client went away while it had to {0}")]
    Gone(&'static str),
    /// The client did not do in time what it had to.
    #[error("the client did not {doing} within {} s", after.as_secs_f64())]
    Late {
        /// What it had to do.
        doing: &'static str,
        /// The deadline.
        after: Duration,
    },
    /// The client ended the test (`CLIENT_TERMINATE`).
    #[error("the client ended the test early")]
    Terminated,
    /// This server ends.
    #[error("this server was ended")]
    Stopped,
    /// The client sent what the protocol does not allow here.
    #[error("the client sent {0}")]
    Nonsense(String),
    /// The test is not one that this server makes; the client is told `code`, with which iperf3
    /// prints its own words.
    #[error("the test was refused: {why}")]
    Refused {
        /// The number of iperf3's message.
        code: i32,
        /// The reason in our words.
        why: String,
    },
    /// There is no place for another test; the client is told that the server is busy.
    #[error("the test was refused: {0}")]
    Busy(&'static str),
    /// A system call failed.
    #[error("{operation}: {source}")]
    System {
        /// What was attempted.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl Ending {
    /// A failed system call.
    pub(crate) fn system(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { operation, source }
    }

    /// A refusal with the number of iperf3's message.
    pub(crate) fn refused(code: i32, why: impl Into<String>) -> Self {
        Self::Refused { code, why: why.into() }
    }
}
