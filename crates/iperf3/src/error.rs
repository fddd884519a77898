//! Why a server does not start, and why a test ends early.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

/// The numbers with which iperf3's clients choose their message about `ServerError`.
pub(crate) mod code {
    pub(crate) const DURATION: i32 = 5;
    pub(crate) const STREAMS: i32 = 6;
    pub(crate) const BLOCK_SIZE: i32 = 7;
    pub(crate) const WINDOW: i32 = 8;
    pub(crate) const SEGMENT_SIZE: i32 = 10;
    pub(crate) const OMIT: i32 = 12;
    pub(crate) const UNIMPLEMENTED: i32 = 13;
    pub(crate) const INIT_TEST: i32 = 101;
    pub(crate) const MESSAGE: i32 = 110;
    pub(crate) const PARAMETERS: i32 = 114;
    pub(crate) const RESULTS: i32 = 117;
    pub(crate) const SET_CONGESTION: i32 = 134;
    pub(crate) const AUTHENTICATION: i32 = 142;
    pub(crate) const TOTAL_RATE: i32 = 27;
    /// Since 3.20.
    pub(crate) const SERVER_DURATION: i32 = 37;
    pub(crate) const NO_MESSAGE: i32 = 144;
    pub(crate) const CREATE_STREAM: i32 = 200;
    pub(crate) const LAST_OF_STREAMS: i32 = 208;
}

/// Why a server cannot serve, or a client has no result.
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
    /// A test of this client has no result.
    #[error("iperf3's test with {server}: {why}")]
    Test {
        /// The server.
        server: SocketAddr,
        /// The reason.
        why: Ending,
    },
}

/// Why a test ended before its results were exchanged. In the texts, it is the other end.
#[derive(Debug, Error)]
pub enum Ending {
    /// The other end closed the control connection.
    #[error("it went away while it had to {0}")]
    Gone(&'static str),
    /// The other end did not do in time what it had to.
    #[error("it did not {doing} within {} s", after.as_secs_f64())]
    Late {
        /// What it had to do.
        doing: &'static str,
        /// The deadline.
        after: Duration,
    },
    /// The other end ended the test (`CLIENT_TERMINATE`, `SERVER_TERMINATE`).
    #[error("it ended the test early")]
    Terminated,
    /// This end was stopped.
    #[error("the test was stopped at this end")]
    Stopped,
    /// The other end sent what the protocol does not allow here.
    #[error("it sent {0}")]
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
    /// There is no connection to the server.
    #[error(
        "{operation}: {source}; `iperf3 -s` has to run there, and a firewall has to pass its port"
    )]
    Connect {
        /// What was attempted.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The server makes another test (`ACCESS_DENIED`).
    #[error("the server is busy with another test; try again when that has ended")]
    ServerBusy,
    /// The server has sent iperf3's number of a message, and one of its system (`SERVER_ERROR`).
    #[error("the server refused the test: {} (iperf3's error {code}{})", meaning(*.code), system_error(*.errno))]
    ServerError {
        /// The number of iperf3's message.
        code: i32,
        /// The server's `errno`; 0: none.
        errno: i32,
    },
    /// The server did not answer on a UDP stream.
    #[error(
        "it did not answer the greeting of a UDP stream within {} s; a firewall has to pass UDP, too, and a lost greeting is not repeated, so try again", after.as_secs_f64()
    )]
    UdpUnanswered {
        /// The deadline.
        after: Duration,
    },
    /// A system call failed.
    #[error("{operation}: {source}")]
    System {
        /// What was attempted.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// What the number of an iperf3 message means to a user.
fn meaning(code: i32) -> &'static str {
    match code {
        0 => "it does not say why",
        code::DURATION | code::SERVER_DURATION => "it allows no test of this length",
        code::STREAMS => "it allows fewer streams",
        code::BLOCK_SIZE => "it allows no messages of this size",
        code::TOTAL_RATE => "its limit of the total rate was exceeded",
        code::SET_CONGESTION => "it does not have this congestion control",
        code::AUTHENTICATION => "it asks for a user and a password, which btu does not send",
        code::NO_MESSAGE => "it received nothing for too long",
        code::CREATE_STREAM..=code::LAST_OF_STREAMS => "a stream of data failed there",
        _ => "its log says why",
    }
}

fn system_error(errno: i32) -> String {
    if errno == 0 {
        return String::new();
    }
    format!(", its system's {}", io::Error::from_raw_os_error(errno))
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
