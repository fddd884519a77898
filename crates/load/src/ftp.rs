//! File transfer: a real FTP server and a real FTP client (RFC 959, RFC 2428), and a relay to a server elsewhere.

mod data_port;
mod doorway;
mod fetch;
mod gate;
mod get;
mod inbox;
mod login;
mod outbox;
mod put;
mod relay;
mod reply;
mod serve;
mod shelf;

#[doc(hidden)]
pub use doorway::fuzz_doorway;
pub use doorway::serve_doorway;
pub use fetch::FETCH_ROOM;
pub(crate) use fetch::Fetching;
pub(crate) use get::get;
pub(crate) use inbox::Inbox;
pub(crate) use outbox::Outbox;
pub(crate) use put::put;
pub(crate) use relay::Relaying;
#[doc(hidden)]
pub use reply::fuzz_reply;
pub(crate) use serve::Serving;
