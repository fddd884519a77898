//! The verdict over a run of `btu lan`.

use std::collections::BTreeSet;

use btu_stats::{Estimate, geometric_interval, median};
use serde::Serialize;

use super::forecast::{Alone, Demands, Wire};
use super::reconcile::{served, task_done};
use super::simulated::{Office, Simulated};
use super::stations::{LevelStations, of_level};
use super::users::users;
use super::{LanCell, LanPlan, Level, LevelMachine, Share, Task, Users, machine};
use crate::papers::press88;
use btu_contract::experiment::{Measured, Scripts, Warning, warnings};

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LanVerdict {
    /// One for each cell of the plan, in the plan's order.
    pub rows: Vec<LanRow>,
    /// A background station's demand on the server and on the medium, from the cells without
    /// background.
    pub demands: Option<Demands>,
    /// The number of stations from which each further one costs its whole demand, by the closed
    /// form.
    pub knee: Option<f64>,
    /// Like `knee`, as measured, task by task: the point at which the line through the two highest
    /// levels reaches no slowdown.
    pub knees: Vec<SeenKnee>,
    /// The background stations, level by level.
    pub stations: Vec<LevelStations>,
    /// The load on the machine, level by level.
    pub machine: Vec<LevelMachine>,
    /// The share with the files; `None` if they were on btu's own server.
    pub share: Option<Share>,
    /// The number of background stations at which 5 of 100 of their transactions exceed the plan's
    /// limit.
    pub users: Option<Users>,
    /// The warnings about the result.
    pub warnings: Vec<Warning>,
}

/// A task at a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LanRow {
    /// The task, and the number of other working stations.
    #[serde(flatten)]
    pub cell: LanCell,
    /// Seconds of the task: the median of each cell, and the geometric mean over the cells (95 %).
    pub seconds: Option<Estimate>,
    /// Its time over that on the station's own disk, block by block (95 %): Figure 3's number.
    pub normalised: Option<Estimate>,
    /// Its time over that at the server with no background, block by block (95 %).
    pub slowdown: Option<Estimate>,
    /// Like `slowdown`, by the closed form, which assumes irregular service times.
    pub expected: Option<f64>,
    /// Like `expected`, by the simulator, on the network file's media, with a server that takes a
    /// constant time for each operation.
    pub simulated: Option<f64>,
    /// Like `simulated`, if all times were regular, at a server that takes a fixed time.
    pub regular: Option<f64>,
    /// The number of other operations for which an operation of the task waited, at a server with a
    /// fixed time: its additional time there compared with no background, over the fixed time.
    pub queue: Option<f64>,
    /// Like `queue`, by the closed form: the background stations that are at the server.
    pub expected_queue: Option<f64>,
    /// Like `expected_queue`, if all times were regular.
    pub regular_queue: Option<f64>,
    /// Operations of the task.
    pub operations: Option<f64>,
    /// The study's slowdown of this task with this number of stations, by Figure 3; `None` if it
    /// has no such number.
    pub study_slowdown: Option<f64>,
    /// Cells that do not count.
    pub invalid: usize,
}

/// The bend of a task's curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeenKnee {
    /// The task that the curve belongs to.
    pub task: Task,
    /// The number of background stations; `None` if the two highest levels do not differ.
    pub stations: Option<f64>,
}

/// Judges a run by all its stored data.
pub(super) fn judge(plan: &LanPlan, cells: &[Measured<LanCell>]) -> LanVerdict {
    let field = Observed { cells, service: plan.service.seconds() };
    let alone: Vec<(Task, Alone)> =
        plan.tasks.iter().filter_map(|&task| Some((task, field.alone(task)?))).collect();
    let tasks: Vec<Alone> = alone.iter().map(|(_, alone)| *alone).collect();
    let demands = Demands::of(&tasks, wire(plan).as_ref(), &plan.work);
    let mut rows: Vec<LanRow> =
        plan.cells().into_iter().map(|cell| field.row(cell, &alone, demands.as_ref())).collect();
    let stations = levels(plan, &cells.iter().collect::<Vec<_>>());
    let blocks: Vec<Vec<LevelStations>> = blocks(cells)
        .into_iter()
        .map(|block| {
            levels(plan, &cells.iter().filter(|cell| cell.block == block).collect::<Vec<_>>())
        })
        .filter(|levels| !levels.is_empty())
        .collect();
    let machine: Vec<LevelMachine> =
        plan.levels.iter().filter_map(|&count| LevelMachine::of(count, cells)).collect();
    let is_closed = plan.work.closed_program().is_some();
    let study = press88::tasks();
    let simulated = demands.as_ref().and_then(|demands| simulated(plan, &tasks, demands));
    for row in &mut rows {
        if let (Level::Stations(count @ 1..), Some(simulated)) = (row.cell.level, &simulated) {
            let alone =
                alone.iter().find(|(task, _)| *task == row.cell.task).map(|(_, alone)| alone);
            row.simulated = alone.and_then(|alone| simulated.slowdown(alone, count));
        }
        row.study_slowdown = study_slowdown(&study, row.cell);
    }
    LanVerdict {
        knee: demands.as_ref().and_then(Demands::knee),
        knees: plan
            .tasks
            .iter()
            .map(|&task| SeenKnee { task, stations: seen_knee(task, &rows) })
            .collect(),
        share: cells.iter().find_map(|measured| task_done(&measured.seen)?.share.clone()),
        users: users(plan.limit, &stations, &blocks, is_closed),
        rows,
        demands,
        stations,
        warnings: warnings(cells).into_iter().chain(machine::warning(&machine)).collect(),
        machine,
    }
}

