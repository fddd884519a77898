//! The network as a tree: segments, bridges, and stations at the ends of links; and the servers on
//! its branches.

use btu_network::{Attachment, Discipline, Drawing, End, StationId};
use btu_units::Span;

use super::server::{FrameServer, Nature, ServerLocation, star};

/// No node, no server.
pub(super) const NONE: u32 = u32::MAX;

/// The tree (one for each connected part) and its servers.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) servers: Vec<FrameServer>,
    /// The node above each; its own for a root.
    pub(super) parent: Vec<u32>,
    /// Distance from the root.
    pub(super) depth: Vec<u32>,
    /// Nodes from the roots outwards.
    pub(super) order: Vec<u32>,
    /// The branch to the node above.
    pub(super) branch: Vec<Branch>,
    /// The node of each station.
    pub(super) node: Vec<u32>,
    /// The server from each station of a star to its switch; the one back comes next.
    pub(super) line: Vec<u32>,
    /// The server of a node's segment.
    pub(super) medium: Vec<u32>,
}

/// The servers on the way along a branch: a bridge that is left, and a line or medium.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    /// From the node to the one above it.
    pub(super) up: [u32; 2],
    /// From the node above it.
    pub(super) down: [u32; 2],
}

/// A branch with both its nodes.
#[derive(Debug, Clone, Copy)]
struct Edge {
    ends: [u32; 2],
    /// From the first to the second end, and back.
    servers: [[u32; 2]; 2],
}

impl Tree {
    /// The tree of `drawing`.
    pub(super) fn of(drawing: &Drawing) -> Self {
        let mut plan = TreeBuilder::new(drawing);
        plan.media();
        plan.bridges();
        plan.station_lines();
        plan.links();
        plan.grow()
    }

    /// The root above a node.
    pub(super) fn root(&self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            node = self.parent[node as usize];
        }
        node
    }
}

struct TreeBuilder<'a> {
    drawing: &'a Drawing,
    servers: Vec<FrameServer>,
    edges: Vec<Edge>,
    medium: Vec<u32>,
    line: Vec<u32>,
    first_bridge: u32,
}

impl<'a> TreeBuilder<'a> {
    fn new(drawing: &'a Drawing) -> Self {
        let nodes = drawing.segments.len() + drawing.bridges.len() + drawing.stations.len();
        Self {
            drawing,
            servers: Vec::new(),
            edges: Vec::new(),
            medium: vec![NONE; nodes],
            line: vec![NONE; drawing.stations.len()],
            first_bridge: 0,
        }
    }

    fn add(&mut self, server: FrameServer) -> u32 {
        self.servers.push(server);
        self.servers.len() as u32 - 1
    }

    /// Two servers of opposite directions.
    fn add_pair(&mut self, there: FrameServer, back: FrameServer) -> u32 {
        let first = self.servers.len() as u32;
        self.servers.push(FrameServer { back: first + 1, ..there });
        self.servers.push(FrameServer { back: first, ..back });
        first
    }

    fn media(&mut self) {
        let mut seats = vec![0_u32; self.drawing.segments.len()];
        for station in &self.drawing.stations {
            if let Attachment::Segment(segment, _) = station.attachment {
                seats[segment.0 as usize] += 1;
            }
        }
        for (segment, _) in self.drawing.bridges.iter().flat_map(|bridge| &bridge.segments) {
            seats[segment.0 as usize] += 1;
        }
        for (number, segment) in self.drawing.segments.iter().enumerate() {
            if let Some(server) =
                FrameServer::of_segment(number as u32, &segment.medium, seats[number])
            {
                self.medium[number] = self.servers.len() as u32;
                let own = self.servers.len() as u32;
                self.add(FrameServer { back: own, ..server });
            }
        }
    }

    fn bridges(&mut self) {
        self.first_bridge = self.servers.len() as u32;
        for (number, bridge) in self.drawing.bridges.iter().enumerate() {
            let own = self.servers.len() as u32;
            self.add(FrameServer {
                back: own,
                ..FrameServer::of_bridge(number as u32, bridge.latency)
            });
        }
        for (number, bridge) in self.drawing.bridges.iter().enumerate() {
            for (segment, _) in &bridge.segments {
                self.port(number as u32, segment.0);
            }
        }
    }

    /// A bridge's port on a segment. Frames that come from the segment were carried by it before.
    fn port(&mut self, bridge: u32, segment: u32) {
        let place = |up| ServerLocation::BridgeLine { segment, bridge, up };
        let [onto, from] = match star(self.drawing, segment) {
            None => [self.medium[segment as usize], NONE],
            Some(star) => {
                // What a bridge sends waits in its own buffer.
                let buffer =
                    Discipline::TailDrop { limit: self.drawing.bridges[bridge as usize].buffer };
                let up = FrameServer {
                    queue: Some(buffer),
                    ..FrameServer::of_line(place(true), &star.up, Span::ZERO)
                };
                let pair =
                    self.add_pair(up, FrameServer::of_line(place(false), &star.down, star.latency));
                [pair, pair + 1]
            }
        };
        let node = self.bridge_node(bridge);
        let servers = [[self.first_bridge + bridge, onto], [NONE, from]];
        self.edges.push(Edge { ends: [node, segment], servers });
    }

