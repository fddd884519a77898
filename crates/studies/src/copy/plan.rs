//! The plan of `btu copy`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

use super::background::{background_faults, background_use, unsettled};
use super::verdict::{CopyVerdict, judge};
use super::{
    Background, BackgroundUse, Cache, CopyCell, DATAGRAM, Direction, FileEnd, FilePlace, Hold,
    MOST_OFFERED, Marks, Mode, Program, Servo, Storage, plots,
};
use crate::Judged;
use crate::limits::PathLimits;
use btu_contract::activity::{
    Activity, FileClient, FileCopy, FileServer, Order, Rendezvous, UdpReceive, UdpSend,
};
use btu_contract::border;
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, RunFacts, Scripts,
};
use btu_contract::network::{HostName, Impairments};
use btu_contract::record::{Outcome, Report};
use btu_contract::script::{Role, Script, Step};

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyPlan {
    /// The common part of all plans; of the stations the first has the file, the second gets it.
    #[serde(flatten)]
    pub frame: Frame,
    /// The programs that copy the files.
    #[serde(deserialize_with = "border::levels")]
    pub programs: Vec<Program>,
    /// The sizes of the files.
    #[serde(rename = "size_bytes", deserialize_with = "border::levels")]
    pub sizes: Vec<Bytes>,
    /// The other traffic on the network.
    #[serde(rename = "background_thousandths", deserialize_with = "border::levels")]
    pub backgrounds: Vec<Background>,
    /// The storage of the files. The first one everywhere; the others for the largest file on the
    /// quiet network, which is enough to separate the share of storage from that of the program.
    #[serde(deserialize_with = "border::levels")]
    pub storages: Vec<Storage>,
    /// The end that connects, in all cells.
    #[serde(default = "usual", deserialize_with = "border::levels")]
    pub directions: Vec<Direction>,
    /// Whether the source is in the page cache. The first one everywhere; the others for the
    /// largest file on the quiet network, on disk.
    #[serde(default = "usual", deserialize_with = "border::levels")]
    pub caches: Vec<Cache>,
    /// The control of the background's level.
    #[serde(default)]
    pub mode: Mode,
    /// The directory of a share that the sender has mounted, where the program `mount` has copy or
    /// source.
    #[serde(
        with = "btu_contract::path::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub at: Option<PathBuf>,
    /// Whether times of the report of 1989 are in the picture.
    #[serde(default)]
    pub paper: bool,
    /// The hosts that send and receive the background.
    #[serde(deserialize_with = "border::levels")]
    pub pairs: Vec<[HostName; 2]>,
    /// The rate of datagrams of [`DATAGRAM`], counted over the payload, that takes all of the
    /// network's time; zero where that is not known, and then there is no background.
    #[serde(rename = "full_bits_per_second")]
    pub full: BitRate,
    /// The time of the background alone before the copy starts.
    #[serde(rename = "lead_ns")]
    pub lead: Span,
}

/// The only level of a factor that plans of before did not have.
fn usual<T: Default>() -> Vec<T> {
    vec![T::default()]
}

/// The accounts of a cell by both of its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<'a> {
    /// The end that has the file.
    pub(super) sent: &'a FileEnd,
    /// The one that receives it; the copy itself if one host is both ends.
    pub(super) received: &'a FileEnd,
    /// The report of the end that connects and keeps the time, and its marks.
    pub(super) command: &'a Report,
    /// Those of the sender and of the receiver, unless one host is both.
    pub(super) reports: Option<[&'a Report; 2]>,
    pub(super) marks: Marks,
    /// SHA-256 of the source.
    pub(super) source_digest: &'a str,
}

impl<'a> Ends<'a> {
    /// The account of the end that connects.
    pub(super) fn command_end(&self) -> &'a FileEnd {
        if self.marks == self.sent.marks { self.sent } else { self.received }
    }
}

