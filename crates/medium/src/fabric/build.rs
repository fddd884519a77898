//! Builds the nodes of a drawing.

use btu_network::{
    self as network, Atm, Attachment, BridgeId, Direction, Discipline, Drawing, End, LinkId,
    SegmentId, Star,
};
use btu_units::{Bytes, Length};

use super::Port;
use super::bridge::{Bridge, Traits};
use super::gauge::Gauge;
use super::medium::Medium;
use super::node::{NextHop, Node};
use super::table::Table;
use crate::chain::Chain;
use crate::fddi::Fddi;
use crate::frame::Address;
use crate::link::{changing_line, input, line};
use crate::listeners::Listener;
use crate::segment::Tap;
use crate::shared::{SharedEthernet, SharedEthernetError};
use crate::token_ring::TokenRing;

/// How many addresses the inside of a star learns at most, in addition to those of the stations.
const STRANGERS: u32 = 4096;

/// The nodes, and the place where each station's frames enter.
pub(super) struct Build {
    pub(super) nodes: Vec<Node>,
    pub(super) entries: Vec<NextHop>,
    /// The two lines of each link.
    pub(super) links: Vec<[u32; 2]>,
    /// The nodes of each segment, the first being the medium or the inside of the star.
    pub(super) segments: Vec<std::ops::Range<u32>>,
    /// The nodes of the inputs, with their stations.
    pub(super) inputs: Vec<(Port, u32)>,
}

/// The form of a line: one that can change during a run, or one that cannot.
type Make = fn(&Direction, &str, u64) -> Chain;

/// The stations and bridges on a segment.
#[derive(Debug, Clone, Copy)]
enum Resident {
    Station(u32),
    Bridge(BridgeId, u32),
}

/// A segment's residents in order of their taps: stations first, then bridges.
type Residents = Vec<(Resident, Length)>;

/// Puts `drawing` together, with an input at each station of `inputs`.
pub(super) fn build(
    drawing: &Drawing,
    seed: u64,
    inputs: &[Port],
) -> Result<Build, SharedEthernetError> {
    Builder::new(drawing, seed).finish(inputs)
}

struct Builder<'a> {
    drawing: &'a Drawing,
    seed: u64,
    nodes: Vec<Node>,
    entries: Vec<NextHop>,
    links: Vec<[u32; 2]>,
    segments: Vec<std::ops::Range<u32>>,
}

impl<'a> Builder<'a> {
    /// Bridges come first, so that their places are known: the `n`th bridge is the `n`th node.
    fn new(drawing: &'a Drawing, seed: u64) -> Self {
        let nodes = drawing.bridges.iter().map(|bridge| bridge_node(drawing, bridge)).collect();
        // Every station has an attachment; this value is a placeholder until the attachment is
        // found.
        let entries = vec![NextHop::Station(0); drawing.stations.len()];
        Self { drawing, seed, nodes, entries, links: Vec::new(), segments: Vec::new() }
    }

    fn finish(mut self, inputs: &[Port]) -> Result<Build, SharedEthernetError> {
        for (segment, residents) in self.drawing.segments.iter().zip(residents(self.drawing)) {
            let first = self.nodes.len() as u32;
            self.segment(segment, &residents)?;
            self.segments.push(first..self.nodes.len() as u32);
        }
        for (id, link) in (0..).map(LinkId).zip(&self.drawing.links) {
            self.link(id, link);
        }
        self.attach_links();
        let inputs = inputs.iter().map(|&port| self.input(port)).collect();
        let Self { nodes, entries, links, segments, .. } = self;
        Ok(Build { nodes, entries, links, segments, inputs })
    }

    fn segment(
        &mut self,
        segment: &network::Segment,
        residents: &Residents,
    ) -> Result<(), SharedEthernetError> {
        match &segment.medium {
            network::Medium::SwitchedEthernet(star) | network::Medium::Atm(Atm { star }) => {
                self.star(&segment.name, star, residents);
                Ok(())
            }
            shared => self.medium(&segment.name, shared, residents),
        }
    }

