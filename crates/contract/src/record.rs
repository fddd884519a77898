//! The result of an order and of a cell: all stored data, with units in the names.

use btu_stats::Histogram;
use btu_units::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};

use crate::app::{Displayed, Drawn};
use crate::copy::{FileCopied, FileEnd, Held};
use crate::lan::{FilesServed, StationDone, TaskDone};
use crate::network::HostName;

mod apart;
mod moment;
mod slowed;

pub use apart::Apart;
pub use moment::Moment;
pub use slowed::Slowed;

pub use crate::surroundings::{
    CaptureAccount, ClockSteps, CpuTime, ElementAccount, MachineCpu, ProcessorReadings, SegmentUse,
    Shares, TcpInfo, WireAccount,
};

/// A worker's account of its activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The time of its `go`, by this host's monotonic clock.
    #[serde(rename = "started_ns")]
    pub started: Time,
    /// The time at which it had finished, by that clock.
    #[serde(rename = "finished_ns")]
    pub finished: Time,
    /// CPU time of the worker between the two.
    pub cpu: CpuTime,
    /// The outcome of the activity.
    pub outcome: Outcome,
}

impl Report {
    /// From start to finish.
    pub fn duration(&self) -> Span {
        self.finished.since(self.started)
    }
}

/// The outcome of a worker, by activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// The activity did nothing, as ordered.
    Null,
    /// A TCP stream went out.
    Sent(Sent),
    /// A TCP stream came in.
    Received(Received),
    /// Requests were sent, with or without answers.
    Requested(Requested),
    /// Requests were answered.
    Responded {
        /// The number of answers that were sent.
        answers: u64,
    },
    /// The account of a sender of datagrams.
    DatagramsSent(DatagramsSent),
    /// The account of a receiver of datagrams.
    DatagramsReceived(DatagramsReceived),
    /// A host activity did its work.
    Host(Host),
    /// The account of a server.
    Served {
        /// Payload bytes that left it.
        bytes: Bytes,
    },
    /// A file server served.
    FilesServed(FilesServed),
    /// A foreground task was done.
    TaskDone(TaskDone),
    /// A background station was at work.
    StationDone(StationDone),
    /// An application drew pictures on a display.
    Drawn(Drawn),
    /// A display drew the pictures of an application.
    Displayed(Displayed),
    /// An application drew pictures on a display in its own process.
    DrawnInside {
        /// The account of the application.
        drawn: Drawn,
        /// The account of the display.
        displayed: Displayed,
    },
    /// A test of x11perf was done.
    X11perf {
        /// Its units a second.
        per_second: f64,
    },
    /// An X server was there for it.
    X11Served,
    /// The octets of a connection were passed on.
    Relayed(Relayed),
    /// A file went to another host.
    FileSent(FileEnd),
    /// A file came from another host.
    FileReceived(FileEnd),
    /// A file was copied on this host.
    FileCopied(FileCopied),
    /// An end of a pipe reached the end of its plan; its points were sent before.
    Piped {
        /// Sizes that were left out: they take too long, or the transport does not move so much at
        /// once.
        left_out: u64,
        /// Notes for the reader of the result about the transport.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
}

/// The account of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// Octets from the caller to the host that was called.
    #[serde(rename = "there_bytes")]
    pub there: Bytes,
    /// Octets from the host that was called back to the caller.
    #[serde(rename = "back_bytes")]
    pub back: Bytes,
}

/// The sending half of a TCP flow's accounts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Accepted by the kernel.
    pub bytes: Bytes,
    /// System calls that moved data.
    pub messages: u64,
    /// The connection's state when the receiver had closed.
    pub tcp: TcpInfo,
    /// The connection at moments until the program had given all, in their order, at most 160; none where progress was not
    /// asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
}

/// The receiving half of a TCP flow's accounts; its clock makes the rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Handed to the application.
    pub bytes: Bytes,
    /// System calls that moved data.
    pub messages: u64,
    /// From the start to the first byte.
    #[serde(rename = "first_byte_ns")]
    pub first_byte: Span,
    /// From the start to the last byte: the flow's duration.
    #[serde(rename = "last_byte_ns")]
    pub last_byte: Span,
    /// Samples of the payload that were compared with the sent data.
    pub samples_checked: u64,
    /// The number of compared samples that differed.
    pub samples_wrong: u64,
    /// Progress: (nanoseconds since the start, bytes so far), ascending, at most 1000.
    pub progress: Vec<(u64, u64)>,
    /// The connection's state at the end.
    pub tcp: TcpInfo,
}

/// Bytes that had arrived so many nanoseconds after the start, by the progress of a receiver; linear between two points.
pub fn bytes_by(progress: &[(u64, u64)], nanoseconds: f64) -> f64 {
    let point = |place: usize| (progress[place].0 as f64, progress[place].1 as f64);
    let after = progress.partition_point(|(time, _)| (*time as f64) <= nanoseconds);
    let before = after.checked_sub(1).map_or((0.0, 0.0), point);
    if after == progress.len() {
        return before.1;
    }
    let next = point(after);
    before.1 + (next.1 - before.1) * (nanoseconds - before.0) / (next.0 - before.0)
}

/// Request and response: the full distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// The number of requests sent.
    pub requests: u64,
    /// Answers that came in time and were right.
    pub answers: u64,
    /// Requests given up after the timeout.
    pub lost: u64,
    /// How many of them are in each of the equal parts of all requests, in the order of sending
    /// ([`btu_stats::batches`]): whether losses come in bursts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_batches: Vec<u64>,
    /// Answers that came after their request had been given up.
    pub late: u64,
    /// Answers with wrong content.
    pub wrong: u64,
    /// Round-trip times in ns of the answers in time: of an open loop those of requests that left
    /// after its lead. In a closed loop a stall delays later requests, so the tail is that of one
    /// waiting user, not of an open stream of users (coordinated omission).
    #[serde(rename = "round_trip_ns")]
    pub round_trip: Histogram,
}

