//! Traffic equations: how often the frames of a flow pass each server.
//!
//! Each sender sends to each target but itself equally often, so the traffic on a branch of the
//! tree follows from the numbers of senders and targets on either side of it, without examining
//! each pair.

use btu_network::{Drawing, Flow, StationId, Target};

use super::tree::{NONE, Tree};

/// The number of passages at each server.
#[derive(Debug, Clone, Default)]
pub(super) struct Route {
    /// Servers and frames per second there, if every sender sends one a second.
    pub(super) load: Vec<(u32, f64)>,
    /// Servers and how often a frame passes them, in the mean.
    pub(super) way: Vec<(u32, f64)>,
}

/// Routes one flow after the other.
#[derive(Debug)]
pub(super) struct Router<'a> {
    drawing: &'a Drawing,
    tree: &'a Tree,
    counts: Vec<StationCounts>,
    touched: Vec<u32>,
    sum: Vec<f64>,
    passed: Vec<u32>,
}

/// The stations at a node and below it.
#[derive(Debug, Clone, Copy, Default)]
struct StationCounts {
    touched: bool,
    /// Senders that are no targets.
    senders: u64,
    /// Senders that are targets too.
    both: u64,
    targets: u64,
}

impl<'a> Router<'a> {
    pub(super) fn new(drawing: &'a Drawing, tree: &'a Tree) -> Self {
        Self {
            drawing,
            tree,
            counts: vec![StationCounts::default(); tree.parent.len()],
            touched: Vec::new(),
            sum: vec![0.0; tree.servers.len()],
            passed: Vec::new(),
        }
    }

    /// The path of a flow's frames.
    pub(super) fn route(&mut self, flow: &Flow) -> Route {
        let load = match &flow.to {
            Target::Station(one) => self.even(&flow.from, std::slice::from_ref(one)),
            Target::AnyOf(list) => self.even(&flow.from, list),
            Target::Next => self.neighbours(&flow.from),
            Target::Broadcast => return self.everywhere(&flow.from),
        };
        let senders = flow.from.len() as f64;
        let way = load.iter().map(|(server, unit)| (*server, unit / senders)).collect();
        Route { load, way }
    }

    /// Each sender to each target but itself.
    fn even(&mut self, from: &[StationId], to: &[StationId]) -> Vec<(u32, f64)> {
        let all = self.count(from, to);
        let targets = to.len() as f64;
        // The frames of senders to one target that is not among them.
        let share = |senders: u64, both: u64| {
            let of_both = if both == 0 { 0.0 } else { both as f64 / (targets - 1.0) };
            senders as f64 / targets + of_both
        };
        for place in 0..self.touched.len() {
            let node = self.touched[place] as usize;
            let (here, branch) = (self.counts[node], self.tree.branch[node]);
            let up = share(here.senders, here.both) * (all.targets - here.targets) as f64;
            let down =
                share(all.senders - here.senders, all.both - here.both) * here.targets as f64;
            self.pass(branch.up, up);
            self.pass(branch.down, down);
        }
        self.send(from);
        for target in to {
            let line = self.tree.line[target.0 as usize];
            if line != NONE {
                let sends = u64::from(from.binary_search(target).is_ok());
                self.pass([line + 1, NONE], share(all.senders, all.both - sends));
            }
        }
        self.forget();
        self.take()
    }

    /// Counts senders and targets below every node, and in total.
    fn count(&mut self, from: &[StationId], to: &[StationId]) -> StationCounts {
        let mut all = StationCounts { targets: to.len() as u64, ..StationCounts::default() };
        for target in to {
            let node = self.touch(*target);
            self.counts[node].targets += 1;
        }
        for sender in from {
            let node = self.touch(*sender);
            if to.binary_search(sender).is_ok() {
                self.counts[node].both += 1;
                all.both += 1;
            } else {
                self.counts[node].senders += 1;
                all.senders += 1;
            }
        }
        let depth = &self.tree.depth;
        self.touched.sort_unstable_by_key(|node| std::cmp::Reverse(depth[*node as usize]));
        for node in &self.touched {
            let (here, above) = (self.counts[*node as usize], self.tree.parent[*node as usize]);
            if above != *node {
                let above = &mut self.counts[above as usize];
                above.senders += here.senders;
                above.both += here.both;
                above.targets += here.targets;
            }
        }
        all
    }

    /// The node of a station, with all above it among the touched ones.
    fn touch(&mut self, station: StationId) -> usize {
        let own = self.tree.node[station.0 as usize];
        let mut node = own;
        while !self.counts[node as usize].touched {
            self.counts[node as usize].touched = true;
            self.touched.push(node);
            node = self.tree.parent[node as usize];
        }
        own as usize
    }

