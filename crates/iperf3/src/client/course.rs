//! What moves in each second, at the end that a client sees.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::streams::{Stream, Streams};

/// One second of a test, by the client's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Its end, in seconds since data began to move.
    pub end_seconds: f64,
    /// Its length.
    pub seconds: f64,
    /// Whether it does not count (`omit`).
    pub is_omitted: bool,
    /// Payload to the server: of TCP, what the server's kernel has acknowledged; of UDP, what was sent.
    pub to_server_bytes: Option<u64>,
    /// Payload to the client, which arrived.
    pub to_client_bytes: Option<u64>,
    /// Segments that the client sent again.
    pub resent_segments: u64,
    /// The median round trip of the handshakes whose answers came in this second.
    pub round_trip_seconds: Option<f64>,
}

/// The seconds so far.
#[derive(Debug)]
pub(super) struct Course {
    start: Instant,
    omit: Duration,
    last: Totals,
    at: Duration,
}

/// What has moved since the start.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    to_server: Option<u64>,
    to_client: Option<u64>,
    resent: u64,
}

impl Totals {
    fn of(streams: &Streams) -> Self {
        let of = |sends: bool| {
            let streams = streams.all.iter().filter(move |stream| stream.sends == sends);
            streams.map(Stream::arrived_bytes).reduce(|sum, bytes| sum + bytes)
        };
        let sending = streams.all.iter().filter(|stream| stream.sends);
        Self {
            to_server: of(true),
            to_client: of(false),
            resent: sending.map(Stream::resent_segments).sum(),
        }
    }
}

impl Course {
    pub(super) fn new(start: Instant, omit: Duration) -> Self {
        Self { start, omit, last: Totals::default(), at: Duration::ZERO }
    }

    /// The end of the next second.
    pub(super) fn next(&self) -> Instant {
        self.start + Duration::from_secs(self.at.as_secs() + 1)
    }

    /// The second that ends now.
    pub(super) fn take(&mut self, streams: &Streams, round_trip_seconds: Option<f64>) -> Second {
        let (totals, at) = (Totals::of(streams), self.start.elapsed());
        let since = |now: Option<u64>, before: Option<u64>| {
            now.map(|now| now.saturating_sub(before.unwrap_or(0)))
        };
        let second = Second {
            end_seconds: at.as_secs_f64(),
            seconds: at.saturating_sub(self.at).as_secs_f64(),
            is_omitted: self.at < self.omit,
            to_server_bytes: since(totals.to_server, self.last.to_server),
            to_client_bytes: since(totals.to_client, self.last.to_client),
            resent_segments: totals.resent.saturating_sub(self.last.resent),
            round_trip_seconds,
        };
        (self.last, self.at) = (totals, at);
        second
    }
}
