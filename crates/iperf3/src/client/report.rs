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
    /// How long the server took to answer the parameters of the test: a round trip to itself, before data move.
    pub answer_seconds: f64,
    /// The congestion control of this end's streams.
    pub congestion: Option<String>,
    /// The congestion control of the server's streams, as it says.
    pub server_congestion: Option<String>,
    /// Processor time of this end's streams, in percent of one processor.
    pub processor_percent: f64,
    /// Processor time of the server, in percent of one processor, as it says.
    pub server_processor_percent: Option<f64>,
}

/// So many times the shortest handshake, and so much longer, is no round trip to the same host: a server answers at once, also
/// a busy one within some milliseconds.
const RELAYED: f64 = 3.0;
const RELAYED_BY: f64 = 0.005;

impl ClientReport {
    /// The shortest handshake, in seconds, if the server's own answer took so much longer that something before it answers
    /// handshakes: a proxy, an accelerator of a satellite.
    pub fn handshake_with_relay(&self) -> Option<f64> {
        let trips = self.handshakes.iter().filter_map(|one| one.round_trip_seconds);
        let least = trips.reduce(f64::min)?;
        let is_longer = self.answer_seconds >= (RELAYED * least).max(least + RELAYED_BY);
        is_longer.then_some(least)
    }

    /// Whether the accounts of both ends agree ([`DirectionReport::is_balanced`]); `None` after omitted seconds, in
    /// which the ends do not count the same.
    pub fn is_balanced(&self) -> Option<bool> {
        let ways = [&self.to_server, &self.to_client];
        let is_balanced = ways.into_iter().flatten().all(DirectionReport::is_balanced);
        (self.omitted_seconds == 0.0).then_some(is_balanced)
    }
}
