//! What is compared, with which tools, and the bounds that must hold.

use clap::ValueEnum;
use serde::Serialize;

/// One comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Case {
    /// One TCP stream, 64 KiB per system call.
    Bulk,
    /// One TCP stream, 100 bytes per system call.
    Small,
    /// Request and response of 100 bytes over TCP.
    TcpRequest,
    /// Request and response of 100 bytes over UDP.
    UdpRequest,
}

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tool {
    Btu,
    Iperf3,
    Nuttcp,
    Sockperf,
}

/// A number that a tool's run gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// Payload at the receiver, 10^6 bits per second.
    MegabitsPerSecond,
    /// Payload at the receiver over the message size, per second.
    MessagesPerSecond,
    /// CPU time of both processes, user and system, per 10^9 bytes of payload.
    CpuSecondsPerGigabyte,
    /// Median round-trip time in microseconds.
    P50Microseconds,
    /// 99th percentile of the round-trip time in microseconds.
    P99Microseconds,
}

/// What the ratio of btu to the other must be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Case {
    /// Every tool of the case; btu is the first.
    pub(crate) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Bulk | Self::Small => &[Tool::Btu, Tool::Iperf3, Tool::Nuttcp],
            Self::TcpRequest | Self::UdpRequest => &[Tool::Btu, Tool::Sockperf],
        }
    }

    /// What is compared; the first decides which of the other tools is the better.
    pub(crate) fn measures(self) -> &'static [(Measure, Option<Bound>)] {
        match self {
            Self::Bulk => &[
                (Measure::MegabitsPerSecond, Some(Bound::AtLeast(1.0))),
                (Measure::CpuSecondsPerGigabyte, Some(Bound::AtMost(1.0))),
            ],
            Self::Small => {
                &[(Measure::MessagesPerSecond, Some(Bound::AtLeast(1.2))), (Measure::CpuSecondsPerGigabyte, None)]
            }
            Self::TcpRequest | Self::UdpRequest => {
                &[(Measure::P50Microseconds, Some(Bound::AtMost(1.0))), (Measure::P99Microseconds, None)]
            }
        }
    }

    /// Bytes per message.
    pub(crate) fn message_bytes(self) -> u64 {
        if self == Self::Bulk { 65_536 } else { 100 }
    }

    /// One line for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Bulk => "bulk TCP, 64 KiB messages",
            Self::Small => "TCP, 100-byte messages",
            Self::TcpRequest => "request/response, TCP, 100 bytes",
            Self::UdpRequest => "request/response, UDP, 100 bytes",
        }
    }
}

impl Measure {
    /// The unit, for people.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::MegabitsPerSecond => "Mb/s",
            Self::MessagesPerSecond => "messages/s",
            Self::CpuSecondsPerGigabyte => "CPU s/GB",
            Self::P50Microseconds => "us p50",
            Self::P99Microseconds => "us p99",
        }
    }

    /// Whether more is better.
    pub(crate) fn more_is_better(self) -> bool {
        matches!(self, Self::MegabitsPerSecond | Self::MessagesPerSecond)
    }
}

impl Tool {
    /// The name people know.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Btu => "btu",
            Self::Iperf3 => "iperf3",
            Self::Nuttcp => "nuttcp",
            Self::Sockperf => "sockperf",
        }
    }
}