/// The levels by the simulator; `None` on real hosts, and without emulation.
fn simulated(plan: &LanPlan, tasks: &[Alone], demands: &Demands) -> Option<Simulated> {
    let drawing = plan.frame().network.drawing().filter(|drawing| !drawing.bare)?;
    let hosts = plan.frame().network.hosts();
    let mut stations = hosts.iter().map(|host| drawing.station_called(host.as_str()));
    let (server, bench) = (stations.next()??, stations.next()??);
    let stations = stations.collect::<Option<Vec<_>>>()?;
    let office = Office { drawing: &drawing, server, bench, stations, seed: plan.frame().seed };
    let octets = plan.work.octets().map(|octets| octets / demands.operations);
    Simulated::of(&office, &plan.levels, tasks, (demands, octets))
}

/// Figure 3 has its lines in the order of the tasks.
fn study_slowdown(study: &[press88::Task], cell: LanCell) -> Option<f64> {
    let Level::Stations(count @ 1..) = cell.level else { return None };
    let place = Task::STUDY.iter().position(|task| *task == cell.task)?;
    let time =
        study.get(place)?.times.iter().find(|time| time.background_stations == u64::from(count))?;
    Some(time.slowdown_by_load)
}

/// The background stations, level by level.
fn levels(plan: &LanPlan, cells: &[&Measured<LanCell>]) -> Vec<LevelStations> {
    plan.levels.iter().filter_map(|&count| of_level(count, cells.iter().copied())).collect()
}

/// The blocks that have cells.
fn blocks(cells: &[Measured<LanCell>]) -> BTreeSet<u32> {
    cells.iter().map(|cell| cell.block).collect()
}

fn wire(plan: &LanPlan) -> Option<Wire> {
    let drawing = plan.frame().network.drawing()?;
    let [server, bench] =
        plan.server_and_bench().map(|host| drawing.station_called(host?.as_str()));
    Wire::between(&drawing, bench?, server?)
}

/// The cells of a run.
struct Observed<'a> {
    cells: &'a [Measured<LanCell>],
    /// The server's time for each operation, in seconds; zero means the machine's own time.
    service: f64,
}

