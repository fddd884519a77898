//! Stations: the hosts of a network.

use std::net::Ipv4Addr;

use btu_units::Length;
use serde::{Deserialize, Serialize};

use crate::drawing::{LinkId, SegmentId};

/// A host of the network, attached to one segment or one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Station {
    /// Its name: a host name's label (RFC 1123): letters, digits and `-`. Members of a group are
    /// called `group-1` and so on; of a group on counted segments `group-<segment's number>-<own
    /// number>`.
    pub name: String,
    /// The key it was drawn under: the name without numbers.
    pub group: String,
    /// Its attachment.
    pub attachment: Attachment,
    /// Its address in 198.18.0.0/15 (RFC 2544, appendix C.2.2), as drawn or given out in order from
    /// 198.18.0.1.
    pub address: Ipv4Addr,
    /// Whether it works on one request at a time, in the order of their arrival, as a server with
    /// one disk; else on all at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_at_a_time: bool,
}

/// The attachment of a station.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attachment {
    /// On a segment, at this distance from the beginning of its cable (0 if the medium has no
    /// places).
    Segment(SegmentId, Length),
    /// At one end of a link.
    Link(LinkId),
}