    fn medium(
        &mut self,
        name: &str,
        config: &network::Medium,
        residents: &Residents,
    ) -> Result<(), SharedEthernetError> {
        let node = self.nodes.len() as u32;
        let taps: Vec<(Listener, Length)> =
            residents.iter().map(|&(who, at)| (listener(who), at)).collect();
        let medium = medium(config, &taps, name, self.seed)?;
        let exits = residents.iter().map(|&(resident, _)| exit(resident)).collect();
        self.nodes.push(Node::Medium { name: name.to_owned(), medium, exits });
        for (tap, &(resident, _)) in (0..).map(Tap).zip(residents) {
            self.enter(resident, NextHop::Tap(node, tap));
        }
        Ok(())
    }

    /// A bridge in the middle, and two lines to each resident.
    fn star(&mut self, name: &str, star: &Star, residents: &Residents) {
        let middle = self.nodes.len() as u32;
        let ports = residents.len() as u32;
        let limit = (self.drawing.stations.len() as u32).saturating_add(STRANGERS);
        let table = Table::new(self.drawing.stations.len(), limit);
        let traits = Traits { ports, latency: star.latency, mtu: Bytes::new(u64::MAX) };
        // Behind the middle there are, for each resident, the line up and the line down.
        let exits = (0..ports).map(|port| NextHop::Line(middle + 2 + 2 * port)).collect();
        let bridge = Box::new(Bridge::new(traits, table));
        self.nodes.push(Node::Bridge { name: name.to_owned(), bridge, exits });
        for (port, &(resident, _)) in (0..).zip(residents) {
            let who = self.name_of(resident);
            let up = self.line(
                format!("{name}/{who}/up"),
                &self.sent_by(resident, &star.up),
                line,
                NextHop::Bridge(middle, port),
            );
            self.line(format!("{name}/{who}/down"), &star.down, line, exit(resident));
            self.enter(resident, NextHop::Line(up));
        }
    }

    /// A line; its queue is the bridge's buffer when a bridge sends.
    fn sent_by(&self, resident: Resident, direction: &Direction) -> Direction {
        let queue = match resident {
            Resident::Station(_) => direction.queue,
            Resident::Bridge(bridge, _) => {
                Discipline::TailDrop { limit: self.drawing.bridge(bridge).buffer }
            }
        };
        Direction { queue, ..direction.clone() }
    }

    fn line(&mut self, name: String, direction: &Direction, make: Make, exit: NextHop) -> u32 {
        let chain = Box::new(make(direction, &name, self.seed));
        self.nodes.push(Node::Line { name, from: None, chain, gauge: Gauge::new(direction), exit });
        self.nodes.len() as u32 - 1
    }

    fn link(&mut self, id: LinkId, link: &network::Link) {
        let [first, second] = link.ends.map(|end| self.end(end, id));
        let make = if link.changes.is_empty() { line } else { changing_line };
        let forth = self.line(format!("{}/forth", link.name), &link.forth, make, second);
        let back = self.line(format!("{}/back", link.name), &link.back, make, first);
        for (end, line) in link.ends.into_iter().zip([forth, back]) {
            if let End::Station(station) = end {
                self.enter(Resident::Station(station.0), NextHop::Line(line));
            }
        }
        self.links.push([forth, back]);
    }

    /// The destination of frames that reach this end of the link.
    fn end(&self, end: End, link: LinkId) -> NextHop {
        match end {
            End::Station(station) => NextHop::Station(station.0),
            End::Bridge(id) => {
                let bridge = self.drawing.bridge(id);
                let place = bridge.links.iter().position(|&at| at == link);
                NextHop::Bridge(id.0, (bridge.segments.len() + place.unwrap_or(0)) as u32)
            }
        }
    }

    /// Gives bridges the first lines of their links. Their ports are their segments, then their
    /// links.
    fn attach_links(&mut self) {
        for (id, bridge) in (0..).map(BridgeId).zip(&self.drawing.bridges) {
            for (port, &at) in (bridge.segments.len() as u32..).zip(&bridge.links) {
                let [forth, back] = self.links[at.0 as usize];
                let first = self.drawing.link(at).ends[0] == End::Bridge(id);
                self.enter(
                    Resident::Bridge(id, port),
                    NextHop::Line(if first { forth } else { back }),
                );
            }
        }
    }