    fn forget(&mut self) {
        for node in self.touched.drain(..) {
            self.counts[node as usize] = StationCounts::default();
        }
    }

    /// The frames that senders put on their own media and lines.
    fn send(&mut self, from: &[StationId]) {
        for sender in from {
            let line = self.tree.line[sender.0 as usize];
            let medium = self.tree.medium[self.tree.node[sender.0 as usize] as usize];
            self.pass([line, medium], 1.0);
        }
    }

    /// Each sender to the next, the last to the first.
    fn neighbours(&mut self, from: &[StationId]) -> Vec<(u32, f64)> {
        self.send(from);
        for (sender, target) in from.iter().zip(from.iter().cycle().skip(1)) {
            let mut up = self.tree.node[sender.0 as usize];
            let mut down = self.tree.node[target.0 as usize];
            while up != down {
                if self.tree.depth[up as usize] >= self.tree.depth[down as usize] {
                    self.pass(self.tree.branch[up as usize].up, 1.0);
                    up = self.tree.parent[up as usize];
                } else {
                    self.pass(self.tree.branch[down as usize].down, 1.0);
                    down = self.tree.parent[down as usize];
                }
            }
            let line = self.tree.line[target.0 as usize];
            if line != NONE {
                self.pass([line + 1, NONE], 1.0);
            }
        }
        self.take()
    }

    /// Each sender sends to all stations: its frames pass every branch away from the sender. Their
    /// delay is that of frames to one of all stations.
    fn everywhere(&mut self, from: &[StationId]) -> Route {
        let root = self.tree.root(self.tree.node[from[0].0 as usize]);
        let inside =
            |station: &StationId| self.tree.root(self.tree.node[station.0 as usize]) == root;
        let all: Vec<StationId> =
            (0..self.drawing.stations.len() as u32).map(StationId).filter(inside).collect();
        let near: Vec<StationId> = from.iter().copied().filter(inside).collect();
        let way = if all.len() > 1 { self.even(&near, &all) } else { Vec::new() };
        let way =
            way.into_iter().map(|(server, unit)| (server, unit / near.len() as f64)).collect();
        Route { load: self.flood(from), way }
    }

    fn flood(&mut self, from: &[StationId]) -> Vec<(u32, f64)> {
        let mut below = vec![0_u64; self.tree.parent.len()];
        for sender in from {
            below[self.tree.node[sender.0 as usize] as usize] += 1;
        }
        for node in self.tree.order.iter().rev() {
            let above = self.tree.parent[*node as usize];
            if above != *node {
                below[above as usize] += below[*node as usize];
            }
        }
        let mut whole = below.clone();
        for &node in &self.tree.order {
            let above = self.tree.parent[node as usize];
            if above != node {
                whole[node as usize] = whole[above as usize];
                let (here, branch) = (below[node as usize], self.tree.branch[node as usize]);
                self.pass(branch.up, here as f64);
                self.pass(branch.down, (whole[node as usize] - here) as f64);
            }
        }
        self.send(from);
        for (station, node) in self.tree.node.iter().enumerate() {
            let line = self.tree.line[station];
            if line != NONE {
                let own = u64::from(from.binary_search(&StationId(station as u32)).is_ok());
                self.pass([line + 1, NONE], (whole[*node as usize] - own) as f64);
            }
        }
        self.take()
    }

    fn pass(&mut self, servers: [u32; 2], frames: f64) {
        if frames <= 0.0 {
            return;
        }
        for server in servers.into_iter().filter(|server| *server != NONE) {
            if self.sum[server as usize] == 0.0 {
                self.passed.push(server);
            }
            self.sum[server as usize] += frames;
        }
    }

    /// The passages so far, ascending by server; resets the sums.
    fn take(&mut self) -> Vec<(u32, f64)> {
        self.passed.sort_unstable();
        let sum = &mut self.sum;
        self.passed
            .drain(..)
            .map(|server| (server, std::mem::take(&mut sum[server as usize])))
            .collect()
    }
}

/// Reverses a route: it passes every branch in the other direction, and every medium again.
pub(super) fn backwards(route: &Route, tree: &Tree) -> Route {
    let back = |list: &[(u32, f64)]| {
        list.iter().map(|(server, unit)| (tree.servers[*server as usize].back, *unit)).collect()
    };
    Route { load: back(&route.load), way: back(&route.way) }
}
