//! The samples that the ends of a stream send during a transfer.

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::surroundings::TcpInfo;

/// The progress of a stream, reported by one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The time since `go`, by the monotonic clock of that end.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// Payload so far: at a receiver the bytes that the application got, at a sender those that the
    /// peer's kernel has acknowledged. Zero for requests.
    pub bytes: Bytes,
    /// Datagrams that are missing among those up to the highest number that arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// The kernel's data about the connection (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// Requests whose answers arrived since the last sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Answered>,
}

/// Times of requests whose answers arrived in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Their number, at least one.
    pub count: u64,
    /// The median time.
    #[serde(rename = "median_ns")]
    pub median: Span,
    /// The longest time.
    #[serde(rename = "longest_ns")]
    pub longest: Span,
}
