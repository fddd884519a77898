//! Warnings about the connections and streams.

use btu_stats::arithmetic_mean;
use btu_units::Span;
use serde::Serialize;

use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_contract::record::{Outcome, Sent};

use super::super::cells::Cells;
use super::super::context::Context;
use super::super::further::{UdpRow, outcomes};
use super::{Explanation, count, percent, time};
use crate::rate::plan::Plan;
use crate::rate::record::CellRecord;
use crate::rate::row::Row;

/// TCP retransmitted on paths that lose nothing by design.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retransmits {
    /// The number of segments that TCP retransmitted.
    pub segments: u64,
    /// Retransmitted bytes over all bytes sent.
    pub share: f64,
    /// The number of cells concerned.
    pub cells: u64,
}

/// Retransmitting more than this share of all bytes costs more than the noise of a good
/// measurement.
const MOST_RETRANSMITTED: f64 = 0.001;

impl Retransmits {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        if !is_orderly(&context.plan.network) {
            return None;
        }
        let of_cells: Vec<Again> =
            cells.valid().filter(|record| is_lossless(record)).map(Again::of).collect();
        let sent: u64 = of_cells.iter().map(|again| again.bytes_sent).sum();
        let bytes: u64 = of_cells.iter().map(|again| again.bytes).sum();
        let share = if sent > 0 { bytes as f64 / sent as f64 } else { 0.0 };
        (share > MOST_RETRANSMITTED).then(|| Self {
            segments: of_cells.iter().map(|again| again.segments).sum(),
            share,
            cells: of_cells.iter().filter(|again| again.segments > 0).count() as u64,
        })
    }
}

/// Whether the network neither loses nor reorders on purpose.
fn is_orderly(network: &Network) -> bool {
    match network {
        // Impairments of real networks are never on purpose.
        Network::Veth | Network::Machines(_) => true,
        // The network file decides its losses.
        Network::Drawing(_) => false,
        Network::Path(path) => path.loss <= 0.0 && path.reorder <= 0.0,
    }
}

/// Whether the cell's peers drop nothing on purpose.
fn is_lossless(record: &CellRecord) -> bool {
    matches!(record.row, Row::Network { component, .. } if component.is_rated() && component.impairment().loss <= 0.0)
}

/// The retransmissions of all senders of a cell.
#[derive(Default)]
struct Again {
    segments: u64,
    bytes: u64,
    bytes_sent: u64,
}

impl Again {
    fn of(record: &CellRecord) -> Self {
        senders(record).fold(Self::default(), |again, Sent { tcp, .. }| Self {
            segments: again.segments + u64::from(tcp.total_retransmits),
            bytes: again.bytes + tcp.bytes_retransmitted,
            bytes_sent: again.bytes_sent + tcp.bytes_sent,
        })
    }
}

fn senders(record: &CellRecord) -> impl Iterator<Item = &Sent> {
    outcomes(record).filter_map(|outcome| match outcome {
        Outcome::Sent(sent) => Some(sent),
        _ => None,
    })
}

impl Explanation for Retransmits {
    fn observed(&self) -> String {
        let (segments, cells) = (count(self.segments, "segment"), count(self.cells, "cell"));
        let share = percent(self.share);
        format!(
            "TCP retransmitted {segments} ({share} of the bytes, in {cells}) where nothing is dropped on purpose"
        )
    }

    fn advice(&self, plan: &Plan) -> String {
        match plan.network {
            Network::Veth => {
                "a machine with more processors, or a `--window`: backlogs overflow when receivers wait for a processor"
            }
            Network::Machines(_) => {
                "the counters of the hosts' interfaces and of the switches between them: something drops or reorders"
            }
            Network::Path(_) | Network::Drawing(_) => {
                "a smaller `--window`; without one TCP fills the queue before the line until it overflows"
            }
        }
        .to_owned()
    }
}

/// Senders spent most of their time waiting for the receiver's window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowLimited {
    /// In how many cells without a host load.
    pub cells: u64,
    /// The number of idle cells.
    pub of: u64,
    /// Mean share of the senders' time in these cells: 0 to 1.
    pub share: f64,
}

/// A sender held up for more than half of its time measures the window.
const MOST_HELD_UP: f64 = 0.5;

impl WindowLimited {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        if context.plan.window.is_some() {
            // The user requested it.
            return None;
        }
        let idle = context.rated_rows(|_, load| load == Load::Idle);
        let repetitions = idle.into_iter().flat_map(|row| cells.of(row));
        let shares: Vec<f64> = repetitions.filter_map(|record| held_up(record)).collect();
        let limited: Vec<f64> =
            shares.iter().copied().filter(|share| *share > MOST_HELD_UP).collect();
        let share = arithmetic_mean(&limited)?;
        Some(Self { cells: limited.len() as u64, of: shares.len() as u64, share })
    }
}

/// The share of the senders' busy time in which they waited for the receivers' windows.
fn held_up(record: &CellRecord) -> Option<f64> {
    let sum = |of: fn(&Sent) -> u64| senders(record).map(of).sum::<u64>();
    let (busy, held) = (sum(|sent| sent.tcp.busy_us), sum(|sent| sent.tcp.receiver_limited_us));
    (busy > 0).then(|| held as f64 / busy as f64)
}

impl Explanation for WindowLimited {
    fn observed(&self) -> String {
        let of = count(self.of, "idle cell");
        let share = percent(self.share);
        format!(
            "in {} of {of} senders waited for the receiver's window {share} of the time",
            self.cells
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "a machine with more processors, or a larger `net.ipv4.tcp_rmem`: the receivers are the limit".to_owned()
    }
}

/// Datagrams that arrived at the machine and not at the application: its socket buffer was full.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BufferDrops {
    /// The number of datagrams that the full buffer dropped.
    pub datagrams: u64,
    /// The number of sent datagrams.
    pub of: u64,
}

impl BufferDrops {
    pub(super) fn check(udp: &[UdpRow]) -> Option<Self> {
        let datagrams = udp.iter().map(|row| row.buffer_drops).sum();
        let of = udp.iter().filter_map(|row| row.lost).map(|lost| lost.trials).sum();
        (datagrams > 0).then_some(Self { datagrams, of })
    }
}

impl Explanation for BufferDrops {
    fn observed(&self) -> String {
        let of = count(self.of, "datagram");
        format!(
            "{} of {of} reached the machine but not the application: its buffer was full",
            self.datagrams
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "a larger `net.core.rmem_max`, which bounds the buffer; this is loss in the host, not in the network".to_owned()
    }
}

/// The paced sender could not keep its schedule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatePacing {
    /// The 99th percentile of the datagrams' lateness, under the worst load.
    pub p99_ns: u64,
    /// Datagrams that the sender's kernel refused.
    pub refused: u64,
}

/// A sender this late is no longer paced: it sends in bursts.
const MOST_LATENESS: Span = Span::from_milliseconds(1);

impl LatePacing {
    pub(super) fn check(udp: &[UdpRow]) -> Option<Self> {
        let p99_ns = udp.iter().filter_map(|row| row.send_lateness_p99_ns).max().unwrap_or(0);
        let refused = udp.iter().map(|row| row.refused).sum();
        (p99_ns > MOST_LATENESS.nanoseconds() || refused > 0).then_some(Self { p99_ns, refused })
    }
}

impl Explanation for LatePacing {
    fn observed(&self) -> String {
        let (p99, refused) = (time(self.p99_ns), count(self.refused, "datagram"));
        format!(
            "the paced sender fell behind: one in a hundred left more than {p99} late, {refused} refused"
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "a machine with more processors: as it is, the UDP rows hold bursts".to_owned()
    }
}
