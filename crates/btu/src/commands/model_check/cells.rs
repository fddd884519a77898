//! The replications of all points as cells of the runner: in each, a process in the emulated network
//! offers packets.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use btu_contract::experiment::{
    CellSetting, Facts, Field, Frame, Measured, Named, Observation, Raised, Scripts, Slot,
};
use btu_contract::network::HostName;
use btu_contract::program::{Part, ProgramOrder, ProgramStep, Programs};
use btu_contract::script::Script;
use btu_network::Drawing;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::sending::unsendable;
use super::words::{PointOrder, Record};

/// How long a replication may take in addition to its own duration: for the last packets, for the
/// start, and for a busy machine.
const FURTHER: Span = Span::from_seconds(30);

/// A replication of a point, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Replication {
    pub(super) point: usize,
    pub(super) number: u32,
}

impl fmt::Display for Replication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "point {}, replication {}", self.point + 1, self.number + 1)
    }
}

/// The replications of all points, one point after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Replications {
    frame: Frame,
    /// What is measured at each point.
    pub(super) orders: Vec<PointOrder>,
    cells: Vec<Replication>,
    /// The runtime directory of the network that is up.
    runtime: PathBuf,
}

impl Replications {
    /// So many replications at each point with packets that can be sent. Each network is raised with
    /// this runtime directory; `source` is their origin.
    pub(super) fn new(orders: Vec<PointOrder>, count: u32, source: &str, runtime: PathBuf) -> Self {
        let mut cells = Vec::new();
        for (point, order) in orders.iter().enumerate() {
            if unsendable(&order.drawing, order.duration).is_empty() {
                cells.extend((0..count).map(|number| Replication { point, number }));
            }
        }
        let (seed, duration) =
            orders.first().map_or((0, Span::ZERO), |order| (order.seed, order.duration));
        let network = Raised {
            name: source.to_owned(),
            text: String::new(),
            stations: Vec::new(),
            congestion_control: None,
            ipv6: false,
        };
        let frame = Frame {
            version: Self::VERSION,
            seed,
            profile: "standard".to_owned(),
            blocks: cells.len() as u32,
            budget: Span::from_nanoseconds(u64::MAX),
            deadline: duration + FURTHER,
            left_out: Vec::new(),
            network: Field::Drawing(network),
        };
        Self { frame, orders, cells, runtime }
    }

    /// The network of the next cell; `None` if all are measured.
    pub(super) fn network_after(&self, done: &[Measured<Replication>]) -> Option<Drawing> {
        Some(self.orders.get(self.cells.get(done.len())?.point)?.network())
    }

    /// The file with the order of a point, in the scratch directory.
    pub(super) fn order_file(point: usize) -> String {
        format!("point-{point}.json")
    }

    /// Whether the network of this cell, as it was left, is that of the next one. Frames that are
    /// still inside would be in the next accounts.
    fn serves(&self, last: &Measured<Replication>, next: Replication) -> bool {
        let network = |cell: Replication| self.orders[cell.point].network();
        last.is_valid() && last.seen.wire.held() == 0 && network(last.cell) == network(next)
    }
}

impl Named for Replications {
    const STUDY: &'static str = "check";
    const COMMAND: &'static str = "btu model";
    const VERSION: u32 = 1;
}

impl Scripts for Replications {
    const IN_BLOCKS: bool = false;
    type Cell = Replication;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn cells(&self) -> Vec<Replication> {
        self.cells.clone()
    }

    /// Every block is one cell. A run ends before a cell that needs another network.
    fn missing(&self, block: u32, done: &[Measured<Replication>]) -> Vec<Slot<Replication>> {
        let Some(&cell) = self.cells.get(done.len()) else { return Vec::new() };
        let is_ready = block == 0 || done.last().is_some_and(|last| self.serves(last, cell));
        let slot = Slot { cell, block: done.len() as u32, position: 0 };
        if is_ready { vec![slot] } else { Vec::new() }
    }

    fn sure_after(&self, _block: u32, done: &[Measured<Replication>]) -> usize {
        self.cells.len().saturating_sub(done.len() + 1)
    }

    fn script(&self, _cell: &Replication, _setting: &CellSetting) -> Script {
        Script::default()
    }

