//! NFS version 3 over TCP (RFC 1813, RFC 5531): a server of files of its own, and a blocking client
//! with a window.
//!
//! ```no_run
//! # use btu_load::nfs::{NfsClient, NfsError, Stability, Transfer};
//! # use btu_units::Span;
//! # fn copy(server: std::net::SocketAddr, token: [u8; 16]) -> Result<(), NfsError> {
//! let mut client = NfsClient::connect(server, &token, 0, Span::from_seconds(10))?;
//! let root = client.root();
//! let file = client.create(&root, "copy")?.handle;
//! let transfer = Transfer { block: 8192, window: 16, stability: Stability::Unstable };
//! let written = client.write_file(&file, &mut &b"content"[..], transfer)?;
//! client.commit_written(&file, &written)?;
//! # Ok(())
//! # }
//! ```
//!
//! The server supports every call of regular files and directories: all except READLINK, SYMLINK,
//! MKNOD and LINK, and CREATE's EXCLUSIVE mode. The client makes those that copying and file tasks
//! need, and finds the exports of other servers by the MOUNT protocol. The codec is btu's own: it
//! borrows from the input, so that reading and writing files allocates nothing for each message,
//! and it never allocates by a length that a peer claims. The tests have the server answer one that
//! others wrote.

mod about;
mod account;
mod answer;
mod client;
mod error;
mod listener;
mod moments;
mod mount;
mod protocol;
mod rpc;
mod server;
mod session;
mod transfer;
mod xdr;

pub use account::{ClientAccount, OTHERS};
pub use answer::{Attributes, Found, Status};
pub use client::NfsClient;
pub use error::NfsError;
pub(crate) use moments::Moved as MovedAt;
pub use protocol::{Handle, LONGEST_NAME, MOST_DATA, Stability};
pub use server::{MOST_CLIENTS, NfsServer, ServerSettings};
pub use transfer::{Transfer, Uncommitted};

use xdr::XdrReader;

/// For fuzzers: the input of an unknown caller of the listener, and a call of a client with the
/// token.
#[doc(hidden)]
pub fn fuzz_call(octets: &[u8]) {
    let token = [7; 16];
    assert!(!listener::presents(octets, &token) || octets.len() > 32);
    let mut reader = XdrReader::new(octets);
    if let Ok(header) = rpc::CallHeader::read(&mut reader) {
        let _ = protocol::Call::read(header.procedure, reader);
    }
    for procedure in 0..24 {
        let _ = protocol::Call::read(procedure, XdrReader::new(octets));
    }
}

/// For fuzzers: any octets as a server's answers.
#[doc(hidden)]
pub fn fuzz_answer(octets: &[u8]) {
    let _ = rpc::read_answer(&mut XdrReader::new(octets));
    answer::read_all(octets);
    mount::read_all(octets);
}

#[cfg(test)]
pub(crate) mod tests;