    fn station_lines(&mut self) {
        for (number, station) in self.drawing.stations.iter().enumerate() {
            let Attachment::Segment(segment, _) = station.attachment else { continue };
            let Some(star) = star(self.drawing, segment.0) else { continue };
            let place =
                |up| ServerLocation::StationLine { segment: segment.0, station: number as u32, up };
            let up = FrameServer::of_line(place(true), &star.up, Span::ZERO);
            self.line[number] =
                self.add_pair(up, FrameServer::of_line(place(false), &star.down, star.latency));
        }
    }

    fn links(&mut self) {
        for (number, link) in self.drawing.links.iter().enumerate() {
            let place = |forth| ServerLocation::Link { link: number as u32, forth };
            let forth = FrameServer::of_line(place(true), &link.forth, Span::ZERO);
            let pair =
                self.add_pair(forth, FrameServer::of_line(place(false), &link.back, Span::ZERO));
            let leaving = link.ends.map(|end| match end {
                End::Station(_) => NONE,
                End::Bridge(bridge) => self.first_bridge + bridge.0,
            });
            let ends = link.ends.map(|end| match end {
                End::Station(station) => self.station_node(station),
                End::Bridge(bridge) => self.bridge_node(bridge.0),
            });
            self.edges.push(Edge { ends, servers: [[leaving[0], pair], [leaving[1], pair + 1]] });
        }
    }

    fn bridge_node(&self, bridge: u32) -> u32 {
        self.drawing.segments.len() as u32 + bridge
    }

    fn station_node(&self, station: StationId) -> u32 {
        (self.drawing.segments.len() + self.drawing.bridges.len()) as u32 + station.0
    }

    /// Breadth first from every node that was not reached before.
    fn grow(self) -> Tree {
        let nodes = self.medium.len();
        let neighbours = self.neighbours(nodes);
        let mut tree = Tree {
            parent: vec![NONE; nodes],
            depth: vec![0; nodes],
            order: Vec::with_capacity(nodes),
            branch: vec![Branch { up: [NONE; 2], down: [NONE; 2] }; nodes],
            node: self.station_nodes(),
            line: self.line,
            medium: self.medium,
            servers: self.servers,
        };
        for root in 0..nodes as u32 {
            if tree.parent[root as usize] != NONE {
                continue;
            }
            tree.parent[root as usize] = root;
            let mut next = tree.order.len();
            tree.order.push(root);
            while let Some(&node) = tree.order.get(next) {
                next += 1;
                for &edge in &neighbours[node as usize] {
                    tree.attach(node, self.edges[edge as usize]);
                }
            }
        }
        tree.number_lines();
        tree
    }

    fn neighbours(&self, nodes: usize) -> Vec<Vec<u32>> {
        let mut neighbours = vec![Vec::new(); nodes];
        for (number, edge) in self.edges.iter().enumerate() {
            edge.ends.iter().for_each(|end| neighbours[*end as usize].push(number as u32));
        }
        neighbours
    }

    fn station_nodes(&self) -> Vec<u32> {
        let stations = self.drawing.stations.iter().enumerate();
        let node = |(number, station): (usize, &btu_network::Station)| match station.attachment {
            Attachment::Segment(segment, _) => segment.0,
            Attachment::Link(_) => self.station_node(StationId(number as u32)),
        };
        stations.map(node).collect()
    }
}

impl Tree {
    /// Numbers the lines on every way: from the sender's own up to a root, and down to the
    /// receiver's.
    fn number_lines(&mut self) {
        let depth = |node: usize| i64::from(self.depth[node]);
        let branches = self
            .branch
            .iter()
            .enumerate()
            .flat_map(|(node, branch)| [(branch.up, -depth(node)), (branch.down, depth(node))]);
        let own = self.line.iter().filter(|line| **line != NONE);
        let own = own.flat_map(|line| [([*line, NONE], i64::MIN), ([*line + 1, NONE], i64::MAX)]);
        for (servers, order) in branches.chain(own) {
            for server in servers.into_iter().filter(|server| *server != NONE) {
                let server = &mut self.servers[server as usize];
                server.order = matches!(server.nature, Nature::Line).then_some(order);
            }
        }
    }

    /// Attaches the other end of `edge` below `node`, unless it has a parent already.
    fn attach(&mut self, node: u32, edge: Edge) {
        let first = edge.ends[0] == node;
        let below = edge.ends[usize::from(first)];
        if self.parent[below as usize] != NONE {
            return;
        }
        self.parent[below as usize] = node;
        self.depth[below as usize] = self.depth[node as usize] + 1;
        let [there, back] = edge.servers;
        self.branch[below as usize] =
            if first { Branch { up: back, down: there } } else { Branch { up: there, down: back } };
        self.order.push(below);
    }
}