/// The accounts of the ends of a copy.
pub(super) fn ends(direction: Direction, seen: &Observation) -> Option<Ends<'_>> {
    let reports = || seen.reports.iter().filter_map(|placed| placed.result.as_ref().ok());
    let local = reports().find_map(|command| match &command.outcome {
        Outcome::FileCopied(copied) => {
            let (copy, source_digest) = (&copied.copy, copied.source_digest.as_str());
            let (marks, reports) = (copy.marks, None);
            Some(Ends { sent: copy, received: copy, command, reports, marks, source_digest })
        }
        _ => None,
    });
    if local.is_some() {
        return local;
    }
    let (sending, sent) = reports().find_map(|report| match &report.outcome {
        Outcome::FileSent(end) => Some((report, end)),
        _ => None,
    })?;
    let (receiving, received) = reports().find_map(|report| match &report.outcome {
        Outcome::FileReceived(end) => Some((report, end)),
        _ => None,
    })?;
    let (command, marks) = match direction {
        Direction::Put => (sending, sent.marks),
        Direction::Get => (receiving, received.marks),
    };
    let reports = Some([sending, receiving]);
    Some(Ends { sent, received, command, reports, marks, source_digest: &sent.digest })
}

impl CopyPlan {
    /// Most programs, sizes, backgrounds, and pairs of stations.
    pub const MOST_LEVELS: usize = border::MOST_LEVELS;

    /// The host with the file, and the one that receives it.
    pub fn hosts(&self) -> [Option<&HostName>; 2] {
        self.frame.network.ends()
    }

    /// The cells without background, in the plan's order.
    fn quiet_cells(&self) -> Vec<CopyCell> {
        let largest = self.sizes.iter().max();
        let mut cells = Vec::new();
        for &program in &self.programs {
            // A local copy has one direction.
            let directions =
                if program == Program::Local { &[Direction::Put][..] } else { &self.directions };
            for &direction in directions {
                for (place, (storage, cache)) in self.places().into_iter().enumerate() {
                    let sizes =
                        self.sizes.iter().filter(|size| place == 0 || Some(*size) == largest);
                    let background = Background::QUIET;
                    cells.extend(sizes.map(|&size| CopyCell {
                        program,
                        size,
                        direction,
                        storage,
                        cache,
                        background,
                    }));
                }
            }
        }
        cells
    }

    /// The storage of files, and whether they are in the page cache; the default first.
    fn places(&self) -> Vec<(Storage, Cache)> {
        let mut places = Vec::new();
        for &storage in &self.storages {
            // Files in memory are not on another storage.
            let caches = if storage == Storage::Disk { &self.caches } else { &[Cache::Cold][..] };
            places.extend(caches.iter().map(|&cache| (storage, cache)));
        }
        places
    }

    /// Whether a cell is measured: what is copied on one host is not on the network, and storage is
    /// compared on the quiet one.
    fn is_measured(&self, cell: &CopyCell) -> bool {
        let is_usual = self.places().first() == Some(&(cell.storage, cell.cache));
        cell.background.is_quiet() || (!cell.program.is_on_one_host() && is_usual)
    }

    /// The cell with this background, if it is measured.
    fn with_background(&self, background: Background, quiet: CopyCell) -> Option<CopyCell> {
        let cell = CopyCell { background, ..quiet };
        (self.is_measured(&cell) && self.frame.has_time_for(&cell)).then_some(cell)
    }

    fn step(
        host: &HostName,
        role: Role,
        peer: Option<usize>,
        activity: Activity,
        setting: &CellSetting,
    ) -> Step {
        Step {
            host: host.clone(),
            role,
            peer,
            order: Order::new(setting.seed, setting.deadline, activity),
        }
    }

