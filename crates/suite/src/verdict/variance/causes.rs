//! Finds the quantities of cells that correlate with the spread of repetitions.
//!
//! A share is the part of the variance of repetitions that a quantity explains. It is no proof of a
//! cause: both may follow from a third. But a quantity without correlation is no cause.

use std::collections::BTreeMap;

use btu_stats::{Association, Interval};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::super::LEVEL;
use super::super::cells::Cells;
use super::super::cpu::Shares;
use crate::cell::{Load, Row};
use crate::record::{CellRecord, Outcome, Received, Sent, TcpInfo};

/// A possible cause of differences between repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VarianceCause {
    /// The hypervisor gave processors to others.
    Steal,
    /// The hypervisor moved the processors of the two sides apart.
    CoreToCore,
    /// Other threads worked on the same cores (simultaneous multithreading).
    Arithmetic,
    /// Other programs used processors.
    OtherPrograms,
    /// Processors were idle: they may have slept, and take time to wake up.
    IdleProcessors,
    /// Packets were received in software interrupts instead of by the process that waited for them.
    SoftwareInterrupts,
    /// The number of bytes in one read.
    ReceiveBatching,
    /// Round-trip time: queues, and waiting for a processor.
    RoundTrip,
    /// The window that congestion control allowed.
    CongestionWindow,
    /// The retransmitted bytes.
    Retransmissions,
    /// Nothing arrived for a while: the sender waited for a timer (200 ms on Linux, when the last
    /// segment on its way is lost), or an end for a processor.
    LongestPause,
    /// The sender waited for the receiver's window.
    ReceiverWindow,
    /// The share of its time in which the load ran, too.
    Overlap,
    /// The speed of the load's work: memory, page cache, disk.
    HostActivity,
    /// Workers did not begin together.
    StartSkew,
    /// Frames left the emulator late.
    EmulatorLate,
    /// The cell before wrote files, which the kernel may still have been writing to the disk.
    CellBefore,
    /// The progress of the run: a drift of the machine.
    Time,
}

impl VarianceCause {
    /// All values of the type.
    pub const ALL: [Self; 18] = [
        Self::Steal,
        Self::CoreToCore,
        Self::Arithmetic,
        Self::OtherPrograms,
        Self::IdleProcessors,
        Self::SoftwareInterrupts,
        Self::ReceiveBatching,
        Self::RoundTrip,
        Self::CongestionWindow,
        Self::Retransmissions,
        Self::LongestPause,
        Self::ReceiverWindow,
        Self::Overlap,
        Self::HostActivity,
        Self::StartSkew,
        Self::EmulatorLate,
        Self::CellBefore,
        Self::Time,
    ];

    /// The quantity, in a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steal => "time taken by the hypervisor",
            Self::CoreToCore => "latency from processor to processor",
            Self::Arithmetic => "time of plain arithmetic",
            Self::OtherPrograms => "processor time of other programs",
            Self::IdleProcessors => "idle processors",
            Self::SoftwareInterrupts => "time in software interrupts",
            Self::ReceiveBatching => "bytes of one read",
            Self::RoundTrip => "round-trip time",
            Self::CongestionWindow => "congestion window",
            Self::Retransmissions => "retransmissions",
            Self::LongestPause => "longest time without arrivals",
            Self::ReceiverWindow => "waiting for the receiver's window",
            Self::Overlap => "share of its time under the load",
            Self::HostActivity => "speed of the load",
            Self::StartSkew => "workers that begin late",
            Self::EmulatorLate => "frames that the emulator released late",
            Self::CellBefore => "files written by the cell before",
            Self::Time => "time since the start of the run",
        }
    }

    /// Its quantity in one cell, and the cell before it; `None` where it is not known. Logarithms
    /// if only ratios have a meaning.
    fn of(self, record: &CellRecord, before: Option<&CellRecord>) -> Option<f64> {
        let shares = || Shares::of(std::iter::once(&record.machine));
        match self {
            Self::Steal => shares().map(|shares| shares.steal),
            Self::CoreToCore => {
                record.machine.core_to_core_ns.map(|latency| (latency.max(1) as f64).ln())
            }
            Self::Arithmetic => record.machine.arithmetic_ns.map(|time| (time.max(1) as f64).ln()),
            Self::OtherPrograms => others(record),
            Self::IdleProcessors => shares().map(|shares| 1.0 - shares.busy - shares.steal),
            Self::SoftwareInterrupts => shares().map(|shares| shares.softirq),
            Self::ReceiveBatching => read_bytes(record),
            Self::RoundTrip => mean(senders(record).map(|tcp| f64::from(tcp.rtt_us.max(1)).ln())),
            Self::CongestionWindow => {
                mean(senders(record).map(|tcp| f64::from(tcp.cwnd_segments.max(1)).ln()))
            }
            Self::Retransmissions => {
                mean(senders(record).map(|tcp| f64::from(tcp.total_retransmits)))
            }
            Self::LongestPause => longest_pause(record),
            Self::ReceiverWindow => mean(
                senders(record)
                    .map(|tcp| tcp.receiver_limited_us as f64 / tcp.busy_us.max(1) as f64),
            ),
            Self::Overlap => {
                let (host, network) = (record.host.as_ref()?, record.network.as_ref()?);
                // The record has the share of the host activity's time; the network activity
                // depends on the share of its own time.
                Some((host.overlap * host.duration.seconds() / network.duration.seconds()).min(1.0))
            }
            Self::HostActivity => {
                let host = record
                    .host
                    .as_ref()
                    .filter(|host| host.work > 0 && host.duration.nanoseconds() > 0)?;
                Some((host.work as f64 / host.duration.seconds()).ln())
            }
            Self::StartSkew => Some(record.start_skew_ns as f64),
            Self::EmulatorLate => Some(record.wire.late_share()),
            Self::CellBefore => before.map(|before| f64::from(u8::from(writes(before.row)))),
            Self::Time => Some(f64::from(record.block) + f64::from(record.position) * 1e-4),
        }
    }
}

