//! Copying one file from one host to another, or on one host: the programs of `btu copy`.
//!
//! | program | how it connects | the file | the end |
//! |---|---|---|---|
//! | bare | one TCP connection, the token first | as it is | one octet back when it is durable |
//! | rcp | the same | a record with mode, size and name, answered; then as it is | an octet, answered when it is durable |
//! | ftp | control connection, login with the token | on a data connection, as it is | the reply 226 when it is durable |
//! | nfs | a connection, the token in each call's credential | CREATE, then WRITEs, some of them on their way at a time | the reply to COMMIT, or to the last WRITE |
//! | http | one TCP connection, the token in the request's `Authorization` | the body of PUT, or of the answer to GET | the answer 201 when it is durable |
//! | scp, sftp, rsync | the system's programs, keys or a password made from the token | as they do it | a further connection, on which one octet says that it is durable |
//! | vsftpd | as ftp does, at the system's server | as ftp does | the same |
//! | local, mount | not at all, or as the kernel's client of a share does | from one file into another | when it is durable |
//!
//! An end that puts a file has it and connects; an end that gets one connects and receives it: each
//! protocol works both ways.
//!
//! The source is made from the order's seed before the clock starts, and is on the device; it is
//! not in the page cache, or has just been read. What was sent and what is stored are read again
//! and digested when the clock has stopped.

mod client;
mod conduit;
mod http;
mod local;
mod nfs;
mod packets;
mod rcp;
mod server;
mod store;
mod stream;
mod system;

pub(crate) use client::CopyClient;
pub(crate) use local::Copying;
pub(crate) use server::CopyServer;
pub use store::NAMED_IN_MEMORY;
pub(crate) use store::Stored;
pub(crate) use system::terminal;
pub(crate) use system::{COOKIE, XServer, x11perf};
pub use system::{missing_for, missing_for_terminal, missing_for_x11};

#[doc(hidden)]
pub use http::fuzz_head;
#[doc(hidden)]
pub use rcp::fuzz_record;
#[doc(hidden)]
pub use system::fuzz_log;

use btu_contract::copy::{Marks, Program};
use btu_contract::record::TcpInfo;
use btu_units::Time;

use crate::LoadError;

/// Bytes moved at once.
pub(crate) const BLOCK: usize = 256 * 1024;

/// The interval at which a waiting end checks for `stop`.
const TICK: std::time::Duration = std::time::Duration::from_millis(2);

/// When the file was moved, by this host's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) first: Time,
    pub(crate) last: Time,
}

/// Copies on one host have one end.
fn check(program: Program) -> Result<(), LoadError> {
    if program.is_on_one_host() {
        return Err(LoadError::Order {
            what: "the programs `local` and `mount` copy on one host and have no other end",
        });
    }
    Ok(())
}

/// A copy that is over.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) connected: Time,
    pub(crate) moved: Moved,
    pub(crate) durable: Time,
    /// Of programs that let their connection be seen.
    pub(crate) tcp: Option<TcpInfo>,
}

impl Over {
    /// The marks as times since `start`.
    pub(crate) fn marks(&self, start: Time) -> Marks {
        Marks {
            connected: self.connected.since(start),
            first_byte: self.moved.first.since(start),
            last_byte: self.moved.last.since(start),
            durable: self.durable.since(start),
        }
    }
}

#[cfg(test)]
mod tests;
