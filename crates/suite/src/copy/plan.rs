//! The plan of `btu copy`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

use super::background::{background_faults, background_use};
use super::verdict::{CopyVerdict, judge};
use super::{Background, BackgroundUse, CopyCell, DATAGRAM, FileEnd, FilePlace, Program, Storage, plots};
use crate::activity::{Activity, FileCopy, FileReceive, FileSend, Meeting, Order, UdpReceive, UdpSend};
use crate::border;
use crate::experiment::{CellSetting, Experiment, Facts, Frame, Measured, Observation};
use crate::network::{HostName, Impairments};
use crate::record::{Outcome, Report};
use crate::script::{Role, Script, Step};

/// Everything that decides a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyPlan {
    /// What every plan says; of the stations the first has the file, the second gets it.
    #[serde(flatten)]
    pub frame: Frame,
    /// What copies.
    #[serde(deserialize_with = "border::levels")]
    pub programs: Vec<Program>,
    /// How large the files are.
    #[serde(rename = "size_bytes", deserialize_with = "border::levels")]
    pub sizes: Vec<Bytes>,
    /// What else is on the network.
    #[serde(rename = "background_thousandths", deserialize_with = "border::levels")]
    pub backgrounds: Vec<Background>,
    /// What the files stand on. The first one everywhere; the others for the largest file on the quiet network, which is
    /// enough to tell the share of storage from that of the program.
    #[serde(deserialize_with = "border::levels")]
    pub storages: Vec<Storage>,
    /// Who makes the background, and who gets it.
    #[serde(deserialize_with = "border::levels")]
    pub pairs: Vec<[HostName; 2]>,
    /// The rate of datagrams of [`DATAGRAM`], counted over the payload, that takes all of the network's time; zero where
    /// that is not known, and then there is no background.
    #[serde(rename = "full_bits_per_second")]
    pub full: BitRate,
    /// How long the background is alone before the copy starts.
    #[serde(rename = "lead_ns")]
    pub lead: Span,
}

/// What is said of a cell by both of its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<'a> {
    /// The end that keeps the time, and its report.
    pub(super) sent: &'a FileEnd,
    pub(super) command: &'a Report,
    /// The other one; the copy itself where one host does both.
    pub(super) received: &'a FileEnd,
    /// SHA-256 of the source.
    pub(super) source_digest: &'a str,
}

/// What the ends of a copy account for.
pub(super) fn ends(seen: &Observation) -> Option<Ends<'_>> {
    let reports = || seen.reports.iter().filter_map(|placed| placed.result.as_ref().ok());
    let received = || {
        reports().find_map(|report| match &report.outcome {
            Outcome::FileReceived(end) => Some(end),
            _ => None,
        })
    };
    reports().find_map(|command| match &command.outcome {
        Outcome::FileSent(sent) => Some(Ends { sent, command, received: received()?, source_digest: &sent.digest }),
        Outcome::FileCopied(copied) => {
            let (sent, received) = (&copied.copy, &copied.copy);
            Some(Ends { sent, command, received, source_digest: &copied.source_digest })
        }
        _ => None,
    })
}

impl CopyPlan {
    /// Most programs, sizes, backgrounds, and pairs of stations.
    pub const MOST_LEVELS: usize = border::MOST_LEVELS;

    /// Who has the file, and who gets it.
    pub fn hosts(&self) -> [Option<&HostName>; 2] {
        self.frame.network.ends()
    }

    /// What every cell that has no background would be, in the plan's order.
    fn quiet_cells(&self) -> Vec<CopyCell> {
        let largest = self.sizes.iter().max();
        let mut cells = Vec::new();
        for &program in &self.programs {
            for (place, &storage) in self.storages.iter().enumerate() {
                let sizes = self.sizes.iter().filter(|size| place == 0 || Some(*size) == largest);
                let background = Background::QUIET;
                cells.extend(sizes.map(|&size| CopyCell { program, size, storage, background }));
            }
        }
        cells
    }

    /// Whether a cell is measured: a local copy has no network, and storage is compared on the quiet one.
    fn is_measured(&self, cell: &CopyCell) -> bool {
        let everywhere = cell.program != Program::Local && Some(&cell.storage) == self.storages.first();
        cell.background.is_quiet() || everywhere
    }

    /// The cell with this background, if it is measured.
    fn beside(&self, background: Background, quiet: CopyCell) -> Option<CopyCell> {
        Some(CopyCell { background, ..quiet }).filter(|cell| self.is_measured(cell))
    }

    fn step(host: &HostName, role: Role, peer: Option<usize>, activity: Activity, setting: &CellSetting) -> Step {
        Step { host: host.clone(), role, peer, order: Order::new(setting.seed, setting.deadline, activity) }
    }

