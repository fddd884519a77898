//! Checks whether the machine that raises the network was itself the limit, level by level.

use btu_stats::Histogram;
use btu_units::Span;
use serde::Serialize;

use super::{LanCell, Level};
use btu_contract::experiment::{Measured, Warning};
use btu_contract::record::{Shares, WireAccount};

/// Above this share of busy processors, stations wait for each other's processor time.
const MOST_BUSY: f64 = 0.9;

/// The load of a level on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelMachine {
    /// The number of background stations.
    pub count: u32,
    /// Share of all processors' time that was used; of real hosts, of all of them together.
    pub busy_share: Option<f64>,
    /// 99 of 100 frames left the emulator no later than this after they were due, in seconds.
    pub lateness_p99_seconds: Option<f64>,
    /// The latest one, in seconds.
    pub lateness_max_seconds: Option<f64>,
}

impl LevelMachine {
    /// Over the valid cells of a level; `None` if there are none.
    pub(super) fn of(count: u32, cells: &[Measured<LanCell>]) -> Option<Self> {
        let own = || {
            cells.iter().filter(|cell| cell.cell.level == Level::Stations(count) && cell.is_valid())
        };
        own().next()?;
        let mut lateness = Histogram::new();
        own().for_each(|cell| lateness.merge(&cell.seen.wire.lateness));
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        Some(Self {
            count,
            busy_share: Shares::of(own().map(|cell| &cell.seen.machine)).map(|shares| shares.busy),
            lateness_p99_seconds: lateness.quantile(0.99).map(seconds),
            lateness_max_seconds: lateness.max().map(seconds),
        })
    }

    /// Whether the machine limited its numbers rather than the network or the server.
    pub fn is_limit(&self) -> bool {
        let is_late = self
            .lateness_p99_seconds
            .is_some_and(|late| late > WireAccount::MOST_LATENESS.seconds());
        is_late || self.busy_share.is_some_and(|share| share > MOST_BUSY)
    }
}

/// The levels at which the machine was the limit.
pub(super) fn warning(levels: &[LevelMachine]) -> Option<Warning> {
    let limited: Vec<&LevelMachine> = levels.iter().filter(|level| level.is_limit()).collect();
    let most = limited.iter().max_by_key(|level| level.count)?;
    let counts: Vec<String> = limited.iter().map(|level| level.count.to_string()).collect();
    let busy = most.busy_share.unwrap_or_default() * 100.0;
    let late = Span::from_seconds_f64(most.lateness_p99_seconds.unwrap_or_default());
    Some(Warning {
        cause: "the machine is the limit",
        observed: format!(
            "with {} stations (marked *); with {} the processors were busy for {busy:.0} % of the time, and one frame in a hundred \
             was {late} late or later",
            counts.join(", "),
            most.count
        ),
        advice: "ask for fewer stations, a slower network or a --service-time, or measure on separate hosts",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lan::Task;
    use btu_contract::experiment::Observation;

    fn cell(count: u32, idle_ns: u64, late_ns: u64) -> Measured<LanCell> {
        let mut seen = Observation::default();
        (seen.machine.user_ns, seen.machine.idle_ns) = (1_000_000_000 - idle_ns, idle_ns);
        (0..100).for_each(|_| seen.wire.lateness.record(late_ns));
        let cell = LanCell { level: Level::Stations(count), task: Task::FmSort };
        Measured { cell, block: 0, position: 0, faults: Vec::new(), seen }
    }

    #[test]
    fn busy_processors_and_late_frames_are_the_machine_s_limit() {
        let cells = [
            cell(1, 500_000_000, 10_000),
            cell(10, 10_000_000, 10_000),
            cell(50, 500_000_000, 40_000_000),
        ];
        let levels: Vec<LevelMachine> =
            [1, 3, 10, 50].iter().filter_map(|&count| LevelMachine::of(count, &cells)).collect();
        let limits: Vec<(u32, bool)> =
            levels.iter().map(|level| (level.count, level.is_limit())).collect();
        assert_eq!(limits, [(1, false), (10, true), (50, true)]);
        let found = warning(&levels).unwrap();
        assert!(
            found.observed.starts_with("with 10, 50 stations (marked *); with 50 "),
            "{}",
            found.observed
        );
        assert_eq!(warning(&levels[..1]), None);
    }
}