impl Requested {
    /// How many requests the distribution holds.
    pub fn samples(&self) -> u64 {
        self.round_trip.count().min(self.answers)
    }
}

/// The sending half of a UDP stream's accounts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramsSent {
    /// Datagrams accepted by the kernel.
    pub datagrams: u64,
    /// The payload of these datagrams, in bytes.
    pub bytes: Bytes,
    /// Datagrams the kernel refused (`ENOBUFS`); they are not part of `datagrams`.
    pub refused: u64,
    /// The requested rate.
    #[serde(rename = "offered_bits_per_second")]
    pub offered: BitRate,
    /// The time from the start of the schedule to its end, or until the last datagram had left if
    /// that was later, by the sender's clock. Zero in records that are older than this field.
    #[serde(rename = "span_ns", default)]
    pub span: Span,
    /// The lateness of each datagram against its schedule, in ns.
    #[serde(rename = "lateness_ns")]
    pub lateness: Histogram,
    /// The result of the controlled level; `offered` is the mean then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

impl DatagramsSent {
    /// The real sending rate, by the sender's clock: below `offered` if the sender was late at the
    /// end or its kernel refused datagrams. `None` if the record has no sending time.
    pub fn bits_per_second(&self) -> Option<f64> {
        (self.span > Span::ZERO).then(|| self.bytes.bits() / self.span.seconds())
    }
}

/// The receiving half of a UDP stream's accounts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramsReceived {
    /// Different datagrams, each counted once.
    pub datagrams: u64,
    /// How many did not come of each of the equal parts of all that were sent, in the order of sending
    /// ([`btu_stats::batches`]): whether losses come in bursts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_batches: Vec<u64>,
    /// The payload of these datagrams, in bytes.
    pub bytes: Bytes,
    /// Further copies of a datagram already counted.
    pub duplicates: u64,
    /// Datagrams that came after one with a higher number (RFC 4737, type-P-reordered).
    pub reordered: u64,
    /// Datagrams with wrong content; not part of `datagrams`.
    pub wrong: u64,
    /// Datagrams the kernel dropped because this socket's buffer was full (`SO_MEMINFO`).
    pub buffer_drops: u64,
    /// From the start to the first datagram, by this host's clock. Zero in records that are older
    /// than this field.
    #[serde(rename = "first_ns", default)]
    pub first: Span,
    /// From the first to the last datagram, by this host's clock.
    #[serde(rename = "span_ns")]
    pub span: Span,
    /// Whether the sender's farewell arrived (else the stream ended by silence).
    pub farewell: bool,
    /// Mean difference between the spacing of two consecutive arrivals and their spacing in the
    /// sender's schedule (|D| of RFC 3550, section 6.4.1); `None` if the receiver did not know the
    /// schedule.
    #[serde(rename = "jitter_ns", default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// Progress: (nanoseconds since the first datagram, bytes so far), ascending, at most 1000.
    pub progress: Vec<(u64, u64)>,
}

/// A host activity's account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Work done: rounds for cpu, bytes for disk and transfer.
    pub work: u64,
    /// The method, for the record: `O_DIRECT, fdatasync`, `ext4`.
    pub method: String,
}

/// One activity of a cell, its station, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedReport {
    /// The station on which the activity ran.
    pub station: HostName,
    /// The activity's kind, as in [`crate::activity::Activity`].
    pub activity: String,
    /// The account, or why there is none.
    pub result: Result<Report, Failure>,
}

impl PlacedReport {
    /// Why there is no account, in a sentence.
    pub fn failure(&self) -> Option<String> {
        let place = format!("{} on {}", self.activity, self.station);
        match self.result.as_ref().err()? {
            Failure::Deadline { deadline_ns } => Some(format!(
                "{place} was killed: not finished after {}",
                Span::from_nanoseconds(*deadline_ns)
            )),
            Failure::Failed { message } => Some(format!("{place} failed: {message}")),
            Failure::Died { status } => Some(format!("{place} died: {status}")),
            Failure::NotStarted => {
                Some(format!("{place} was not started, as another activity failed"))
            }
        }
    }
}

/// Why an activity has no account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Failure {
    /// It did not finish in time and was killed.
    Deadline {
        /// The deadline after `go`.
        deadline_ns: u64,
    },
    /// The worker failed and gave the reason.
    Failed {
        /// The message of the worker.
        message: String,
    },
    /// The worker ended without a message.
    Died {
        /// Exit status or signal.
        status: String,
    },
    /// Another activity of the cell could not be prepared.
    NotStarted,
}

/// CPU time of a station's processes over a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationCpu {
    /// The station of the processes.
    pub station: HostName,
    /// The CPU time of the station's workers.
    pub workers: CpuTime,
    /// The CPU time of the station's agent.
    pub agent: CpuTime,
}

/// The offsets of a host's clocks from the controller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// The host's `CLOCK_MONOTONIC` less the controller's, at one moment; true within half of the
    /// round trip.
    pub offset_ns: i64,
    /// The round trip of the probe.
    pub round_trip_ns: u64,
    /// The controller's `CLOCK_MONOTONIC` at that moment.
    pub at_ns: u64,
    /// The host's `CLOCK_REALTIME` less the controller's, at the same moment.
    pub wall_offset_ns: i64,
}
