//! What can go wrong, in words.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::PORT;

/// Why there is no result, or no reflector.
#[derive(Debug, Error)]
pub enum StampError {
    /// The address cannot be used.
    #[error("listen on {address}: {source}; {}", advice(source))]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A system call failed.
    #[error(
        "{operation} {object}: {source}; is there a way to that address, and does the firewall of this host pass UDP?"
    )]
    System {
        /// What was attempted.
        operation: &'static str,
        /// With which address.
        object: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The far host, or one on the way, says that there is no reflector.
    #[error(
        "{reflector} does not answer: {source}; is there a STAMP reflector on this port? `btu speed --stamp-reflector` starts one"
    )]
    Refused {
        /// The reflector.
        reflector: SocketAddr,
        /// What arrived instead of an answer.
        source: io::Error,
    },
    /// Nothing comes back.
    #[error(
        "{reflector} answered none of {sent} packets{strange}; is there a STAMP reflector, and does every firewall pass UDP to this port? `btu speed --stamp-reflector` starts one"
    )]
    Silent {
        /// The reflector.
        reflector: SocketAddr,
        /// How many packets were sent.
        sent: u64,
        /// What came instead, with punctuation before it; may be empty.
        strange: String,
    },
}

fn advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "ports below 1024 need root or CAP_NET_BIND_SERVICE: `--listen 127.0.0.1:8620` needs neither, and senders then name HOST:8620 instead of port {PORT}"
        ),
        io::ErrorKind::AddrInUse => {
            "another reflector has the port: choose one with --listen".to_owned()
        }
        _ => "is it an address of this host?".to_owned(),
    }
}
