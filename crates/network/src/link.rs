//! Point-to-point links and bridges.

use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::direction::{Direction, Loss, Rate};
use crate::id::{BridgeId, LinkId, SegmentId, StationId};
use crate::queue::QueueLimit;

/// A full-duplex point-to-point link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name; members of a counted group are called `group-1` and so on.
    pub name: String,
    /// The key it was drawn under.
    pub group: String,
    /// The two ends that the link connects.
    pub ends: [End; 2],
    /// From the first end to the second.
    pub forth: Direction,
    /// From the second end to the first.
    pub back: Direction,
    /// The changes during a run, ascending by time.
    pub changes: Vec<Change>,
}

impl Link {
    /// The sum of both directions' fixed delays, each at its shortest during a run.
    pub fn least_round_trip(&self) -> Span {
        let least = |way: Way, direction: &Direction| {
            let changes =
                self.changes.iter().filter(|change| [way, Way::Both].contains(&change.way));
            changes.filter_map(|change| change.delay).fold(direction.delay, Ord::min)
        };
        least(Way::Forth, &self.forth) + least(Way::Back, &self.back)
    }

    /// Makes a change at once.
    pub(crate) fn change(&mut self, change: &Change) {
        for (way, line) in [(Way::Forth, &mut self.forth), (Way::Back, &mut self.back)] {
            if ![way, Way::Both].contains(&change.way) {
                continue;
            }
            if let (Some(rate), Rate::Fixed(own)) = (change.rate, &mut line.rate) {
                *own = rate;
            }
            line.delay = change.delay.unwrap_or(line.delay);
            line.loss = change.loss.unwrap_or(line.loss);
        }
    }
}

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// A station, which has no other attachment.
    Station(StationId),
    /// The server of a bridge.
    Bridge(BridgeId),
}

/// A change of a link's properties at a time. Values that are `None` do not change; frames in
/// flight keep their times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The time of the change, counted from the start.
    pub at: Span,
    /// The direction of the link that changes, or both.
    pub way: Way,
    /// New rate; not for a direction that follows a trace.
    pub rate: Option<BitRate>,
    /// The new propagation delay; `None` leaves it as it was.
    pub delay: Option<Span>,
    /// The new loss model; `None` leaves it as it was.
    pub loss: Option<Loss>,
}

/// Which direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the first end to the second.
    Forth,
    /// From the second end to the first.
    Back,
    /// The change is for both directions.
    Both,
}

/// A store-and-forward bridge that learns (IEEE 802.1D).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bridge {
    /// Its name; members of a counted group are called `group-1` and so on.
    pub name: String,
    /// The key it was drawn under.
    pub group: String,
    /// The segments to which it is attached, each with its place on the cable, if the medium has
    /// places (else 0, as for stations).
    pub segments: Vec<(SegmentId, btu_units::Length)>,
    /// The links that end at it.
    pub links: Vec<LinkId>,
    /// From the last bit of a frame until it waits for the next segment.
    pub latency: Span,
    /// The queue of each port, before the medium.
    pub buffer: QueueLimit,
    /// How many addresses it learns.
    pub addresses: u32,
    /// Longest packet it takes.
    pub mtu: Bytes,
}