    /// Sinks and sources of the background; they are stopped when the copy is over.
    fn background(&self, cell: &CopyCell, setting: &CellSetting, first: usize) -> Vec<Step> {
        if cell.background.is_quiet() {
            return Vec::new();
        }
        let (token, message, duration) = (setting.token, DATAGRAM, setting.deadline);
        let offered = cell.background.offered(self.full, self.pairs.len());
        let expected = offered.bits_per_second() as f64 * duration.seconds() / message.bits();
        let steps = self.pairs.iter().enumerate().flat_map(|(number, [source, sink])| {
            let meeting = Meeting::Listen(UNSET);
            // A margin for rounding; more than this is not sent.
            let expected_datagrams = (expected as u64).saturating_add(16);
            let receive =
                Activity::UdpReceive(UdpReceive { meeting, token, message, expected_datagrams, offered: None });
            let meeting = Meeting::Connect(UNSET_PEER);
            let send = Activity::UdpSend(UdpSend { meeting, token, message, offered, duration });
            let peer = Some(first + 2 * number);
            [
                Self::step(sink, Role::Support, None, receive, setting),
                Self::step(source, Role::Support, peer, send, setting),
            ]
        });
        steps.collect()
    }

    /// What became of the background of a cell.
    pub(super) fn background_use(&self, cell: &CopyCell, seen: &Observation) -> Option<BackgroundUse> {
        let Ends { sent, command, .. } = ends(seen)?;
        let over = command.started + sent.marks.durable;
        if cell.background.is_quiet() { None } else { background_use(seen, (command.started, over), self.full) }
    }
}

/// Filled in before the order leaves.
const UNSET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const UNSET_PEER: SocketAddr = SocketAddr::new(UNSET, 0);

impl Experiment for CopyPlan {
    const SUITE: &'static str = "copy";
    const COMMAND: &'static str = "btu copy";
    const VERSION: u32 = 1;

    type Cell = CopyCell;
    type Verdict = CopyVerdict;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn cells(&self) -> Vec<CopyCell> {
        let quiet = self.quiet_cells();
        let beside = |&background: &Background| -> Vec<CopyCell> {
            quiet.iter().filter_map(|cell| self.beside(background, *cell)).collect()
        };
        self.backgrounds.iter().flat_map(beside).collect()
    }

    /// A split plot: levels of background in random order, and while one lasts all of its cells.
    fn order(&self, block: u32) -> Vec<CopyCell> {
        let (mut levels, mut quiet) = (self.backgrounds.clone(), self.quiet_cells());
        levels.sort_unstable();
        quiet.sort_unstable();
        let plots = plots(self.frame.seed, block, levels.len(), quiet.len());
        let cells = plots.iter().flat_map(|plot| plot.cells.iter().map(move |&index| (plot.level, index)));
        cells.filter_map(|(level, index)| self.beside(*levels.get(level)?, *quiet.get(index)?)).collect()
    }

    fn script(&self, cell: &CopyCell, setting: &CellSetting) -> Script {
        let CopyCell { program, size, storage, .. } = *cell;
        let file = FilePlace { size, storage, directory: setting.scratch.clone() };
        let [Some(sender), Some(receiver)] = self.hosts() else {
            return Script { impairments: Impairments::new(), steps: Vec::new() };
        };
        let network = |host, peer, activity| Self::step(host, Role::Network, peer, activity, setting);
        // A file server does not know which write is the last.
        let taking = if matches!(program, Program::Nfs(_)) { Role::Support } else { Role::Network };
        let mut steps = if program == Program::Local {
            vec![network(sender, None, Activity::FileCopy(FileCopy { file }))]
        } else {
            let token = setting.token;
            let wait = if cell.background.is_quiet() { Span::ZERO } else { self.lead };
            let receive = FileReceive { program, on: UNSET, token, file: file.clone() };
            let send = FileSend { program, to: UNSET_PEER, token, file, wait };
            vec![
                Self::step(receiver, taking, None, Activity::FileReceive(receive), setting),
                network(sender, Some(0), Activity::FileSend(send)),
            ]
        };
        steps.extend(self.background(cell, setting, steps.len()));
        Script { impairments: Impairments::new(), steps }
    }

    fn faults(&self, cell: &CopyCell, seen: &Observation) -> Vec<String> {
        let Some(Ends { sent, received, source_digest, .. }) = ends(seen) else {
            return vec!["an end of the copy has no account".to_owned()];
        };
        let mut faults = background_faults(seen);
        let sizes = [sent.bytes, received.bytes];
        if sizes != [cell.size; 2] {
            let [sent, received] = sizes.map(Bytes::count);
            faults.push(format!("of {} bytes {sent} were sent, and {received} are stored", cell.size.count()));
        }
        if received.digest != source_digest {
            faults.push("what is stored is not what was sent: another SHA-256".to_owned());
        }
        if !(sent.marks.ascend() && received.marks.ascend()) {
            faults.push("a copy was connected, begun, complete and durable in another order".to_owned());
        }
        faults
    }

    fn facts(&self, cell: &CopyCell, seen: &Observation) -> Facts {
        let duration = ends(seen).map(|ends| ends.sent.marks.durable).filter(|span| *span > Span::ZERO);
        let goodput_bits_per_second = duration.map(|span| cell.size.bits() / span.seconds());
        Facts { message: cell.size, goodput_bits_per_second, duration }
    }

    fn judge(&self, cells: &[Measured<CopyCell>]) -> CopyVerdict {
        judge(self, cells)
    }
}

#[cfg(test)]
mod tests;