    /// Sinks and sources of the background; they are stopped when the copy is over.
    fn background(&self, cell: &CopyCell, setting: &CellSetting, first: usize) -> Vec<Step> {
        if cell.background.is_quiet() {
            return Vec::new();
        }
        let (token, message, duration) = (setting.token, DATAGRAM, setting.deadline);
        // Each pair has its share of the network's time, and holds its share of that.
        let part = Background::WHOLE.offered(self.full, self.pairs.len());
        let most = part.bits_per_second() as f64 * MOST_OFFERED;
        let (offered, hold) = match self.mode {
            Mode::Saturated => (BitRate::from_bits_per_second(most as u64), None),
            mode => {
                let hold = Hold { mode, asked: cell.background.share(), full: part };
                (cell.background.offered(self.full, self.pairs.len()), mode.turns().then_some(hold))
            }
        };
        let most = if hold.is_some() { most } else { offered.bits_per_second() as f64 };
        let expected = most * duration.seconds() / message.bits();
        let steps = self.pairs.iter().enumerate().flat_map(|(number, [source, sink])| {
            let meeting = Rendezvous::Listen(UNSET);
            // A margin for rounding; more than this is not sent.
            let expected_datagrams = (expected as u64).saturating_add(16);
            let receive = Activity::UdpReceive(UdpReceive {
                meeting,
                token,
                message,
                expected_datagrams,
                offered: None,
                tells: hold.is_some(),
            });
            let meeting = Rendezvous::Connect(UNSET_PEER);
            let send =
                Activity::UdpSend(UdpSend { meeting, token, message, offered, duration, hold });
            let peer = Some(first + 2 * number);
            [
                Self::step(sink, Role::Support, None, receive, setting),
                Self::step(source, Role::Support, peer, send, setting),
            ]
        });
        steps.collect()
    }

    /// Why a level that was to be held was not: before the copy, or during it where it was pressed.
    fn level_faults(&self, cell: &CopyCell, seen: &Observation) -> Vec<String> {
        let (Some(Ends { command, .. }), Some(used)) =
            (ends(cell.direction, seen), self.background_use(cell, seen))
        else {
            return vec!["nothing of the background arrived before the copy".to_owned()];
        };
        let mut faults = unsettled(seen, command.started);
        let asked = cell.background;
        let (share, when) = match self.mode {
            Mode::Pressed => (used.arrived.during, "during"),
            _ => (used.arrived.alone, "before"),
        };
        if Servo::new(self.mode, asked.share(), self.full).is_some_and(|servo| servo.is_void(share))
        {
            let percent = share * 100.0;
            faults.push(format!(
                "{when} the copy the background took {percent:.1} % of the time, and {asked} were to be held"
            ));
        }
        faults
    }

    /// The result of the background of a cell.
    pub(super) fn background_use(
        &self,
        cell: &CopyCell,
        seen: &Observation,
    ) -> Option<BackgroundUse> {
        let Ends { command, marks, .. } = ends(cell.direction, seen)?;
        let over = command.started + marks.durable;
        if cell.background.is_quiet() {
            None
        } else {
            background_use(seen, (command.started, over), self.full)
        }
    }
}

/// A placeholder that is replaced before the order is sent.
const UNSET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const UNSET_PEER: SocketAddr = SocketAddr::new(UNSET, 0);

impl Named for CopyPlan {
    const STUDY: &'static str = "copy";
    const COMMAND: &'static str = "btu copy";
    const VERSION: u32 = 1;
}

impl Scripts for CopyPlan {
    type Cell = CopyCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn directories(&self) -> Vec<&Path> {
        self.at.as_deref().into_iter().collect()
    }

    fn cells(&self) -> Vec<CopyCell> {
        let quiet = self.quiet_cells();
        let loaded = |&background: &Background| -> Vec<CopyCell> {
            quiet.iter().filter_map(|cell| self.with_background(background, *cell)).collect()
        };
        self.backgrounds.iter().flat_map(loaded).collect()
    }

    /// The time of a copy's bytes on the line, without any other traffic.
    fn least_times(&self) -> Vec<(CopyCell, Span)> {
        let Some(wire) = PathLimits::of(self) else { return Vec::new() };
        let remote = self.cells().into_iter().filter(|cell| !cell.program.is_on_one_host());
        let least = |cell: CopyCell| {
            let (_, line) = wire.seconds(cell.size)?;
            Some((cell, Span::from_seconds_f64(line)))
        };
        remote.filter_map(least).collect()
    }

