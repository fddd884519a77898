//! The plan of `btu lan`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_units::{Bytes, Span};
use rand::seq::SliceRandom;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::reconcile::{faults, task_done};
use super::verdict::{LanVerdict, judge};
use super::{LanCell, Level, StationProgram, Task};
use crate::activity::{Activity, FilesPlace, FilesServe, FilesStation, FilesTask, Order};
use crate::border;
use crate::experiment::{CellSetting, Experiment, Facts, Frame, Measured, Observation};
use crate::network::{HostName, Impairments};
use crate::plan::stream;
use crate::script::{Role, Script, Step};

/// No task takes longer, nor does a cell.
pub const DEADLINE: Span = Span::from_seconds(600);

/// Most background stations of a plan.
pub const MOST_STATIONS: u32 = 100;

/// Largest record of a background station.
pub const LARGEST_RECORD: Bytes = Bytes::new(64 << 10);

/// What the server's files hold at most: those of any task, and a record for each station.
const ROOM: Bytes = Bytes::new(16 << 20);

/// Everything that decides a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LanPlan {
    /// What every plan says; the first of the stations is the server, the second the one that is measured, the others are the
    /// background.
    #[serde(flatten)]
    pub frame: Frame,
    /// The tasks.
    #[serde(deserialize_with = "border::once")]
    pub tasks: Vec<Task>,
    /// How many background stations are at work.
    #[serde(deserialize_with = "levels")]
    pub levels: Vec<u32>,
    /// What they do.
    pub background: StationProgram,
    /// Size of their records.
    #[serde(rename = "record_bytes")]
    pub record: Bytes,
    /// What each operation takes at least, at the server and on the station's own disk, one after the other.
    #[serde(rename = "service_ns")]
    pub service: Span,
    /// The background is at work so long before a task begins.
    #[serde(rename = "lead_ns")]
    pub lead: Span,
    /// A task is done anew until this time has passed, once at least.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// The longest that 95 of 100 transactions may take.
    #[serde(rename = "limit_ns")]
    pub limit: Span,
}

impl LanPlan {
    /// The server and the station that is measured.
    pub fn server_and_bench(&self) -> [Option<&HostName>; 2] {
        self.frame.network.ends()
    }

    /// Most that a host's files hold at a time.
    pub fn room(&self) -> Bytes {
        ROOM
    }

    fn levels(&self) -> Vec<Level> {
        std::iter::once(Level::StandAlone).chain(self.levels.iter().map(|&count| Level::Stations(count))).collect()
    }

    /// The task on the station's own disk.
    fn alone(&self, task: Task, setting: &CellSetting) -> Activity {
        let (directory, room, service) = (setting.scratch.clone(), ROOM, self.service);
        let place = FilesPlace::Own { directory, room, service };
        // Nobody else is to be waited for.
        Activity::FilesTask(FilesTask { place, token: setting.token, task, lead: Span::ZERO, target: self.target })
    }

    fn serve(&self, setting: &CellSetting) -> Activity {
        Activity::FilesServe(FilesServe {
            address: UNSET.ip(),
            token: setting.token,
            directory: setting.scratch.clone(),
            room: ROOM,
            service: self.service,
        })
    }

    fn station(&self, number: u32, setting: &CellSetting) -> Activity {
        let (token, program, record) = (setting.token, self.background, self.record);
        Activity::FilesStation(FilesStation { server: UNSET, token, number, program, record })
    }
}

/// Numbers of stations that a plan can have: it may have come with a file from anybody.
fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    let levels: Vec<u32> = border::once(from)?;
    match levels.iter().find(|count| **count > MOST_STATIONS) {
        None => Ok(levels),
        Some(many) => Err(D::Error::custom(format!("{many} stations are more than {MOST_STATIONS}"))),
    }
}

/// Filled in before the order leaves.
const UNSET: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl Experiment for LanPlan {
    const SUITE: &'static str = "lan";
    const COMMAND: &'static str = "btu lan";
    const VERSION: u32 = 1;

    type Cell = LanCell;
    type Verdict = LanVerdict;

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

    /// The server listens, everybody calls it; the task ends the cell, and the others are told to stop then.
    fn script(&self, cell: &LanCell, setting: &CellSetting) -> Script {
        let [server, bench] = self.server_and_bench();
        let step = |host: Option<&HostName>, role, peer, activity| {
            let order = Order::new(setting.seed, setting.deadline, activity);
            Some(Step { host: host?.clone(), role, peer, order })
        };
        let steps: Vec<Option<Step>> = match cell.level {
            Level::StandAlone => vec![step(bench, Role::Network, None, self.alone(cell.task, setting))],
            Level::Stations(count) => {
                let place = FilesPlace::Server(UNSET);
                let (token, task, lead, target) = (setting.token, cell.task, self.lead, self.target);
                let task = Activity::FilesTask(FilesTask { place, token, task, lead, target });
                let first =
                    [step(server, Role::Support, None, self.serve(setting)), step(bench, Role::Network, Some(0), task)];
                let hosts = self.frame.network.hosts();
                let stations = (1..=count).map(|number| {
                    let host = hosts.get(number as usize + 1).copied();
                    step(host, Role::Support, Some(0), self.station(number, setting))
                });
                first.into_iter().chain(stations).collect()
            }
        };
        Script { impairments: Impairments::new(), steps: steps.into_iter().flatten().collect() }
    }

    fn faults(&self, cell: &LanCell, seen: &Observation) -> Vec<String> {
        faults(cell.level, seen)
    }

    fn facts(&self, _: &LanCell, seen: &Observation) -> Facts {
        let Some(done) = task_done(seen) else { return Facts::default() };
        let all: Span = done.times.iter().copied().sum();
        let goodput = (all > Span::ZERO).then(|| (done.read + done.written).bits() / all.seconds());
        Facts { message: self.record, goodput_bits_per_second: goodput, duration: Some(all) }
    }

    fn judge(&self, cells: &[Measured<LanCell>]) -> LanVerdict {
        judge(self, cells)
    }
}

#[cfg(test)]
mod tests;