    /// One process sends and receives in all stations; it runs in the first one.
    fn programs(&self, cell: &Replication, setting: &CellSetting) -> Programs {
        let order = setting.scratch.join(Self::order_file(cell.point));
        let paths = [&self.runtime, &order].map(|path| path.display().to_string());
        let mut command = ["/proc/self/exe", "internal", "offer"].map(str::to_owned).to_vec();
        command.extend(paths);
        command.push(cell.number.to_string());
        let step = |host| ProgramStep {
            name: "the offer of packets".to_owned(),
            host,
            part: Part::Measured,
            order: ProgramOrder {
                command,
                environment: BTreeMap::new(),
                // A directory of its own would hide the network's.
                directory: Some("/".into()),
                room: Bytes::ZERO,
                deadline: setting.deadline,
                ready: None,
            },
        };
        let first = self.orders[cell.point].drawing.stations.first().map(HostName::from);
        Programs { lead: Span::ZERO, steps: first.map(step).into_iter().collect() }
    }

    fn faults(&self, _cell: &Replication, seen: &Observation) -> Vec<String> {
        record(seen).err().into_iter().collect()
    }

    fn facts(&self, cell: &Replication, seen: &Observation) -> Facts {
        let PointOrder { duration, warm_up, .. } = self.orders[cell.point];
        let counted = duration.saturating_sub(warm_up).seconds();
        let octets = |record: Record| record.flows.iter().map(|flow| flow.octets).sum::<u64>();
        let goodput = record(seen).map(|record| octets(record) as f64 * 8.0 / counted);
        Facts { goodput_bits_per_second: goodput.ok(), ..Facts::default() }
    }
}

/// The record that the process printed.
pub(super) fn record(seen: &Observation) -> Result<Record, String> {
    let program = seen.programs.first().ok_or("the offer of packets was not started")?;
    if let Some(fault) = program.fault() {
        return Err(fault);
    }
    serde_json::from_str(&program.ended.output.text)
        .map_err(|error| format!("understanding the record of the packets: {error}"))
}

#[cfg(test)]
mod tests {
    use btu_contract::record::{ElementAccount, WireAccount};

    use super::*;

    /// Two replications at each of three points of four; the last one has a network of its own.
    fn plan() -> Replications {
        let order = |(rate, size): (&str, &str)| {
            let text = format!(
                "[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"{rate}\"\n\
                 [traffic.load]\nfrom = \"a\"\nto = \"b\"\nsize = {size}\nload = \"30 %\"\n"
            );
            let drawing = Drawing::read(&text, "line.toml").unwrap();
            PointOrder { drawing, seed: 1, duration: Span::from_seconds(1), warm_up: Span::ZERO }
        };
        let (small, large) = ("\"500 B\"", "\"1000 B\"");
        let no_packets = "{ exponential = \"500 B\" }";
        let points =
            [("1 Mb/s", small), ("1 Mb/s", no_packets), ("1 Mb/s", large), ("2 Mb/s", small)];
        Replications::new(points.map(order).to_vec(), 2, "line.toml", "/run/check".into())
    }

    fn done(point: usize, number: u32, held: u64) -> Measured<Replication> {
        let element = ElementAccount {
            name: "line/forth".to_owned(),
            received: held,
            duplicated: 0,
            delivered: 0,
            dropped: Vec::new(),
            held,
        };
        let wire = WireAccount { elements: vec![element], ..WireAccount::default() };
        let seen = Observation { wire, ..Observation::default() };
        let cell = Replication { point, number };
        Measured { cell, block: 0, position: 0, faults: Vec::new(), seen }
    }

    fn next(block: u32, done: &[Measured<Replication>]) -> Option<(usize, u32)> {
        let missing = plan().missing(block, done);
        missing.first().map(|slot| (slot.cell.point, slot.cell.number))
    }

    #[test]
    fn a_run_goes_on_while_its_network_serves() {
        let mut cells = vec![done(0, 0, 0)];
        assert_eq!(next(0, &[]), Some((0, 0)));
        assert_eq!(next(1, &cells), Some((0, 1)));
        cells.push(done(0, 1, 1));
        assert_eq!(next(2, &cells), None, "a frame is still inside");
        assert_eq!(next(0, &cells), Some((2, 0)), "the network is new");
        cells.push(done(2, 0, 0));
        assert_eq!((next(1, &cells), plan().sure_after(1, &cells)), (Some((2, 1)), 2));
        cells.push(done(2, 1, 0));
        assert_eq!(next(2, &cells), None, "the next point has another network");
        cells.extend([done(3, 0, 0), done(3, 1, 0)]);
        assert_eq!((next(0, &cells), plan().network_after(&cells)), (None, None));
    }

    #[test]
    fn a_failed_process_ends_the_run_with_its_last_words() {
        let mut failed = done(0, 0, 0);
        failed.faults = vec!["the offer of packets on a ended with exit code 1".to_owned()];
        assert_eq!(next(1, &[failed]), None);
        assert_eq!(
            record(&Observation::default()).unwrap_err(),
            "the offer of packets was not started"
        );
    }
}
