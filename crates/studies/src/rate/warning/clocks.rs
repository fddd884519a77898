//! Warnings about hosts' clocks.

use serde::Serialize;

use btu_contract::experiment::HostClocks;
use btu_contract::record::ClockSteps;
use btu_contract::roll::MOST_APART_NS;

use super::super::cells::Cells;
use super::super::context::Context;
use super::{Explanation, count, time};
use crate::rate::plan::Plan;

/// Hosts' wall clocks do not agree with the controller's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClocksApart {
    /// The number of hosts with a large error of the wall clock.
    pub hosts: u64,
    /// The host that is furthest off.
    pub worst: String,
    /// By how much, in ns; negative when it is behind.
    pub worst_ns: i64,
}

impl ClocksApart {
    pub(super) fn check(context: &Context) -> Option<Self> {
        let apart: Vec<(&str, i64)> = context
            .run
            .clocks
            .iter()
            .filter_map(|clocks| {
                Some((clocks.name.as_str(), clocks.before.or(clocks.after)?.wall_offset_ns))
            })
            .filter(|(_, apart)| apart.unsigned_abs() > MOST_APART_NS)
            .collect();
        let (worst, worst_ns) = apart.iter().max_by_key(|(_, apart)| apart.unsigned_abs())?;
        Some(Self { hosts: apart.len() as u64, worst: (*worst).to_owned(), worst_ns: *worst_ns })
    }
}

impl Explanation for ClocksApart {
    fn observed(&self) -> String {
        let (hosts, by) = (count(self.hosts, "host"), time(self.worst_ns.unsigned_abs()));
        let way = if self.worst_ns < 0 { "behind" } else { "ahead" };
        format!("the wall clock of {hosts} is off: {} is {by} {way}", self.worst)
    }

    fn advice(&self, _: &Plan) -> String {
        "`timedatectl set-ntp true` on the hosts; nothing measured depends on it, but logs and certificates do"
            .to_owned()
    }
}

/// A host's clock ran at another speed than the controller's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockDrift {
    /// The host with the largest drift.
    pub host: String,
    /// How far its monotonic clock moved against the controller's, in ns.
    pub moved_ns: i64,
    /// The length of that time, in ns.
    pub over_ns: u64,
}

/// Crystals are within 100 parts per million, and NTP slews by up to 500 more; a time is then off
/// by this share, too.
const MOST_DRIFT: f64 = 500e-6;

impl ClockDrift {
    pub(super) fn check(context: &Context) -> Option<Self> {
        let drifted = context.run.clocks.iter().filter_map(Self::of);
        drifted.max_by_key(|drift| drift.moved_ns.unsigned_abs())
    }

    fn of(clocks: &HostClocks) -> Option<Self> {
        let (before, after) = (clocks.before?, clocks.after?);
        let moved_ns = after.offset_ns.checked_sub(before.offset_ns)?;
        // Each reading is true within half of its round trip.
        let warning = u64::midpoint(before.round_trip_ns, after.round_trip_ns);
        let over_ns = after.at_ns.saturating_sub(before.at_ns);
        let most = MOST_DRIFT * over_ns as f64;
        let drifts = moved_ns.unsigned_abs().saturating_sub(warning) as f64 > most;
        drifts.then(|| Self { host: clocks.name.clone(), moved_ns, over_ns })
    }
}

impl Explanation for ClockDrift {
    fn observed(&self) -> String {
        let (moved, over) = (time(self.moved_ns.unsigned_abs()), time(self.over_ns));
        format!("the clock of {} moved by {moved} against the controller's in {over}", self.host)
    }

    fn advice(&self, _: &Plan) -> String {
        "look at the host's clock source (`/sys/devices/system/clocksource`) and whether it was suspended or migrated: its \
         times are off by the same share"
            .to_owned()
    }
}

/// A wall clock was set while cells were measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClockStepped {
    /// The number of cells, and the largest step.
    #[serde(flatten)]
    pub steps: ClockSteps,
    /// The total number of cells.
    pub of: u64,
}

impl ClockStepped {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let steps = ClockSteps::of(cells.valid().map(|record| &record.machine))?;
        Some(Self { steps, of: cells.valid_count() as u64 })
    }
}

impl Explanation for ClockStepped {
    fn observed(&self) -> String {
        let (of, worst) = (count(self.of, "cell"), time(self.steps.worst_ns));
        format!("a wall clock was stepped in {} of {of}, by up to {worst}", self.steps.cells)
    }

    fn advice(&self, _: &Plan) -> String {
        ClockSteps::ADVICE.to_owned()
    }
}
