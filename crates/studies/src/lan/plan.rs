//! The plan of `btu lan`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use btu_units::{Bytes, Span};
use rand::seq::SliceRandom;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use btu_contract::activity::{Activity, FilesPlace, FilesServe, FilesStation, FilesTask, Order};
use btu_contract::border;
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, RunFacts, Scripts, stream,
};
use btu_contract::network::{HostName, Impairments};
use btu_contract::script::{Role, Script, Step};

use super::reconcile::{faults, task_done};
use super::verdict::{LanVerdict, judge};
use super::{FileSizes, LanCell, Level, StationWork, Task};
use crate::Judged;

/// The time limit of a task and of a cell.
pub const DEADLINE: Span = Span::from_seconds(600);

/// Most background stations of a plan.
pub const MOST_STATIONS: u32 = 100;

/// Largest record of a background station.
pub const LARGEST_RECORD: Bytes = Bytes::new(64 << 10);

/// Most files that all stations of a plan have at a server at a time: the server has room for
/// these, the task's, and some more.
pub const MOST_FILES: usize = 500;

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LanPlan {
    /// The common part of all plans; the first of the stations is the server, the second the
    /// measured one, the others are the background, several on a host if there are fewer hosts. On
    /// a share there is no server among them.
    #[serde(flatten)]
    pub frame: Frame,
    /// The tasks that are measured, each listed once.
    #[serde(deserialize_with = "border::once")]
    pub tasks: Vec<Task>,
    /// The numbers of working background stations.
    #[serde(deserialize_with = "levels")]
    pub levels: Vec<u32>,
    /// The work that the background stations do, such as transactions of one pattern.
    pub work: StationWork,
    /// The sizes of the tasks' files.
    pub sizes: FileSizes,
    /// The directory of a share that every host has mounted, instead of btu's own server.
    #[serde(
        with = "btu_contract::path::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub at: Option<PathBuf>,
    /// The least time of each operation, at the server and on the station's own disk, one after the
    /// other.
    #[serde(rename = "service_ns")]
    pub service: Span,
    /// The time for which the background works before a task begins.
    #[serde(rename = "lead_ns")]
    pub lead: Span,
    /// A task is repeated until this time has passed, at least once.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// The limit for the 95th percentile of transaction times.
    #[serde(rename = "limit_ns")]
    pub limit: Span,
}

impl LanPlan {
    /// The server (`None` on a share), and the measured station.
    pub(crate) fn server_and_bench(&self) -> [Option<&HostName>; 2] {
        let [first, second] = self.frame.network.ends();
        if self.at.is_some() { [None, first] } else { [first, second] }
    }

    /// The host of background station `number`, from 1: one after the other, and from the first
    /// again.
    fn host_of(&self, number: u32) -> Option<&HostName> {
        let hosts = self.frame.network.hosts();
        let others = hosts.get(if self.at.is_some() { 1 } else { 2 }..)?;
        others.get((number as usize - 1) % others.len().max(1)).copied()
    }

    /// Most that a host's files hold at a time: those of the largest task and of all stations.
    pub fn room(&self) -> Bytes {
        let tasks = self.tasks.iter().map(|task| task.room(self.sizes)).max().unwrap_or_default();
        let stations = self.levels.iter().copied().max().unwrap_or(0);
        // A page more for each file, as file systems count.
        tasks + self.work.room() * u64::from(stations) + MARGIN
    }

    fn levels(&self) -> Vec<Level> {
        std::iter::once(Level::StandAlone)
            .chain(self.levels.iter().map(|&count| Level::Stations(count)))
            .collect()
    }

    /// The task on the station's own disk.
    fn alone(&self, task: Task, setting: &CellSetting) -> Activity {
        let (directory, room, service) = (setting.scratch.clone(), self.room(), self.service);
        let place = FilesPlace::Own { directory, room, service };
        // The task waits for no station, so its lead is zero.
        self.task(task, place, Span::ZERO, setting)
    }

    fn task(&self, task: Task, place: FilesPlace, lead: Span, setting: &CellSetting) -> Activity {
        let (token, sizes, target) = (setting.token, self.sizes, self.target);
        Activity::FilesTask(FilesTask { place, token, task, sizes, lead, target })
    }

    /// The place of the files of tasks and stations while stations work.
    fn place(&self) -> FilesPlace {
        match &self.at {
            Some(directory) => FilesPlace::Share { directory: directory.clone() },
            None => FilesPlace::Server(UNSET),
        }
    }

