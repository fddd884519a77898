//! The errors of an NFS client.

use std::io;
use std::net::SocketAddr;

use btu_units::Span;
use thiserror::Error;

use super::Status;

/// Why a server did not perform a client's call.
#[derive(Debug, Error)]
pub enum NfsError {
    /// No connection was made.
    #[error("NFS server {server}: could not connect: {source}")]
    Connect {
        /// The address of the server.
        server: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// It ended the connection before it answered the first call.
    #[error(
        "NFS server {server}: it refused this client; it accepts only clients with this cell's token, and a limited number at \
         a time"
    )]
    SentAway {
        /// The address of the server.
        server: SocketAddr,
    },
    /// Its port mapper knows no MOUNT service.
    #[error(
        "port mapper {server}: it knows no MOUNT service over TCP; is that an NFS version 3 server? Its port can be given: ?mount=PORT"
    )]
    NoMountService {
        /// The address of the port mapper.
        server: SocketAddr,
    },
    /// The connection broke off.
    #[error("NFS server {server}: {call} failed: {source}")]
    Connection {
        /// The address of the server.
        server: SocketAddr,
        /// The name of the call.
        call: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The server did not answer in time.
    #[error("NFS server {server}: {call} was not answered within {timeout}")]
    Silent {
        /// The address of the server.
        server: SocketAddr,
        /// The name of the call.
        call: &'static str,
        /// The length of the wait.
        timeout: Span,
    },
    /// The received data are not an answer.
    #[error("NFS server {server}: what came as the answer to {call} is none")]
    Garbled {
        /// The address of the server.
        server: SocketAddr,
        /// The name of the call.
        call: &'static str,
    },
    /// The call failed.
    #[error("NFS server {server}: {call} was refused: {status}")]
    Refused {
        /// The address of the server.
        server: SocketAddr,
        /// The name of the call.
        call: &'static str,
        /// The status that the server gives as its reason.
        status: Status,
    },
    /// The server restarted between WRITE and COMMIT.
    #[error("NFS server {server}: it restarted, and what was written before is lost")]
    BeganAnew {
        /// The address of the server.
        server: SocketAddr,
    },
    /// The source or the target at this end failed.
    #[error("could not {operation} the file at this end: {source}")]
    ThisEnd {
        /// The operation: reading or writing.
        operation: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}
