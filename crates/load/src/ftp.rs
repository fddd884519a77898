//! File transfer: a real FTP server and a real FTP client (RFC 959, RFC 2428).

mod fetch;
mod get;
mod inbox;
mod outbox;
mod put;
mod serve;
mod virtual_files;

/// The only user of our server.
const USER: &str = "btu";

pub use fetch::FETCH_ROOM;
pub(crate) use fetch::Fetching;
pub(crate) use get::get;
pub(crate) use inbox::{CopyLogin, Inbox, password};
pub(crate) use outbox::Outbox;
pub(crate) use put::put;
pub(crate) use serve::Serving;
