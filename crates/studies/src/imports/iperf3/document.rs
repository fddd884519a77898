//! The parts of iperf3's document that are used. Everything may be missing: versions differ, and a
//! test that failed ends early.

use serde::Deserialize;

use crate::imports::parse::BoundedList;

#[derive(Deserialize)]
pub(super) struct Iperf3Document {
    #[serde(default)]
    pub(super) start: Start,
    #[serde(default)]
    pub(super) intervals: BoundedList<Interval>,
    #[serde(default)]
    pub(super) end: End,
    /// The user's `--title`.
    pub(super) title: Option<String>,
    pub(super) error: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Start {
    pub(super) version: Option<String>,
    pub(super) timestamp: Option<Timestamp>,
    /// Only in a client's file.
    pub(super) connecting_to: Option<Peer>,
    /// Only in a server's file.
    pub(super) accepted_connection: Option<Peer>,
    #[serde(rename = "test_start")]
    pub(super) test: Option<TestStart>,
}

#[derive(Deserialize)]
pub(super) struct Timestamp {
    pub(super) timesecs: i64,
}

#[derive(Deserialize)]
pub(super) struct Peer {
    pub(super) host: String,
    pub(super) port: u16,
}

#[derive(Deserialize)]
pub(super) struct TestStart {
    pub(super) protocol: String,
    pub(super) num_streams: u64,
    /// Seconds that do not count.
    #[serde(default)]
    pub(super) omit: f64,
    #[serde(default)]
    pub(super) reverse: f64,
    /// Bits per second of each stream; 0 is no limit.
    #[serde(default)]
    pub(super) target_bitrate: f64,
}

#[derive(Deserialize)]
pub(super) struct Interval {
    pub(super) sum: Option<IntervalSum>,
    pub(super) sum_bidir_reverse: Option<IntervalSum>,
}

#[derive(Deserialize)]
pub(super) struct IntervalSum {
    /// Seconds since the start.
    pub(super) end: f64,
    pub(super) bits_per_second: f64,
    #[serde(default)]
    pub(super) omitted: bool,
}

#[derive(Default, Deserialize)]
pub(super) struct End {
    #[serde(default)]
    pub(super) streams: BoundedList<EndStream>,
    pub(super) sum: Option<Sum>,
    pub(super) sum_sent: Option<Sum>,
    pub(super) sum_received: Option<Sum>,
    pub(super) sum_sent_bidir_reverse: Option<Sum>,
    pub(super) sum_received_bidir_reverse: Option<Sum>,
    pub(super) cpu_utilization_percent: Option<Processors>,
    pub(super) sender_tcp_congestion: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct EndStream {
    pub(super) sender: Option<StreamSender>,
}

#[derive(Deserialize)]
pub(super) struct StreamSender {
    /// The smoothed round trip of TCP, mean of all intervals, in microseconds.
    pub(super) mean_rtt: Option<f64>,
    /// Whether the end that wrote the file sent.
    pub(super) sender: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Sum {
    pub(super) seconds: f64,
    pub(super) bits_per_second: f64,
    pub(super) retransmits: Option<f64>,
    /// These four only of datagrams.
    pub(super) jitter_ms: Option<f64>,
    pub(super) lost_packets: Option<f64>,
    pub(super) packets: Option<f64>,
    pub(super) lost_percent: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct Processors {
    #[serde(default)]
    pub(super) host_total: f64,
    #[serde(default)]
    pub(super) remote_total: f64,
}

impl Iperf3Document {
    pub(super) fn is_client(&self) -> bool {
        self.start.accepted_connection.is_none()
    }

    /// Whether the server sent, and only it.
    pub(super) fn is_reverse(&self) -> bool {
        self.start.test.as_ref().is_some_and(|test| test.reverse != 0.0)
    }
}
