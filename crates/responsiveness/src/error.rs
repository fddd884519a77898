//! What can go wrong, in words.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// Why a responsiveness cannot be measured.
#[derive(Debug, Error)]
pub enum ResponsivenessError {
    /// The text is no address of a server.
    #[error(
        "`{address}` is not an address of a responsiveness server: {why}; write https://HOST[:PORT]"
    )]
    Address {
        /// The text.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server's name has no address.
    #[error("looking up {host}: {source}; is the name right?")]
    Name {
        /// The name.
        host: String,
        /// The system's reason.
        source: io::Error,
    },
    /// No connection to the server.
    #[error("{operation} {server}: {source}{advice}")]
    Connection {
        /// What was attempted.
        operation: &'static str,
        /// The server.
        server: SocketAddr,
        /// The reason.
        source: io::Error,
        /// What to do next, with punctuation before it; may be empty.
        advice: &'static str,
    },
    /// The server answers, but not as the draft says.
    #[error("{server} {why}: is it a responsiveness server? `btu speed --rpm-server` starts one")]
    Answer {
        /// The server.
        server: SocketAddr,
        /// What it does.
        why: String,
    },
    /// No certificates of authorities, with which the server's could be checked.
    #[error(
        "reading this system's certificates of authorities: {0}; install them (Debian: ca-certificates), or accept any with --any-certificate"
    )]
    Authorities(String),
    /// The system has no thread or descriptor.
    #[error("{operation}: {source}; the limits of this user may be too low (ulimit -n, ulimit -u)")]
    System {
        /// What was attempted.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl ResponsivenessError {
    /// Whether an answer did not come in time.
    pub(crate) fn is_late(&self) -> bool {
        matches!(self, Self::Connection { source, .. } if source.kind() == io::ErrorKind::TimedOut)
    }
}

/// Why the server cannot serve.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The address cannot be used.
    #[error(
        "listen on {address}: {source}; another server may have the port: choose one with --listen"
    )]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("the certificate of the server: {0}")]
    Certificate(String),
    /// The system has no thread or descriptor for the server itself.
    #[error("{operation}: {source}; the limits of this user may be too low (ulimit -n, ulimit -u)")]
    System {
        /// What was attempted.
        operation: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}
