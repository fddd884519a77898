//! The cases of a comparison, their tools, and the bounds that must hold.

use clap::ValueEnum;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::Serialize;

use crate::signature;

/// A comparison of btu with its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Case {
    /// One TCP stream, 64 KiB per system call.
    Bulk,
    /// Like `Bulk`, by btu with looks at the connection for its causes, and without.
    Causes,
    /// One TCP stream, 100 bytes per system call.
    Small,
    /// Request and response of 100 bytes over TCP.
    TcpRequest,
    /// Request and response of 100 bytes over UDP.
    UdpRequest,
    /// Everything about the wire: all of the following.
    Wire,
    /// Full Ethernet frames per second, a flood, frame by frame.
    WireFrames,
    /// One TCP stream, offloads off, frame by frame.
    WireTcp,
    /// One TCP stream, offloads on, in superframes.
    WireSuperframes,
    /// One-way delay of datagrams with nothing else under way.
    WireIdle,
    /// One-way delay under a load of 10 Mb/s of full frames.
    #[value(name = "wire-10")]
    #[serde(rename = "wire-10")]
    Wire10,
    /// One-way delay under a load of 100 Mb/s of full frames.
    #[value(name = "wire-100")]
    #[serde(rename = "wire-100")]
    Wire100,
    /// One-way delay under a load of 1000 Mb/s of full frames.
    #[value(name = "wire-1000")]
    #[serde(rename = "wire-1000")]
    Wire1000,
    /// Everything about `btu pipe`: all of the following.
    Pipe,
    /// Ping-pong of 16 bytes on the veth pair.
    PipeLatency,
    /// The signature from 1 byte to 8 MiB on the veth pair.
    PipeVeth,
    /// The signature from 64 bytes to 64 KiB on an emulated 10 Mb/s Ethernet.
    PipeEthernet,
    /// Like `PipeEthernet`, on an emulated ATM switch of 155.52 Mb/s.
    PipeAtm,
    /// Like `PipeAtm`, on an emulated FDDI ring.
    PipeFddi,
}

/// A program that takes part in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tool {
    Btu,
    /// btu's workers that do not look at their connection meanwhile.
    Unwatched,
    Iperf3,
    Nuttcp,
    Sockperf,
    /// `NPtcp`, which is `NetPIPE` over TCP.
    Nptcp,
    /// btu's wire between two stations.
    Wire,
    /// The kernel's bridge between the same two.
    Bridge,
}

/// A number from a tool's run.
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
    /// Full frames at the receiver's interface, per second.
    FramesPerSecond,
    /// The rate of these frames' bits, check sequence included, in 10^6 per second.
    FrameMegabitsPerSecond,
    /// Median one-way delay in microseconds.
    DelayP50Microseconds,
    /// 99th percentile of the one-way delay in microseconds.
    DelayP99Microseconds,
    /// 99.9th percentile of the one-way delay in microseconds.
    DelayP999Microseconds,
    /// Half the round trip of the smallest message, the best trial's mean, in microseconds.
    OneWayMicroseconds,
    /// Throughput of messages of so many bytes, the best trial's, 10^6 bits per second.
    MegabitsAt(u64),
    /// The geometric mean of the throughputs of all sizes.
    MegabitsMean,
}

/// A bound on btu's number, or on its ratio to the other tool's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
    /// The ratio must not be below this value.
    AtLeast(f64),
    /// The ratio must not be above this value.
    AtMost(f64),
    /// The number itself is at least this.
    Reaches(f64),
    /// The number exceeds the other's by at most this amount.
    Adds(f64),
    /// The ratio differs from 1 by no more than its spread between runs.
    Alike,
}

impl Case {
    /// The cases of a list, each once: [`Self::Wire`] means all cases of the wire, [`Self::Pipe`]
    /// all cases of signatures.
    pub(crate) fn expanded(cases: &[Self]) -> Vec<Self> {
        let mut expanded = Vec::new();
        for &case in cases {
            let meant = match case {
                Self::Wire => &Self::WIRE[..],
                Self::Pipe => &Self::PIPE,
                _ => &[case],
            };
            for case in meant {
                if !expanded.contains(case) {
                    expanded.push(*case);
                }
            }
        }
        expanded
    }

    const WIRE: [Self; 7] = [
        Self::WireFrames,
        Self::WireTcp,
        Self::WireSuperframes,
        Self::WireIdle,
        Self::Wire10,
        Self::Wire100,
        Self::Wire1000,
    ];

    const PIPE: [Self; 5] =
        [Self::PipeLatency, Self::PipeVeth, Self::PipeEthernet, Self::PipeAtm, Self::PipeFddi];

