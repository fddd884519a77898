//! Packets of a station, counted by its interfaces.

use btu_units::Span;
use serde::{Deserialize, Serialize};

/// The counts of an interface, or of all interfaces of a station, since a copy began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PacketCount {
    /// When, since the copy began.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// Packets sent, and their octets without what Ethernet puts around them but its header.
    pub sent: u64,
    /// The octets of the packets sent, with their Ethernet headers, without Ethernet's other
    /// overhead.
    pub sent_octets: u64,
    /// Like `sent_octets`, for what was received.
    pub received: u64,
    /// The octets of the packets received, with their Ethernet headers, without Ethernet's other
    /// overhead.
    pub received_octets: u64,
}
