//! The order for the process in the emulated network, and its record.

use btu_contract::record::WireAccount;
use btu_network::Drawing;
use btu_units::Span;
use serde::{Deserialize, Serialize};

/// What is measured at a point, in each replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PointOrder {
    /// The network with its traffic.
    pub(super) drawing: Drawing,
    pub(super) seed: u64,
    /// The time for which packets are offered.
    pub(super) duration: Span,
    /// Packets that are due before this do not count.
    pub(super) warm_up: Span,
}

impl PointOrder {
    /// The network that is raised: without its traffic.
    pub(super) fn network(&self) -> Drawing {
        Drawing { traffic: Vec::new(), ..self.drawing.clone() }
    }
}

/// The result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// In the drawing's order.
    pub(super) flows: Vec<FlowRecord>,
    /// Packets handed to the stations' kernels, those of the warm-up as well; the same for what
    /// follows.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Packets that the sender gave up on, because it was too late.
    pub(super) unsent: u64,
    /// Packets that the senders' kernels refused.
    pub(super) refused: u64,
    /// Packets that the receivers' kernels had no room for.
    pub(super) buffer_drops: u64,
    /// Packets that arrived later than the end of the warm-up, or of the offer, and were due
    /// before.
    pub(super) inside_at_start: u64,
    pub(super) inside_at_end: u64,
}

/// The result of a flow: of its packets that were due after the warm-up, unless stated otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FlowRecord {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Octets of frames that were received.
    pub(super) octets: u64,
    /// Packets that arrived between the end of the warm-up and of the offer, whenever they were
    /// due.
    pub(super) in_time: u64,
    /// The time from due to arrival; `None` if no packet arrived.
    pub(super) delay_seconds: Option<f64>,
    /// The time from due to sent.
    pub(super) late_seconds: f64,
}

/// One replication: the stations' record, and the wire's accounts of the same time.
pub(super) type Replication = (Record, WireAccount);

/// A tenth, as in the simulator.
pub(super) fn warm_up(duration: Span) -> Span {
    Span::from_nanoseconds(duration.nanoseconds() / 10)
}