    /// Every tool of the case; btu is the first.
    pub(crate) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Bulk | Self::Small => &[Tool::Btu, Tool::Iperf3, Tool::Nuttcp],
            Self::Causes => &[Tool::Btu, Tool::Unwatched],
            Self::TcpRequest | Self::UdpRequest => &[Tool::Btu, Tool::Sockperf],
            Self::PipeLatency => &[Tool::Btu, Tool::Nptcp, Tool::Sockperf],
            _ if signature::is_one(self) => &[Tool::Btu, Tool::Nptcp],
            _ => &[Tool::Wire, Tool::Bridge],
        }
    }

    /// The measures of the case; the first decides which of the other tools is the better.
    pub(crate) fn measures(self) -> Vec<(Measure, Option<Bound>)> {
        match self {
            _ if signature::is_one(self) => signature::measures(self),
            _ => self.plain_measures().to_vec(),
        }
    }

    fn plain_measures(self) -> &'static [(Measure, Option<Bound>)] {
        match self {
            Self::Bulk => &[
                (Measure::MegabitsPerSecond, Some(Bound::AtLeast(1.0))),
                (Measure::CpuSecondsPerGigabyte, Some(Bound::AtMost(1.0))),
            ],
            Self::Causes => &[
                (Measure::MegabitsPerSecond, Some(Bound::AtLeast(0.99))),
                (Measure::CpuSecondsPerGigabyte, Some(Bound::AtMost(1.01))),
            ],
            Self::Small => &[
                (Measure::MessagesPerSecond, Some(Bound::AtLeast(1.0))),
                (Measure::CpuSecondsPerGigabyte, None),
            ],
            Self::TcpRequest | Self::UdpRequest => &[
                (Measure::P50Microseconds, Some(Bound::AtMost(1.0))),
                (Measure::P99Microseconds, None),
            ],
            Self::WireFrames => &[
                (Measure::FrameMegabitsPerSecond, Some(Bound::Reaches(2000.0))),
                (Measure::FramesPerSecond, None),
            ],
            Self::WireTcp => &[(Measure::MegabitsPerSecond, None)],
            Self::WireSuperframes => &[(Measure::MegabitsPerSecond, Some(Bound::Reaches(8000.0)))],
            Self::Wire100 => &[
                (Measure::DelayP50Microseconds, None),
                (Measure::DelayP99Microseconds, Some(Bound::Adds(200.0))),
                (Measure::DelayP999Microseconds, None),
            ],
            _ => &[
                (Measure::DelayP50Microseconds, None),
                (Measure::DelayP99Microseconds, None),
                (Measure::DelayP999Microseconds, None),
            ],
        }
    }

    /// Whether bytes go one way, in btu's own traffic; otherwise requests are answered.
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Self::Bulk | Self::Causes | Self::Small)
    }

    /// The load of full frames while the delay of datagrams is measured, in 10^6 frame bits per
    /// second.
    pub(crate) fn load_megabits(self) -> u64 {
        match self {
            Self::Wire10 => 10,
            Self::Wire100 => 100,
            Self::Wire1000 => 1000,
            _ => 0,
        }
    }

    /// The size of a message in bytes.
    pub(crate) fn message_bytes(self) -> u64 {
        if matches!(self, Self::Bulk | Self::Causes) { 65_536 } else { 100 }
    }

    /// A description in one line.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Bulk => "bulk TCP, 64 KiB messages",
            Self::Causes => "bulk TCP with looks at the connection, and without",
            Self::Small => "TCP, 100-byte messages",
            Self::TcpRequest => "request/response, TCP, 100 bytes",
            Self::UdpRequest => "request/response, UDP, 100 bytes",
            Self::Wire => "the link emulator compared with a kernel bridge",
            Self::WireFrames => "flood of 1514-byte frames, frame by frame",
            Self::WireTcp => "one TCP stream, frame by frame",
            Self::WireSuperframes => "one TCP stream, superframes",
            Self::WireIdle => "one-way delay, idle",
            Self::Wire10 => "one-way delay with 10 Mb/s",
            Self::Wire100 => "one-way delay with 100 Mb/s",
            Self::Wire1000 => "one-way delay with 1000 Mb/s",
            Self::Pipe => "signatures",
            Self::PipeLatency => "ping-pong of 16 bytes, TCP",
            Self::PipeVeth => "signature, TCP, veth pair",
            Self::PipeEthernet => "signature, TCP, emulated 10 Mb/s Ethernet",
            Self::PipeAtm => "signature, TCP, emulated 155.52 Mb/s ATM",
            Self::PipeFddi => "signature, TCP, emulated FDDI",
        }
    }
}