impl Observed<'_> {
    fn valid(&self, cell: LanCell) -> impl Iterator<Item = &Measured<LanCell>> {
        self.cells.iter().filter(move |measured| measured.cell == cell && measured.is_valid())
    }

    /// Seconds of a task in a block.
    fn seconds(&self, cell: LanCell) -> Vec<(u32, f64)> {
        let typical = |measured: &Measured<LanCell>| {
            let times: Vec<f64> =
                task_done(&measured.seen)?.times.iter().map(|time| time.seconds()).collect();
            Some((measured.block, median(&times)?))
        };
        self.valid(cell).filter_map(typical).collect()
    }

    /// The time over that at another level in one block.
    fn ratio(&self, cell: LanCell, base: Level) -> Option<Estimate> {
        let bases = self.seconds(LanCell { level: base, ..cell });
        let of =
            |block| bases.iter().find(|(other, _)| *other == block).map(|(_, seconds)| *seconds);
        let ratios: Vec<f64> = self
            .seconds(cell)
            .into_iter()
            .filter_map(|(block, seconds)| Some(seconds / of(block)?))
            .collect();
        geometric_interval(&ratios, btu_stats::Level::P95)
    }

    fn estimate(&self, cell: LanCell) -> Option<Estimate> {
        let seconds: Vec<f64> =
            self.seconds(cell).into_iter().map(|(_, seconds)| seconds).collect();
        geometric_interval(&seconds, btu_stats::Level::P95)
    }

    /// The time of a task when no other station uses the server.
    fn alone(&self, task: Task) -> Option<Alone> {
        let cell = LanCell { level: Level::Stations(0), task };
        let seconds = self.estimate(cell)?.value;
        let (mut times, mut operations, mut read, mut written) = (0.0, 0.0, 0.0, 0.0);
        for done in self.valid(cell).filter_map(|measured| task_done(&measured.seen)) {
            times += done.times.len() as f64;
            operations += done.operations as f64;
            read += done.read.count() as f64;
            written += done.written.count() as f64;
        }
        let [operations, read, written] = [operations, read, written].map(|all| all / times);
        (operations > 0.0).then_some(Alone {
            seconds,
            operations,
            read,
            written,
            stay: self.stay(cell)?,
        })
    }

    /// Seconds from the task's calls to their answers at the server.
    fn stay(&self, cell: LanCell) -> Option<f64> {
        let clients = || self.valid(cell).filter_map(|measured| served(&measured.seen)?.client(0));
        // Records may have come with a file from an untrusted source: no sum of their numbers may
        // overflow.
        let operations: f64 = clients().map(|client| client.operations as f64).sum();
        let stayed: f64 = clients().map(|client| client.stayed.seconds()).sum();
        (operations > 0.0).then(|| stayed / operations)
    }

    fn row(&self, cell: LanCell, alone: &[(Task, Alone)], demands: Option<&Demands>) -> LanRow {
        let alone = alone.iter().find(|(task, _)| *task == cell.task).map(|(_, alone)| alone);
        let Level::Stations(count) = cell.level else {
            return LanRow {
                seconds: self.estimate(cell),
                invalid: self.invalid(cell),
                ..LanRow::empty(cell)
            };
        };
        let is_fixed = self.service > 0.0;
        let queue =
            self.stay(cell).zip(alone).map(|(stay, alone)| (stay - alone.stay) / self.service);
        let regular = demands
            .zip(alone)
            .and_then(|(demands, alone)| demands.regular(alone, count, self.service));
        LanRow {
            seconds: self.estimate(cell),
            normalised: self.ratio(cell, Level::StandAlone),
            slowdown: self.ratio(cell, Level::Stations(0)).filter(|_| count > 0),
            expected: demands
                .zip(alone)
                .and_then(|(demands, alone)| demands.slowdown(alone, count)),
            regular: regular.map(|[slowdown, _]| slowdown),
            queue: queue.filter(|_| is_fixed),
            expected_queue: demands
                .filter(|_| is_fixed)
                .and_then(|demands| demands.at_server(count)),
            regular_queue: regular.map(|[_, queue]| queue),
            operations: alone.map(|alone| alone.operations),
            invalid: self.invalid(cell),
            ..LanRow::empty(cell)
        }
    }

    fn invalid(&self, cell: LanCell) -> usize {
        self.cells.iter().filter(|measured| measured.cell == cell && !measured.is_valid()).count()
    }
}

impl LanRow {
    const fn empty(cell: LanCell) -> Self {
        Self {
            cell,
            seconds: None,
            normalised: None,
            slowdown: None,
            expected: None,
            simulated: None,
            regular: None,
            queue: None,
            expected_queue: None,
            regular_queue: None,
            operations: None,
            study_slowdown: None,
            invalid: 0,
        }
    }
}

/// The point at which the line through the two highest levels reaches a slowdown of one.
fn seen_knee(task: Task, rows: &[LanRow]) -> Option<f64> {
    let mut curve: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.cell.task == task)
        .filter_map(|row| match row.cell.level {
            Level::Stations(count) => Some((f64::from(count), row.slowdown?.value)),
            Level::StandAlone => None,
        })
        .collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [.., (fewer, low), (more, high)] = curve[..] else { return None };
    let slope = (high - low) / (more - fewer);
    (slope > 0.0).then(|| more - (high - 1.0) / slope).filter(|knee| *knee > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 3: loading the file manager with ten stations, 9.6 over 1.1; indexing, 3.3 over 0.9.
    #[test]
    fn the_study_s_numbers_stand_with_their_tasks() {
        let study = press88::tasks();
        let at = |task, level| study_slowdown(&study, LanCell { level, task });
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
        };
        near(at(Task::FmLoadProgram, Level::Stations(10)), 9.6 / 1.1);
        near(at(Task::FmIndex, Level::Stations(10)), 3.3 / 0.9);
        near(at(Task::WpLoadProgram, Level::Stations(3)), 1.5);
        assert_eq!(at(Task::FmIndex, Level::Stations(2)), None);
        assert_eq!(at(Task::FmIndex, Level::Stations(0)), None);
        assert_eq!(at(Task::Metadata, Level::Stations(10)), None);
    }
}
