//! HTTP/2 with limits for clients. A client with a valid certificate can still have defects, or an
//! attacker can take it over.

use std::time::Duration;

use tonic::transport::Server;

/// Calls that one client may have open at a time; a run needs three.
pub(super) const CALLS: u32 = 32;
/// Octets of a call's headers; ours have some 300.
pub(super) const HEADER_BYTES: u32 = 16 << 10;
/// Octets that a client may send before the service reads them, per call and per connection.
const AHEAD_BYTES: u32 = 1 << 20;
/// The silence after which a client gets a ping ...
pub(super) const SILENCE: Duration = Duration::from_secs(10);
/// ... and the time after which it is disconnected without an answer.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Resets of calls that wait to be accepted: a flood of them ends the connection (CVE-2023-44487,
/// "rapid reset").
const RESETS: usize = 32;

/// The server that an agent adds its service to.
pub fn server() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(SILENCE))
        .http2_keepalive_timeout(Some(ANSWER))
        .max_concurrent_streams(CALLS)
        .concurrency_limit_per_connection(CALLS as usize)
        .initial_stream_window_size(AHEAD_BYTES)
        .initial_connection_window_size(2 * AHEAD_BYTES)
        .http2_max_header_list_size(HEADER_BYTES)
        .http2_max_pending_accept_reset_streams(Some(RESETS))
        .http2_max_local_error_reset_streams(Some(RESETS))
}