impl Measure {
    /// The unit, as the table shows it.
    pub(crate) fn unit(self) -> String {
        let unit = match self {
            Self::MessagesPerSecond => "messages/s",
            Self::CpuSecondsPerGigabyte => "CPU s/GB",
            Self::P50Microseconds | Self::DelayP50Microseconds => "us p50",
            Self::P99Microseconds | Self::DelayP99Microseconds => "us p99",
            Self::FramesPerSecond => "frames/s",
            Self::MegabitsPerSecond | Self::FrameMegabitsPerSecond => "Mb/s",
            Self::DelayP999Microseconds => "us p99.9",
            Self::OneWayMicroseconds => "us one way",
            Self::MegabitsAt(bytes) => return format!("Mb/s {bytes} B"),
            Self::MegabitsMean => "Mb/s mean",
        };
        unit.to_owned()
    }

    /// Whether more is better.
    pub(crate) fn more_is_better(self) -> bool {
        matches!(
            self,
            Self::MegabitsPerSecond
                | Self::MessagesPerSecond
                | Self::FramesPerSecond
                | Self::FrameMegabitsPerSecond
                | Self::MegabitsAt(_)
                | Self::MegabitsMean
        )
    }

    /// Whether the difference of two tools is more useful than their ratio.
    pub(crate) fn is_added(self) -> bool {
        matches!(
            self,
            Self::DelayP50Microseconds | Self::DelayP99Microseconds | Self::DelayP999Microseconds
        )
    }
}

impl Tool {
    /// The usual name of the tool.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Btu => "btu",
            Self::Unwatched => "without",
            Self::Iperf3 => "iperf3",
            Self::Nuttcp => "nuttcp",
            Self::Sockperf => "sockperf",
            Self::Nptcp => "NPtcp",
            Self::Wire => "wire",
            Self::Bridge => "bridge",
        }
    }
}

/// One measurement of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolTurn {
    pub(crate) case: Case,
    pub(crate) tool: Tool,
    /// For signatures, the smallest and the largest message.
    pub(crate) range: (u64, u64),
}

/// The measurements of one block, in order; the tools of a case, and of each part of a signature,
/// stay together, so that slow changes of the machine affect all of them.
pub(crate) fn block(cases: &[Case], random: &mut Pcg64) -> Vec<ToolTurn> {
    let mut cases = cases.to_vec();
    cases.shuffle(random);
    let mut order = Vec::new();
    for case in cases {
        for range in signature::parts(case) {
            let mut tools = case.tools().to_vec();
            tools.shuffle(random);
            order.extend(tools.into_iter().map(|tool| ToolTurn { case, tool, range }));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn the_wire_stands_for_all_of_its_cases_once() {
        let expanded = Case::expanded(&[Case::Wire100, Case::Wire, Case::Bulk]);
        assert_eq!(expanded.len(), 8);
        assert_eq!((expanded[0], expanded[7]), (Case::Wire100, Case::Bulk));
        assert!(expanded[..7].iter().all(|case| case.tools() == [Tool::Wire, Tool::Bridge]));
        let expanded = Case::expanded(&[Case::Pipe]);
        assert!(
            expanded.len() == 5
                && expanded.iter().all(|case| case.tools()[..2] == [Tool::Btu, Tool::Nptcp])
        );
    }

    fn blocks(cases: &[Case], seed: u64) -> Vec<Vec<ToolTurn>> {
        let mut random = Pcg64::seed_from_u64(seed);
        (0..5).map(|_| block(cases, &mut random)).collect()
    }

    #[test]
    fn a_block_has_everything_once_and_its_order_comes_from_the_seed() {
        let cases = [Case::Bulk, Case::Small, Case::TcpRequest, Case::UdpRequest];
        assert_eq!(blocks(&cases, 3), blocks(&cases, 3));
        assert_ne!(blocks(&cases, 3), blocks(&cases, 4));
        for block in blocks(&cases, 3) {
            assert_eq!(block.len(), 10);
            let has = |case, tool| block.iter().any(|turn| (turn.case, turn.tool) == (case, tool));
            assert!(cases.iter().all(|&case| case.tools().iter().all(|&tool| has(case, tool))));
        }
    }

    #[test]
    fn on_the_veth_pair_tools_take_turns_size_by_size() {
        for block in blocks(&[Case::PipeVeth, Case::PipeAtm], 5) {
            let (veth, atm): (Vec<ToolTurn>, Vec<ToolTurn>) =
                block.into_iter().partition(|turn| turn.case == Case::PipeVeth);
            assert_eq!((veth.len(), atm.len()), (2 * 46, 2));
            for pair in veth.chunks(2) {
                assert!(pair[0].range == pair[1].range && pair[0].range.0 == pair[0].range.1);
                assert_ne!(pair[0].tool, pair[1].tool);
            }
            assert_eq!(atm[0].range, (64, 64 << 10));
        }
    }
}
