//! A whole network as data.

use std::net::Ipv4Addr;

use btu_units::{Length, Span};
use serde::{Deserialize, Serialize};

use crate::id::{BridgeId, LinkId, SegmentId, StationId};
use crate::link::{Bridge, Link};
use crate::queue::Discipline;
use crate::segment::Segment;
use crate::traffic::Flow;

/// A network that was read and checked.
///
/// These hold for every drawing: names are unique within their kind; every identifier points into
/// its list; every station is attached to exactly one segment or one link; segments, bridges and
/// links form no loop; every flow's stations can reach each other; rates are at least 1 b/s.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Drawing {
    /// The name of the network: letters, digits and `-`.
    pub name: String,
    /// What it is, in a sentence; may be empty.
    pub about: String,
    /// No emulation: the stations are on a bridge of this host's kernel (two stations: at the two
    /// ends of one cable), as fast as the host allows. The drawing then has one switched segment
    /// with values that have no meaning.
    #[serde(default)]
    pub bare: bool,
    /// Shared and switched media.
    pub segments: Vec<Segment>,
    /// The hosts of the network.
    pub stations: Vec<Station>,
    /// What connects segments and links.
    pub bridges: Vec<Bridge>,
    /// The point-to-point links of the network.
    pub links: Vec<Link>,
    /// The flows: which stations send what to which.
    pub traffic: Vec<Flow>,
}

impl Drawing {
    /// Whether a queue of a link is managed so that requests wait little behind other traffic.
    pub fn has_managed_queue(&self) -> bool {
        let directions = self.links.iter().flat_map(|link| [&link.forth, &link.back]);
        let mut queues = directions.map(|direction| &direction.queue);
        queues.any(|queue| matches!(queue, Discipline::Codel(_) | Discipline::FqCodel(_)))
    }

    /// The segment at `id`; an identifier of another drawing is our own bug and panics.
    pub fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.0 as usize]
    }

    /// The station at `id`; as [`Self::segment`].
    pub fn station(&self, id: StationId) -> &Station {
        &self.stations[id.0 as usize]
    }

    /// The bridge at `id`; as [`Self::segment`].
    pub fn bridge(&self, id: BridgeId) -> &Bridge {
        &self.bridges[id.0 as usize]
    }

    /// The link at `id`; as [`Self::segment`].
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.0 as usize]
    }

    /// The time that a packet and its answer need at least between any two stations, by the fixed
    /// delays of the stations' own links; zero as soon as a station is on a segment.
    pub fn least_round_trip(&self) -> Span {
        let own = self.stations.iter().map(|station| match station.attachment {
            Attachment::Link(link) => self.link(link).least_round_trip(),
            Attachment::Segment(..) => Span::ZERO,
        });
        own.min().unwrap_or(Span::ZERO)
    }

    /// The network as its links are this long after it came up, without any further change.
    #[must_use]
    pub fn changed_by(&self, time: Span) -> Self {
        let mut drawing = self.clone();
        for link in &mut drawing.links {
            for change in std::mem::take(&mut link.changes) {
                if change.at <= time {
                    link.change(&change);
                }
            }
        }
        drawing
    }

    /// The station called `name`.
    pub fn station_called(&self, name: &str) -> Option<StationId> {
        self.stations
            .iter()
            .position(|station| station.name == name)
            .map(|place| StationId(place as u32))
    }
}

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