/// The share of the spread that a quantity explains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// The quantity that varies with the goodput.
    pub cause: VarianceCause,
    /// Share of the variance between repetitions of the rows where it is known: 0 to 1.
    pub share: f64,
    /// Ends of the share's interval; from 0 if the correlation is not significant.
    pub interval: Interval,
    /// Whether cells with more of it are faster.
    pub is_faster: bool,
    /// Whether the share is significant: the level is divided by the number of examined causes
    /// (Bonferroni).
    pub is_told: bool,
}

/// The quantities that correlate with the spread of `rows`, the largest share first; constant ones
/// are left out.
pub(super) fn shares(cells: &Cells, rows: &[Row]) -> Vec<CauseShare> {
    let order: BTreeMap<(u32, u32), &CellRecord> =
        cells.valid().map(|record| ((record.block, record.position), record)).collect();
    let mut shares: Vec<CauseShare> = VarianceCause::ALL
        .into_iter()
        .filter_map(|cause| share(cells, rows, &order, cause))
        .collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

fn share(
    cells: &Cells,
    rows: &[Row],
    order: &BTreeMap<(u32, u32), &CellRecord>,
    cause: VarianceCause,
) -> Option<CauseShare> {
    let pair = |record: &&CellRecord| {
        let goodput = record.network.as_ref()?.goodput_bits_per_second;
        let before =
            order.range(..(record.block, record.position)).next_back().map(|(_, before)| *before);
        let quantity = cause.of(record, before)?;
        (goodput > 0.0 && goodput.is_finite() && quantity.is_finite())
            .then(|| (quantity, goodput.ln()))
    };
    let groups: Vec<Vec<(f64, f64)>> =
        rows.iter().map(|&row| cells.of(row).iter().filter_map(pair).collect()).collect();
    let found = Association::within(&groups, LEVEL)?;
    let strict =
        btu_stats::Level::new(1.0 - (1.0 - LEVEL.share()) / VarianceCause::ALL.len() as f64)?;
    let ends = [found.interval.low.powi(2), found.interval.high.powi(2)];
    let low = if found.is_told() { ends[0].min(ends[1]) } else { 0.0 };
    Some(CauseShare {
        cause,
        share: found.share(),
        interval: Interval { low, high: ends[0].max(ends[1]) },
        is_faster: found.correlation > 0.0,
        is_told: Association::within(&groups, strict)?.is_told(),
    })
}

/// Whether a cell leaves written files behind.
fn writes(row: Row) -> bool {
    let (Row::Network { load, .. } | Row::Host { load }) = row;
    matches!(load, Load::Disk | Load::Transfer)
}

fn outcomes(record: &CellRecord) -> impl Iterator<Item = &Outcome> {
    record
        .reports
        .iter()
        .filter_map(|placed| placed.result.as_ref().ok())
        .map(|report| &report.outcome)
}

fn senders(record: &CellRecord) -> impl Iterator<Item = &TcpInfo> {
    outcomes(record).filter_map(|outcome| match outcome {
        Outcome::Sent(Sent { tcp, .. }) => Some(tcp),
        _ => None,
    })
}

/// The logarithm of the bytes that one read of the receivers brought.
fn read_bytes(record: &CellRecord) -> Option<f64> {
    let received = outcomes(record).filter_map(|outcome| match outcome {
        Outcome::Received(Received { bytes, messages, .. }) => Some((*bytes, *messages)),
        _ => None,
    });
    let (bytes, reads) =
        received.fold((Bytes::ZERO, 0), |(bytes, reads), one| (bytes + one.0, reads + one.1));
    (bytes > Bytes::ZERO && reads > 0).then(|| (bytes.count() as f64 / reads as f64).ln())
}

/// The longest time between two points of a receiver's progress, as a share of its time.
fn longest_pause(record: &CellRecord) -> Option<f64> {
    let of = |received: &Received| {
        let end = received.last_byte.nanoseconds();
        let times = received.progress.iter().map(|point| point.0).chain([end]);
        let gaps = times.clone().skip(1).zip(times).map(|(to, from)| to.saturating_sub(from));
        Some(gaps.max()? as f64 / end.max(1) as f64)
    };
    let received = outcomes(record).filter_map(|outcome| match outcome {
        Outcome::Received(received) => of(received),
        _ => None,
    });
    received.reduce(f64::max)
}

/// The share of all processors' time, interrupts left out, that was not the workers' nor the
/// agents'.
fn others(record: &CellRecord) -> Option<f64> {
    let machine = &record.machine;
    let whole = machine.user_ns
        + machine.system_ns
        + machine.irq_ns
        + machine.softirq_ns
        + machine.steal_ns
        + machine.idle_ns;
    let own: u64 = record
        .stations
        .iter()
        .flat_map(|station| {
            [station.workers.user, station.workers.system, station.agent.user, station.agent.system]
        })
        .map(btu_units::Span::nanoseconds)
        .sum();
    // The kernel counts a processor's time in ticks, so that a short cell may have less of it than
    // its workers.
    (whole > 0)
        .then(|| (machine.user_ns + machine.system_ns).saturating_sub(own) as f64 / whole as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    btu_stats::arithmetic_mean(&values.collect::<Vec<_>>())
}