    /// Puts an input before a station: all exits to the station now lead to the input, and the
    /// input leads to the station.
    fn input(&mut self, port: Port) -> (Port, u32) {
        let node = self.nodes.len() as u32;
        let station = NextHop::Station(port.0);
        for exit in self.nodes.iter_mut().flat_map(Node::exits).filter(|exit| **exit == station) {
            *exit = NextHop::Line(node);
        }
        let name = format!("{}/input", self.drawing.stations[port.index()].name);
        self.nodes.push(Node::Input { chain: Box::new(input(&name, self.seed)), exit: station });
        (port, node)
    }

    /// Sets the place where the frames of `resident` enter.
    fn enter(&mut self, resident: Resident, place: NextHop) {
        match resident {
            Resident::Station(station) => {
                self.entries[station as usize] = place;
                if let NextHop::Line(line) = place
                    && let Node::Line { from, .. } = &mut self.nodes[line as usize]
                {
                    *from = Some(station);
                }
            }
            Resident::Bridge(bridge, port) => {
                if let Node::Bridge { exits, .. } = &mut self.nodes[bridge.0 as usize] {
                    exits[port as usize] = place;
                }
            }
        }
    }

    fn name_of(&self, resident: Resident) -> &'a str {
        match resident {
            Resident::Station(station) => &self.drawing.stations[station as usize].name,
            Resident::Bridge(bridge, _) => &self.drawing.bridge(bridge).name,
        }
    }
}

fn bridge_node(drawing: &Drawing, bridge: &network::Bridge) -> Node {
    let ports = bridge.segments.len() + bridge.links.len();
    let traits = Traits { ports: ports as u32, latency: bridge.latency, mtu: bridge.mtu };
    let table = Table::new(drawing.stations.len(), bridge.addresses);
    // The exits are filled in when the segments and links are there.
    let exits = vec![NextHop::Station(0); ports];
    Node::Bridge { name: bridge.name.clone(), bridge: Box::new(Bridge::new(traits, table)), exits }
}

/// The stations and bridges on each segment.
fn residents(drawing: &Drawing) -> Vec<Residents> {
    let mut residents = vec![Vec::new(); drawing.segments.len()];
    for (number, station) in (0..).zip(&drawing.stations) {
        if let Attachment::Segment(SegmentId(segment), position) = station.attachment {
            residents[segment as usize].push((Resident::Station(number), position));
        }
    }
    for (id, bridge) in (0..).map(BridgeId).zip(&drawing.bridges) {
        for (port, &(SegmentId(segment), position)) in (0..).zip(&bridge.segments) {
            residents[segment as usize].push((Resident::Bridge(id, port), position));
        }
    }
    residents
}

fn listener(resident: Resident) -> Listener {
    match resident {
        Resident::Station(station) => Listener::Station(Address::of_station(station)),
        Resident::Bridge(..) => Listener::Bridge,
    }
}

fn exit(resident: Resident) -> NextHop {
    match resident {
        Resident::Station(station) => NextHop::Station(station),
        Resident::Bridge(bridge, port) => NextHop::Bridge(bridge.0, port),
    }
}

fn medium(
    config: &network::Medium,
    taps: &[(Listener, Length)],
    name: &str,
    seed: u64,
) -> Result<Medium, SharedEthernetError> {
    let listeners: Vec<Listener> = taps.iter().map(|&(listener, _)| listener).collect();
    Ok(match config {
        network::Medium::SharedEthernet(ethernet) => {
            Medium::SharedEthernet(Box::new(SharedEthernet::new(ethernet, taps, name, seed)?))
        }
        network::Medium::TokenRing(ring) => {
            Medium::TokenRing(Box::new(TokenRing::new(ring, &listeners, name, seed)))
        }
        network::Medium::Fddi(ring) => {
            Medium::Fddi(Box::new(Fddi::new(ring, &listeners, name, seed)))
        }
        network::Medium::SwitchedEthernet(_) | network::Medium::Atm(_) => {
            unreachable!("stars are lines")
        }
    })
}