    /// A split plot: levels of background in random order, and while one lasts all of its cells.
    fn order(&self, block: u32) -> Vec<CopyCell> {
        let (mut levels, mut quiet) = (self.backgrounds.clone(), self.quiet_cells());
        levels.sort_unstable();
        quiet.sort_unstable();
        let plots = plots(self.frame.seed, block, levels.len(), quiet.len());
        let cells =
            plots.iter().flat_map(|plot| plot.cells.iter().map(move |&index| (plot.level, index)));
        cells
            .filter_map(|(level, index)| {
                self.with_background(*levels.get(level)?, *quiet.get(index)?)
            })
            .collect()
    }

    fn script(&self, cell: &CopyCell, setting: &CellSetting) -> Script {
        let CopyCell { program, size, direction, storage, cache, .. } = *cell;
        let file = FilePlace { size, storage, cache, directory: setting.scratch.clone() };
        let [Some(sender), Some(receiver)] = self.hosts() else {
            return Script { impairments: Impairments::new(), steps: Vec::new() };
        };
        let network =
            |host, peer, activity| Self::step(host, Role::Network, peer, activity, setting);
        // A file server does not know which call is the last.
        let serving =
            if matches!(program, Program::Nfs(_)) { Role::Support } else { Role::Network };
        let mut steps = if program.is_on_one_host() {
            let share = if program == Program::Mount { self.at.clone() } else { None };
            vec![network(sender, None, Activity::FileCopy(FileCopy { file, share, direction }))]
        } else {
            let token = setting.token;
            let wait = if cell.background.is_quiet() { Span::ZERO } else { self.lead };
            let server = FileServer { program, on: UNSET, token, file: file.clone() };
            let client = FileClient { program, to: UNSET_PEER, token, file, wait };
            let ((server_host, server), (client_host, client)) = match direction {
                Direction::Put => (
                    (receiver, Activity::FileReceive(server)),
                    (sender, Activity::FileSend(client)),
                ),
                Direction::Get => {
                    ((sender, Activity::FileOffer(server)), (receiver, Activity::FileFetch(client)))
                }
            };
            vec![
                Self::step(server_host, serving, None, server, setting),
                network(client_host, Some(0), client),
            ]
        };
        steps.extend(self.background(cell, setting, steps.len()));
        Script { impairments: Impairments::new(), steps }
    }

    fn faults(&self, cell: &CopyCell, seen: &Observation) -> Vec<String> {
        let Some(Ends { sent, received, source_digest, .. }) = ends(cell.direction, seen) else {
            return vec!["an end of the copy has no account".to_owned()];
        };
        let mut faults = background_faults(seen, self.mode);
        if self.mode.turns() && !cell.background.is_quiet() {
            faults.extend(self.level_faults(cell, seen));
        }
        let sizes = [sent.bytes, received.bytes];
        if sizes != [cell.size; 2] {
            let [sent, received] = sizes.map(Bytes::count);
            faults.push(format!(
                "of {} bytes {sent} were sent, and {received} are stored",
                cell.size.count()
            ));
        }
        if received.digest != source_digest {
            faults.push("what is stored is not what was sent: another SHA-256".to_owned());
        }
        if !(sent.marks.ascend() && received.marks.ascend()) {
            faults.push(
                "a copy was connected, begun, complete and durable in another order".to_owned(),
            );
        }
        faults
    }

    fn facts(&self, cell: &CopyCell, seen: &Observation) -> Facts {
        let durable = ends(cell.direction, seen).map(|ends| ends.marks.durable);
        let duration = durable.filter(|span| *span > Span::ZERO);
        let goodput_bits_per_second = duration.map(|span| cell.size.bits() / span.seconds());
        Facts { message: cell.size, goodput_bits_per_second, duration, ..Facts::default() }
    }
}

impl Judged for CopyPlan {
    type Verdict = CopyVerdict;

    fn judge(&self, cells: &[Measured<CopyCell>], _: &RunFacts) -> CopyVerdict {
        judge(self, cells)
    }
}

#[cfg(test)]
mod tests;
