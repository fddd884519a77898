//! The parts of iperf3's document that are used. Everything may be missing: versions differ, and a
//! test that failed ends early.

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};

use crate::imports::parse::{BoundedList, Table, table};

#[derive(Default)]
pub(super) struct Iperf3Document {
    pub(super) start: Start,
    pub(super) intervals: BoundedList<Sums<IgnoredAny>>,
    pub(super) end: Sums<EndStream>,
    /// The user's `--title`.
    pub(super) title: Option<String>,
    /// The first one that ended the test.
    pub(super) error: Option<String>,
}

impl Table for Iperf3Document {
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, from: &mut A) -> Result<(), A::Error> {
        match key {
            "start" => self.start = from.next_value()?,
            "intervals" => self.intervals = from.next_value()?,
            "end" => self.end = from.next_value()?,
            "title" => self.title = from.next_value()?,
            // Before 3.2 a server writes one for each datagram that comes late.
            "error" => {
                let said: Option<String> = from.next_value()?;
                let said = said.filter(|said| !said.starts_with("OUT OF ORDER"));
                self.error = self.error.take().or(said);
            }
            _ => drop(from.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Iperf3Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        table(from)
    }
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

/// The parts of an interval or of the end: sums of both ways, and of the end the streams and what
/// else it says.
#[derive(Default)]
pub(super) struct Sums<S> {
    pub(super) streams: BoundedList<S>,
    /// Of datagrams before 3.11, the sender's rate with the receiver's losses.
    pub(super) sum: [Option<Sum>; 2],
    pub(super) sum_sent: [Option<Sum>; 2],
    pub(super) sum_received: [Option<Sum>; 2],
    pub(super) cpu_utilization_percent: Option<Processors>,
    pub(super) sender_tcp_congestion: Option<String>,
}

impl<S: DeserializeOwned + Default> Table for Sums<S> {
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, from: &mut A) -> Result<(), A::Error> {
        let reverse = key.strip_suffix("_bidir_reverse");
        let ways = match reverse.unwrap_or(key) {
            "sum" => &mut self.sum,
            "sum_sent" => &mut self.sum_sent,
            "sum_received" => &mut self.sum_received,
            "streams" => return from.next_value().map(|value| self.streams = value),
            "cpu_utilization_percent" => {
                return from.next_value().map(|value| self.cpu_utilization_percent = value);
            }
            "sender_tcp_congestion" => {
                return from.next_value().map(|value| self.sender_tcp_congestion = value);
            }
            _ => return from.next_value::<IgnoredAny>().map(drop),
        };
        // Versions 3.7 to 3.11 write both ways with the same name, first the way up.
        let place = usize::from(reverse.is_some() || ways[0].is_some());
        ways[place] = from.next_value()?;
        Ok(())
    }
}

impl<'de, S: DeserializeOwned + Default> Deserialize<'de> for Sums<S> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        table(from)
    }
}

#[derive(Default, Deserialize)]
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
    /// Seconds since the start; of an interval.
    #[serde(default)]
    pub(super) end: f64,
    #[serde(default)]
    pub(super) omitted: bool,
    #[serde(default)]
    pub(super) seconds: f64,
    /// `null` of a test that moved nothing.
    pub(super) bits_per_second: Option<f64>,
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
