//! The results that both ends exchange: what each says of each stream.

use btu_contract::json;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Ending, code};
use crate::protocol::Protocol;
use crate::streams::{CpuTime, Stream};

/// What the peer says of a stream. Of its own numbers only: no harm comes from wrong ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PeerStreamResults {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    pub(crate) jitter_seconds: f64,
    /// Segments sent again; `None` if the peer does not know.
    pub(crate) resent: Option<u64>,
    pub(crate) seconds: f64,
}

/// What the peer says of its streams, by their numbers, and of itself.
#[derive(Debug, Default)]
pub(crate) struct PeerResults {
    streams: HashMap<u64, PeerStreamResults>,
    /// A server says it of TCP.
    pub(crate) congestion: Option<String>,
    /// Processor time of all time, in percent of one processor.
    pub(crate) processor_percent: Option<f64>,
}

/// The longest name of a congestion control in Linux.
const MOST_LETTERS: usize = 15;
/// Segments sent again: what is below or above what Linux can count is not known (-1, `u64::MAX`).
const RESENT: RangeInclusive<f64> = 0.0..=4_294_967_295.0;
/// More streams than a test can have are ignored.
const MOST_STREAMS: usize = 256;

impl PeerResults {
    /// Reads a peer's JSON.
    pub(crate) fn read(text: &[u8]) -> Result<Self, Ending> {
        let value: Value = json::from_octets(text).map_err(|error| {
            Ending::refused(code::RESULTS, format!("its results are no JSON: {error}"))
        })?;
        let streams = value.get("streams").and_then(Value::as_array);
        let streams =
            streams.ok_or_else(|| Ending::refused(code::RESULTS, "its results have no streams"))?;
        let one = |stream: &Value| {
            let number = |key: &str| stream.get(key).and_then(Value::as_f64);
            // A cast of what is out of range ends at the range's end.
            let whole = |key: &str| {
                stream
                    .get(key)
                    .and_then(Value::as_u64)
                    .or_else(|| number(key).map(|one| one as u64))
            };
            let seconds = number("end_time").unwrap_or(0.0) - number("start_time").unwrap_or(0.0);
            let said = PeerStreamResults {
                bytes: whole("bytes").unwrap_or(0),
                packets: whole("packets").unwrap_or(0),
                lost: whole("errors").unwrap_or(0),
                jitter_seconds: number("jitter").unwrap_or(0.0).max(0.0),
                resent: number("retransmits")
                    .filter(|one| RESENT.contains(one))
                    .map(|one| one as u64),
                seconds: if seconds.is_finite() { seconds.max(0.0) } else { 0.0 },
            };
            Some((whole("id")?, said))
        };
        let congestion = value.get("congestion_used").and_then(Value::as_str);
        let percent = value.get("cpu_util_total").and_then(Value::as_f64);
        Ok(Self {
            streams: streams.iter().take(MOST_STREAMS).filter_map(one).collect(),
            congestion: congestion.map(|name| name.chars().take(MOST_LETTERS).collect()),
            processor_percent: percent.filter(|percent| *percent >= 0.0),
        })
    }

    /// What it says of stream `id`.
    pub(crate) fn of(&self, id: u64) -> PeerStreamResults {
        self.streams.get(&id).copied().unwrap_or_default()
    }
}

/// What this end says.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    cpu_util_total: f64,
    cpu_util_user: f64,
    cpu_util_system: f64,
    /// -1 from a receiver.
    sender_has_retransmits: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_used: Option<String>,
    streams: Vec<OwnStream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_output_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_output_json: Option<Value>,
}

#[derive(Debug, Serialize)]
struct OwnStream {
    id: u64,
    bytes: u64,
    retransmits: i64,
    /// In seconds.
    jitter: f64,
    errors: u64,
    omitted_errors: u64,
    packets: u64,
    omitted_packets: u64,
    start_time: f64,
    end_time: f64,
}

impl Results {
    /// The numbers of `streams` after `counted`, the time without the omitted seconds.
    pub(crate) fn new(
        streams: &[Stream],
        protocol: Protocol,
        congestion: Option<String>,
        counted: Duration,
        whole: Duration,
        cpu: CpuTime,
    ) -> Self {
        let percent = |part: Duration| 100.0 * part.as_secs_f64() / whole.as_secs_f64().max(1e-9);
        let sends = streams.iter().any(|stream| stream.sends);
        Self {
            cpu_util_total: percent(cpu.user + cpu.system),
            cpu_util_user: percent(cpu.user),
            cpu_util_system: percent(cpu.system),
            sender_has_retransmits: if sends { i64::from(protocol == Protocol::Tcp) } else { -1 },
            congestion_used: congestion,
            streams: streams.iter().map(|stream| own_stream(stream, protocol, counted)).collect(),
            server_output_text: None,
            server_output_json: None,
        }
    }
}

impl Results {
    /// Processor time of this end's streams, in percent of one processor.
    pub(crate) fn processor_percent(&self) -> f64 {
        self.cpu_util_total
    }
}

fn own_stream(stream: &Stream, protocol: Protocol, counted: Duration) -> OwnStream {
    let moved = stream.moved();
    let (count, omitted) = (moved.count, moved.omitted);
    let is_tcp_sender = stream.sends && protocol == Protocol::Tcp;
    // A receiver's `packets` are those that were sent.
    let (packets, errors) = if stream.sends {
        (count.packets, 0)
    } else {
        (count.highest, count.highest.saturating_sub(count.packets))
    };
    let (omitted_packets, omitted_errors) = if stream.sends {
        (omitted.packets, 0)
    } else {
        (omitted.highest, omitted.highest.saturating_sub(omitted.packets))
    };
    OwnStream {
        id: stream.id,
        bytes: count.bytes,
        retransmits: if is_tcp_sender { moved.resent.cast_signed() } else { -1 },
        jitter: count.jitter_seconds,
        errors,
        omitted_errors,
        packets,
        omitted_packets,
        start_time: 0.0,
        end_time: counted.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn streams_are_found_by_their_numbers() {
        let text = br#"{"streams":[{"id":1,"bytes":5,"retransmits":-1},
            {"id":3,"bytes":1e3,"retransmits":2,"errors":-4,"jitter":0.001,"start_time":0,"end_time":2.5}]}"#;
        let results = PeerResults::read(text).expect("results");
        assert_eq!((results.of(1).bytes, results.of(1).resent), (5, None));
        let third = results.of(3);
        assert_eq!((third.bytes, third.resent, third.lost, third.seconds), (1000, Some(2), 0, 2.5));
        assert_eq!(results.of(2), PeerStreamResults::default());
        let wrapped = br#"{"streams":[{"id":1,"retransmits":18446744073709551615},{"id":3,"retransmits":1e300}]}"#;
        let results = PeerResults::read(wrapped).expect("results");
        assert_eq!([1, 3].map(|id| results.of(id).resent), [None, None]);
        assert!(PeerResults::read(b"{}").is_err());
    }

    proptest! {
        #[test]
        fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..500)) {
            let _ = PeerResults::read(&octets);
        }
    }
}
