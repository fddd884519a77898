//! The results of tools, and the numbers in them.

use serde::Serialize;

use crate::case::Measure;
use crate::signature;

/// The result of one run of a tool.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum ToolOutcome {
    /// A stream: payload at the receiver, its time by the receiver's clock, CPU time of both
    /// processes.
    Stream { bytes: f64, seconds: f64, cpu_seconds: f64, message_bytes: f64 },
    /// Requests: quantiles of the round-trip time.
    Requests { p50_us: f64, p99_us: f64 },
    /// A stream through a wire or bridge: payload at the receiver.
    Carried { megabits_per_second: f64 },
    /// Full frames at the receiver's interface, of so many offered.
    Frames { per_second: f64, offered_per_second: f64 },
    /// Quantiles of the one-way delay, and how many datagrams they are of.
    Delay { p50_us: f64, p99_us: f64, p999_us: f64, datagrams: u64, lost: u64 },
    /// A signature: the best trial's one-way time of each size.
    Signature { times: Vec<SizeTime> },
}

/// The time of a message of one size.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct SizeTime {
    pub(crate) bytes: u64,
    pub(crate) one_way_seconds: f64,
}

impl ToolOutcome {
    /// Adds a later part of the same signature.
    pub(crate) fn join(&mut self, later: Self) {
        if let (Self::Signature { times }, Self::Signature { times: more }) = (self, later) {
            times.extend(more);
        }
    }

    /// One of its numbers; not-a-number when this outcome does not have it.
    pub(crate) fn measure(&self, measure: Measure) -> f64 {
        if let Self::Signature { times } = self {
            return signature::measure(times, measure);
        }
        match (self.clone(), measure) {
            (Self::Stream { bytes, seconds, .. }, Measure::MegabitsPerSecond) => {
                bytes * 8.0 / seconds / 1e6
            }
            (Self::Stream { bytes, seconds, message_bytes, .. }, Measure::MessagesPerSecond) => {
                bytes / message_bytes / seconds
            }
            (Self::Carried { megabits_per_second }, Measure::MegabitsPerSecond) => {
                megabits_per_second
            }
            (Self::Frames { per_second, .. }, Measure::FramesPerSecond) => per_second,
            (Self::Frames { per_second, .. }, Measure::FrameMegabitsPerSecond) => {
                per_second * FRAME_BITS / 1e6
            }
            (Self::Delay { p999_us, .. }, Measure::DelayP999Microseconds) => p999_us,
            (Self::Stream { bytes, cpu_seconds, .. }, Measure::CpuSecondsPerGigabyte) => {
                cpu_seconds / (bytes / 1e9)
            }
            (Self::Requests { p50_us, .. }, Measure::P50Microseconds)
            | (Self::Delay { p50_us, .. }, Measure::DelayP50Microseconds) => p50_us,
            (Self::Requests { p99_us, .. }, Measure::P99Microseconds)
            | (Self::Delay { p99_us, .. }, Measure::DelayP99Microseconds) => p99_us,
            _ => f64::NAN,
        }
    }
}

/// A full frame with its check sequence.
const FRAME_BITS: f64 = 1518.0 * 8.0;
