//! A fabric's accounts and meters.

use std::ops::AddAssign;

use super::Fabric;
use super::node::Node;
use crate::account::Account;
use crate::segment::{Meter, Segment};

impl Fabric {
    /// The accounts of every element, medium and bridge, with their names.
    pub fn accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        self.nodes.iter().flat_map(|node| {
            let (whole, parts) = match node {
                Node::Medium { name, .. } | Node::Bridge { name, .. } => {
                    (Some((name.as_str(), node.account())), None)
                }
                Node::Line { chain, .. } | Node::Input { chain, .. } => {
                    (None, Some(chain.accounts()))
                }
            };
            whole.into_iter().chain(parts.into_iter().flatten())
        })
    }

    /// The accounts of the whole, seen from its ports.
    pub fn account(&self) -> Account {
        let mut whole =
            self.nodes.iter().map(Node::account).fold(Account::default(), Account::combined_with);
        whole.held += self.pending.len() as u64;
        // A frame that one node delivers, another receives; from outside only frames at the ports
        // count.
        (whole.received, whole.delivered) = (self.received, self.delivered);
        whole
    }

    /// The meters of the segments, in the drawing's order and with their names, and then of the
    /// links, each direction by itself as `link/forth` and `link/back`. Stars sum their lines.
    pub fn meters(&self) -> impl Iterator<Item = (&str, Meter)> {
        let segments = self.segments.iter().filter_map(|range| self.segment_meter(range.clone()));
        let links =
            self.links.iter().flatten().filter_map(|&line| match &self.nodes[line as usize] {
                Node::Line { name, gauge, .. } => Some((name.as_str(), gauge.meter())),
                Node::Medium { .. } | Node::Bridge { .. } | Node::Input { .. } => None,
            });
        segments.chain(links)
    }

    /// What segments and links carried, in the order of [`Self::meters`].
    pub(crate) fn carried(&self) -> Vec<Carried> {
        let segments = self.segments.iter().filter_map(|range| self.segment_carried(range.clone()));
        let links = self.links.iter().flatten().filter_map(|&line| self.line_carried(line));
        segments.chain(links).collect()
    }

    /// A star carries a frame up and down; it counts once, on its way down. The lines of a star are
    /// up and down in turn.
    fn segment_carried(&self, range: std::ops::Range<u32>) -> Option<Carried> {
        let (_, meter) = self.segment_meter(range.clone())?;
        if let Node::Medium { .. } = self.nodes[range.start as usize] {
            return Some(Carried { frames: meter.frames, bits: None, meter });
        }
        let down = range.skip(2).step_by(2).filter_map(|line| self.line_carried(line));
        let (frames, bits) = down.fold((0, 0), |(frames, bits), line| {
            (frames + line.frames, bits + line.bits.unwrap_or(0))
        });
        Some(Carried { meter, frames, bits: Some(bits) })
    }

    fn line_carried(&self, line: u32) -> Option<Carried> {
        match &self.nodes[line as usize] {
            Node::Line { gauge, .. } => {
                let meter = gauge.meter();
                Some(Carried { meter, frames: meter.frames, bits: Some(gauge.carried_bits()) })
            }
            Node::Medium { .. } | Node::Bridge { .. } | Node::Input { .. } => None,
        }
    }

    fn segment_meter(&self, range: std::ops::Range<u32>) -> Option<(&str, Meter)> {
        let [first, lines @ ..] = &self.nodes[range.start as usize..range.end as usize] else {
            return None;
        };
        match first {
            Node::Medium { name, medium, .. } => Some((name, medium.meter())),
            Node::Bridge { name, .. } => {
                let mut sum = Meter::default();
                for node in lines {
                    if let Node::Line { gauge, .. } = node {
                        sum += gauge.meter();
                    }
                }
                Some((name, sum))
            }
            Node::Line { .. } | Node::Input { .. } => None,
        }
    }

    /// Resets the accounts and meters everywhere; frames inside are carried over as received.
    pub fn reset(&mut self) {
        self.nodes.iter_mut().for_each(Node::reset);
        self.delivered = 0;
        self.received = 0;
        self.received = self.account().held;
    }
}

/// What a segment or a line carried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carried {
    /// Its meter.
    pub(crate) meter: Meter,
    /// Frames, each counted once.
    pub(crate) frames: u64,
    /// Bits of their own octets; of a shared medium they follow from its rate and the meter.
    pub(crate) bits: Option<u64>,
}

impl AddAssign for Meter {
    fn add_assign(&mut self, other: Self) {
        self.data += other.data;
        self.overhead += other.overhead;
        self.collisions += other.collisions;
        self.collision_count += other.collision_count;
        self.frames += other.frames;
        self.lines += other.lines;
    }
}