    fn serve(&self, setting: &CellSetting) -> Activity {
        Activity::FilesServe(FilesServe {
            address: UNSET.ip(),
            token: setting.token,
            directory: setting.scratch.clone(),
            room: self.room(),
            service: self.service,
        })
    }

    fn station(&self, number: u32, setting: &CellSetting) -> Activity {
        let (place, token, work) = (self.place(), setting.token, self.work.clone());
        Activity::FilesStation(FilesStation { place, token, number, work })
    }
}

/// Numbers of stations that a plan can have: the plan may have come with a file from an untrusted
/// source.
fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    let levels: Vec<u32> = border::once(from)?;
    match levels.iter().find(|count| **count > MOST_STATIONS) {
        None => Ok(levels),
        Some(many) => {
            Err(D::Error::custom(format!("{many} stations are more than {MOST_STATIONS}")))
        }
    }
}

/// Room for the overhead of file systems.
const MARGIN: Bytes = Bytes::new(4 << 20);

/// A placeholder that is replaced before the order is sent.
const UNSET: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl Named for LanPlan {
    const STUDY: &'static str = "lan";
    const COMMAND: &'static str = "btu lan";
    const VERSION: u32 = 2;
}

impl Scripts for LanPlan {
    type Cell = LanCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn cells(&self) -> Vec<LanCell> {
        let at = |level| self.tasks.iter().map(move |&task| LanCell { level, task });
        self.levels().into_iter().flat_map(at).collect()
    }

    fn directories(&self) -> Vec<&Path> {
        self.at.as_deref().into_iter().collect()
    }

    /// Levels in random order, and within each the tasks in random order.
    fn order(&self, block: u32) -> Vec<LanCell> {
        let mut random = stream(self.frame.seed, u64::from(block));
        let mut levels = self.levels();
        levels.sort_unstable();
        levels.shuffle(&mut random);
        let mut cells = Vec::new();
        for level in levels {
            let mut tasks = self.tasks.clone();
            tasks.sort_unstable();
            tasks.shuffle(&mut random);
            cells.extend(tasks.into_iter().map(|task| LanCell { level, task }));
        }
        cells
    }

    /// The server listens, and all other steps call it; the task ends the cell, and the others get
    /// a `stop` then. At a share no step listens.
    fn script(&self, cell: &LanCell, setting: &CellSetting) -> Script {
        let [server, bench] = self.server_and_bench();
        let step = |host: Option<&HostName>, role, peer, activity| {
            let order = Order::new(setting.seed, setting.deadline, activity);
            Some(Step { host: host?.clone(), role, peer, order })
        };
        let steps: Vec<Option<Step>> = match cell.level {
            Level::StandAlone => {
                vec![step(bench, Role::Network, None, self.alone(cell.task, setting))]
            }
            Level::Stations(count) => {
                let peer = server.map(|_| 0);
                let listening = server
                    .map(|server| step(Some(server), Role::Support, None, self.serve(setting)));
                let task = self.task(cell.task, self.place(), self.lead, setting);
                let task = step(bench, Role::Network, peer, task);
                let station = |number| {
                    step(self.host_of(number), Role::Support, peer, self.station(number, setting))
                };
                listening.into_iter().chain([task]).chain((1..=count).map(station)).collect()
            }
        };
        Script { impairments: Impairments::new(), steps: steps.into_iter().flatten().collect() }
    }

    fn faults(&self, cell: &LanCell, seen: &Observation) -> Vec<String> {
        faults(cell.level, self.at.is_none(), seen)
    }

    fn facts(&self, _: &LanCell, seen: &Observation) -> Facts {
        let Some(done) = task_done(seen) else { return Facts::default() };
        let all: Span = done.times.iter().copied().sum();
        let goodput = (all > Span::ZERO).then(|| (done.read + done.written).bits() / all.seconds());
        Facts {
            message: self.work.record().unwrap_or_default(),
            goodput_bits_per_second: goodput,
            duration: Some(all),
            ..Facts::default()
        }
    }
}

impl Judged for LanPlan {
    type Verdict = LanVerdict;

    fn judge(&self, cells: &[Measured<LanCell>], _: &RunFacts) -> LanVerdict {
        judge(self, cells)
    }
}

#[cfg(test)]
mod tests;
