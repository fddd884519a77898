//! The result of a client's test.

use std::net::SocketAddr;

use serde::Serialize;

use super::course::Second;
use super::handshakes::Handshake;
use crate::protocol::{Direction, Protocol};
use crate::way::DirectionReport;

/// A finished test with a server of iperf3.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientReport {
    /// The server.
    pub server: SocketAddr,
    /// What carried the data.
    pub protocol: Protocol,
    /// Who sent.
    pub direction: Direction,
    /// Streams each way.
    pub streams: u16,
    /// The time that counts, by this client's monotonic clock.
    pub seconds: f64,
    /// The time before it, which does not count.
    pub omitted_seconds: f64,
    /// To the server, as it counted.
    pub to_server: Option<DirectionReport>,
    /// To this client, as it counted.
    pub to_client: Option<DirectionReport>,
    /// Second by second, as this client sees it.
    pub course: Vec<Second>,
    /// Round trips during the test.
    pub handshakes: Vec<Handshake>,
    /// The congestion control of this end's streams.
    pub congestion: Option<String>,
    /// The congestion control of the server's streams, as it says.
    pub server_congestion: Option<String>,
    /// Processor time of this end's streams, in percent of one processor.
    pub processor_percent: f64,
    /// Processor time of the server, in percent of one processor, as it says.
    pub server_processor_percent: Option<f64>,
}

impl ClientReport {
    /// Whether the accounts of both ends agree ([`DirectionReport::is_balanced`]); `None` after omitted seconds, in
    /// which the ends do not count the same.
    pub fn is_balanced(&self) -> Option<bool> {
        let ways = [&self.to_server, &self.to_client];
        let is_balanced = ways.into_iter().flatten().all(DirectionReport::is_balanced);
        (self.omitted_seconds == 0.0).then_some(is_balanced)
    }
}
