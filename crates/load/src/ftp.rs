//! File transfer: a real FTP server and a real FTP client (RFC 959, RFC 2428), and a relay to a
//! server elsewhere.

mod egress_proxy;
mod fetch;
mod gate;
mod get;
mod inbox;
mod outbox;
mod put;
mod relay;
mod reply;
mod serve;
mod virtual_files;

#[doc(hidden)]
pub use egress_proxy::fuzz_egress_proxy;
pub use egress_proxy::serve_egress_proxy;
pub use fetch::FETCH_ROOM;
pub(crate) use fetch::Fetching;
pub(crate) use get::get;
pub(crate) use inbox::{CopyLogin, Inbox, password};
pub(crate) use outbox::Outbox;
pub(crate) use put::put;
pub(crate) use relay::Relaying;
#[doc(hidden)]
pub use reply::fuzz_reply;
pub(crate) use serve::Serving;
