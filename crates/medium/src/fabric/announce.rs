//! Teaches bridges the addresses that they would know after every station had sent one frame.

use super::Fabric;
use super::node::{NextHop, Node};
use crate::frame::Address;
use crate::segment::{Segment, Tap};

impl Fabric {
    /// Lets every bridge and star learn where all stations are, as if each had announced itself
    /// before the start; nothing is sent for it. Simulations begin so, because the stations of a
    /// real network have sent frames before a measurement begins; without it the first frames to
    /// each station are flooded.
    pub fn announce(&mut self) {
        let ways: Vec<Vec<(u32, NextHop)>> =
            self.nodes.iter().map(|node| self.ways_on(node)).collect();
        let mut open = Vec::new();
        for station in 0..self.entries.len() {
            open.push(self.entries[station]);
            while let Some(place) = open.pop() {
                self.introduce(station as u32, place, &ways, &mut open);
            }
        }
    }

    /// Introduces a station to the bridge at `place`, and opens the places that its frame would
    /// reach from there.
    fn introduce(
        &mut self,
        station: u32,
        place: NextHop,
        ways: &[Vec<(u32, NextHop)>],
        open: &mut Vec<NextHop>,
    ) {
        let (node, came_by) = match place {
            NextHop::Station(_) => return,
            NextHop::Line(node) => (node, None),
            NextHop::Tap(node, tap) => (node, Some(tap.0)),
            NextHop::Bridge(node, port) => (node, Some(port)),
        };
        match (&mut self.nodes[node as usize], came_by) {
            (Node::Bridge { bridge, .. }, Some(port)) => {
                bridge.table().learn(Address::of_station(station), port);
            }
            (Node::Medium { medium, .. }, Some(tap)) => medium.announce(station, Tap(tap)),
            _ => {}
        }
        open.extend(
            ways[node as usize]
                .iter()
                .filter(|&&(way, _)| Some(way) != came_by)
                .map(|&(_, place)| place),
        );
    }

    /// The exits of a node that lead to a bridge at last, with their numbers. Exits to stations are
    /// left out, so that large segments cost no more than small ones.
    fn ways_on(&self, node: &Node) -> Vec<(u32, NextHop)> {
        let exits = match node {
            Node::Medium { exits, .. } | Node::Bridge { exits, .. } => exits.as_slice(),
            // A line has one end, and no number that a frame could have come by.
            Node::Line { exit, .. } => return vec![(u32::MAX, *exit)],
            Node::Input { .. } => return Vec::new(),
        };
        (0..).zip(exits.iter().copied()).filter(|&(_, exit)| !self.ends_at_station(exit)).collect()
    }

    fn ends_at_station(&self, place: NextHop) -> bool {
        match place {
            NextHop::Station(_) => true,
            NextHop::Line(line) => match &self.nodes[line as usize] {
                Node::Line { exit, .. } => self.ends_at_station(*exit),
                node => matches!(node, Node::Input { .. }),
            },
            NextHop::Tap(..) | NextHop::Bridge(..) => false,
        }
    }
}
