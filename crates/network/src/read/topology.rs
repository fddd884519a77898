//! The connections: they must form no loop, and they decide which stations can reach each other.

use super::work::DrawingBuilder;
use crate::drawing::Attachment;
use crate::id::StationId;
use crate::link::End;

/// Segments, bridges and stations at links as one list of nodes, in parts that are connected.
#[derive(Debug)]
pub(super) struct ConnectedParts {
    parent: Vec<u32>,
    segments: usize,
    bridges: usize,
}

/// A connection between two nodes: a bridge's port, or a link by its place.
#[derive(Debug, Clone, Copy)]
struct Edge {
    ends: [u32; 2],
    link: Option<usize>,
    /// The bridge of the port.
    bridge: usize,
}

/// Finds the connected parts; reports the first loop, and then returns `None`.
pub(super) fn check(work: &DrawingBuilder<'_>) -> Option<ConnectedParts> {
    let drawing = &work.drawing;
    let (segments, bridges) = (drawing.segments.len(), drawing.bridges.len());
    let nodes = segments + bridges + drawing.stations.len();
    let mut parts = ConnectedParts { parent: (0..nodes as u32).collect(), segments, bridges };
    let edges = edges(work, &parts);
    for (number, edge) in edges.iter().enumerate() {
        if !parts.join(edge.ends[0], edge.ends[1]) {
            complain(work, &parts, &edges[..number], *edge);
            return None;
        }
    }
    Some(parts)
}

impl ConnectedParts {
    /// The part that a station belongs to.
    pub(super) fn of_station(&self, work: &DrawingBuilder<'_>, station: StationId) -> u32 {
        match work.drawing.station(station).attachment {
            Attachment::Segment(segment, _) => self.root(segment.0),
            Attachment::Link(_) => self.root(self.station_node(station)),
        }
    }

    fn station_node(&self, station: StationId) -> u32 {
        (self.segments + self.bridges) as u32 + station.0
    }

    fn end_node(&self, end: End) -> u32 {
        match end {
            End::Station(station) => self.station_node(station),
            End::Bridge(bridge) => self.segments as u32 + bridge.0,
        }
    }

    fn root(&self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            node = self.parent[node as usize];
        }
        node
    }

    /// Joins two nodes' parts; false if they were one part already.
    fn join(&mut self, left: u32, right: u32) -> bool {
        let (left, right) = (self.shortened(left), self.shortened(right));
        self.parent[left as usize] = right;
        left != right
    }

    /// The root of a part; the search also shortens the path for later searches (path halving).
    fn shortened(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[node as usize];
            self.parent[node as usize] = self.parent[above as usize];
            node = above;
        }
        node
    }

    fn name<'a>(&self, work: &'a DrawingBuilder<'_>, node: u32) -> &'a str {
        let node = node as usize;
        if node < self.segments {
            &work.drawing.segments[node].name
        } else if node < self.segments + self.bridges {
            &work.drawing.bridges[node - self.segments].name
        } else {
            &work.drawing.stations[node - self.segments - self.bridges].name
        }
    }
}

fn edges(work: &DrawingBuilder<'_>, parts: &ConnectedParts) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (number, bridge) in work.drawing.bridges.iter().enumerate() {
        for (segment, _) in &bridge.segments {
            edges.push(Edge {
                ends: [(parts.segments + number) as u32, segment.0],
                link: None,
                bridge: number,
            });
        }
    }
    for (number, link) in work.drawing.links.iter().enumerate() {
        let ends = link.ends.map(|end| parts.end_node(end));
        edges.push(Edge { ends, link: Some(number), bridge: 0 });
    }
    edges
}

/// Names the loop that `closing` closes.
fn complain(work: &DrawingBuilder<'_>, parts: &ConnectedParts, before: &[Edge], closing: Edge) {
    let way = way(parts.parent.len(), before, closing.ends);
    let names: Vec<&str> =
        way.iter().chain(way.first()).map(|node| parts.name(work, *node)).collect();
    let spot = match closing.link {
        Some(link) => &work.written.links[work.link_groups[link]].spot,
        None => &work.written.bridges[work.bridge_groups[closing.bridge]].spot,
    };
    let message =
        format!("this closes a loop, in which frames would circulate for ever: {}", shown(&names));
    work.problems.note(spot, message);
}

/// A long way without its middle.
fn shown(names: &[&str]) -> String {
    const ENDS: usize = 8;
    if names.len() <= 2 * ENDS {
        return names.join(" - ");
    }
    format!("{} - ... - {}", names[..ENDS].join(" - "), names[names.len() - ENDS..].join(" - "))
}

/// The way from one node to another along `edges`, both included.
fn way(nodes: usize, edges: &[Edge], [from, to]: [u32; 2]) -> Vec<u32> {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for edge in edges {
        neighbours[edge.ends[0] as usize].push(edge.ends[1]);
        neighbours[edge.ends[1] as usize].push(edge.ends[0]);
    }
    let mut came_from = vec![u32::MAX; nodes];
    let mut queue = std::collections::VecDeque::from([from]);
    came_from[from as usize] = from;
    while let Some(node) = queue.pop_front() {
        for &next in &neighbours[node as usize] {
            if came_from[next as usize] == u32::MAX {
                came_from[next as usize] = node;
                queue.push_back(next);
            }
        }
    }
    let mut way = vec![to];
    let mut node = to;
    while node != from && came_from[node as usize] != u32::MAX {
        node = came_from[node as usize];
        way.push(node);
    }
    way
}
