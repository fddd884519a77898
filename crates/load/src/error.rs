//! The errors of host activities, with advice.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use btu_traffic::TrafficError;
use btu_units::{Bytes, Span};
use thiserror::Error;

use crate::nfs::NfsError;
use crate::volume::Fault;

/// Why a host activity could not be set up or done.
#[derive(Debug, Error)]
pub enum LoadError {
    /// An unexpected failure of a system call.
    #[error("could not {operation}: {source}")]
    Kernel {
        /// The operation that failed.
        operation: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The scratch directory cannot be used.
    #[error("could not {operation} in scratch directory {}: {source}; another can be named with --scratch DIR", .directory.display())]
    Scratch {
        /// The operation that failed.
        operation: &'static str,
        /// The path of the directory.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A share that was mounted before cannot be used.
    #[error("could not {operation} in share {}: {source}; is it mounted on this host, for this user to write?", .directory.display())]
    Share {
        /// The operation that failed.
        operation: &'static str,
        /// The path of the directory.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is too little space, seen before anything was written.
    #[error("scratch directory {} ({filesystem}) has {free} free, {missing} less than the {needed} needed; free some space there or name another directory with --scratch DIR", .directory.display())]
    NoSpace {
        /// The path of the directory.
        directory: PathBuf,
        /// The type of its file system.
        filesystem: String,
        /// The free space for an ordinary user there.
        free: Bytes,
        /// The need of the activity, with a margin.
        needed: Bytes,
        /// The bytes that are missing.
        missing: Bytes,
    },
    /// The space ran out, or a quota was reached, while the activity ran.
    #[error("scratch directory {} became full while trying to {operation}: {source}; free some space there or name another directory with --scratch DIR", .directory.display())]
    Full {
        /// The operation that failed.
        operation: &'static str,
        /// The path of the directory.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Memory cannot hold a file.
    #[error("could not {operation} in memory: {source}; copy a smaller file, or one on disk")]
    Memory {
        /// The operation that failed.
        operation: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The connection that carries a file failed, or a peer broke its protocol.
    #[error(transparent)]
    Flow(#[from] TrafficError),
    /// The data read from a file differ from those that were written.
    #[error(
        "the source of the copy changed while it was read: {what}; leave the scratch directory alone"
    )]
    SourceChanged {
        /// How the difference was detected.
        what: String,
    },
    /// A peer sent a wrong number of bytes.
    #[error(
        "{peer} should have sent a file of {expected} bytes, and {told}; is it the station that this run is for?"
    )]
    FileSize {
        /// The address of the peer that sent the data.
        peer: SocketAddr,
        /// The number of bytes that were expected.
        expected: u64,
        /// The number of bytes that it sent or announced.
        told: String,
    },
    /// The other end of a copy reported that it could not take or store the file.
    #[error(
        "{peer} did not take the file: {answer}; look at that station's own account for the cause"
    )]
    NotTaken {
        /// The address of the peer that did not send all data.
        peer: SocketAddr,
        /// Its answer, in btu's words.
        answer: &'static str,
    },
    /// The other end of a copy by HTTP refused, broke off, or sent an unexpected answer.
    #[error("{peer}: could not {operation} by HTTP: {reason}")]
    Http {
        /// The address of the peer.
        peer: SocketAddr,
        /// The operation that failed.
        operation: &'static str,
        /// The outcome, in btu's words.
        reason: String,
    },
    /// A program of the system is missing, or failed.
    #[error("{program}: {problem}")]
    Program {
        /// The name of the program.
        program: &'static str,
        /// The operation, its outcome, and the advice.
        problem: String,
    },
    /// An order that no program can perform.
    #[error("copying a file: {what}")]
    Order {
        /// What is wrong, and what is allowed.
        what: &'static str,
    },
    /// The caller does not need the file any more.
    #[error("making a file in {} was stopped: the client that asked for it is gone", .directory.display())]
    Stopped {
        /// The path of the directory.
        directory: PathBuf,
    },
    /// The file kept ready for disk activities cannot be used.
    #[error("could not use disk source {}: {problem}; without one, each disk activity makes its own", .path.display())]
    Source {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Storage returned other data than were written.
    #[error("the copy in {} differs from its source in the 4 KiB at byte {offset}: the storage under it returned wrong data", .directory.display())]
    Corrupt {
        /// The path of the directory.
        directory: PathBuf,
        /// Start of the block that differs.
        offset: u64,
    },
    /// A server could not be set up on an address.
    #[error("could not {operation} on {address}: {source}")]
    Listen {
        /// The operation that failed.
        operation: &'static str,
        /// The address in question.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// An FTP server refused, broke off or did not answer.
    #[error("FTP server {server}: could not {operation}: {reason}")]
    Ftp {
        /// The server's control port.
        server: SocketAddr,
        /// The operation that failed.
        operation: String,
        /// The outcome; of the server's reply only the code, because it may not be an FTP server,
        /// and then its text must not reach the caller.
        reason: String,
    },
    /// The data connection failed.
    #[error("FTP server {server}: reading `{file}` failed after {received}: {source}")]
    Data {
        /// The server's control port.
        server: SocketAddr,
        /// The name of the file on the server.
        file: String,
        /// The number of bytes so far.
        received: Bytes,
        /// The error of the system.
        source: io::Error,
    },
    /// The server sent a wrong number of bytes.
    #[error("FTP server {server}: `{file}` should have {expected} bytes, {received} came")]
    Size {
        /// The server's control port.
        server: SocketAddr,
        /// The name of the file on the server.
        file: String,
        /// The number of bytes that were expected.
        expected: u64,
        /// The number of bytes that arrived.
        received: u64,
    },
    /// No data arrived for too long.
    #[error("FTP server {server}: nothing came of `{file}` for {silence}, after {received}")]
    Silent {
        /// The server's control port.
        server: SocketAddr,
        /// The name of the file on the server.
        file: String,
        /// The number of bytes so far.
        received: Bytes,
        /// The length of the wait.
        silence: Span,
    },
    /// The received data differ from the server's file.
    #[error("FTP server {server}: `{file}` came with wrong bytes at {offset}")]
    Content {
        /// The server's control port.
        server: SocketAddr,
        /// The name of the file on the server.
        file: String,
        /// Where in the file.
        offset: u64,
    },
    /// A file of this machine could not be read or written.
    #[error("could not {operation} {name}: {fault}")]
    File {
        /// The operation that failed.
        operation: &'static str,
        /// The name of the file.
        name: String,
        /// Why it was not done.
        fault: Fault,
    },
    /// A file server refused, broke off or did not answer.
    #[error(transparent)]
    Nfs(#[from] NfsError),
}

impl LoadError {
    /// A source that is read again has another digest.
    pub(crate) fn source_changed() -> Self {
        Self::SourceChanged { what: "it has another content than before".to_owned() }
    }
}
