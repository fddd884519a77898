//! Warnings about the machine that everything ran on.

use btu_stats::arithmetic_mean;
use btu_units::Span;
use serde::Serialize;

use btu_contract::experiment::LoadBefore;
use btu_contract::network::HostRole;
use btu_contract::record::{Apart, Outcome, PlacedReport, Shares, Slowed};

use super::super::cells::Cells;
use super::super::context::Context;
use super::{Explanation, count, percent};
use crate::rate::plan::Plan;
use crate::rate::record::CellRecord;

/// The hypervisor took processor time for others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steal {
    /// Share of all processors over all cells: 0 to 1.
    pub share: f64,
    /// The largest share in one cell.
    pub worst_share: f64,
}

impl Steal {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let share = Shares::of(cells.valid().map(|record| &record.machine))?.steal;
        let of_cell = |record: &CellRecord| {
            Shares::of(std::iter::once(&record.machine)).map_or(0.0, |shares| shares.steal)
        };
        let worst_share = cells.valid().map(of_cell).fold(0.0, f64::max);
        (share > Shares::MOST_STEAL).then_some(Self { share, worst_share })
    }
}

impl Explanation for Steal {
    fn observed(&self) -> String {
        let (share, worst) = (percent(self.share), percent(self.worst_share));
        format!(
            "the hypervisor gave {share} of the processors' time to others, {worst} in the worst cell"
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "a dedicated machine, or a time when its neighbours are quiet".to_owned()
    }
}

/// The core-to-core latency was more than twice the run's own short one in some cells: the hypervisor moved the
/// processors of the two sides apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessorsApart {
    /// The number of valid cells with such a latency after them.
    pub cells: u64,
    /// The number of valid cells with a reading.
    pub of: u64,
    /// The short latency, in ns: a tenth of the run's readings is below it.
    pub near_ns: u64,
    /// The largest one, in ns.
    pub most_ns: u64,
}

/// What helps where the conditions of a shared machine change meanwhile.
pub(crate) const OTHER_CONDITIONS: &str =
    "a quiet machine; or more runs; two settings: in turns, by `btu run` with variants";

impl ProcessorsApart {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let latencies: Vec<Span> = cells
            .valid()
            .filter_map(|record| record.machine.processor_readings().core_to_core)
            .collect();
        let apart = Apart::of(latencies.iter().copied());
        let far = latencies.iter().filter(|latency| apart.is_far(**latency)).count();
        (far as f64 > Apart::MOST_FAR * latencies.len() as f64).then_some(Self {
            cells: far as u64,
            of: latencies.len() as u64,
            near_ns: apart.near()?.nanoseconds(),
            most_ns: apart.most().nanoseconds(),
        })
    }
}

impl Explanation for ProcessorsApart {
    fn observed(&self) -> String {
        let Self { cells, of, near_ns, most_ns } = self;
        let apart = Apart::of([*near_ns, *most_ns].map(Span::from_nanoseconds));
        format!(
            "in {cells} of {of} cells {apart}: the hypervisor moved processors; such cells are slower, large messages most"
        )
    }

    fn advice(&self, _: &Plan) -> String {
        OTHER_CONDITIONS.to_owned()
    }
}

/// Processors computed more slowly than at the run's best times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessorsSlowed {
    /// The time for a fixed piece of arithmetic at the run's best times, in ns.
    pub quick_ns: u64,
    /// The geometric mean over all cells, in ns.
    pub mean_ns: u64,
    /// The longest, in ns.
    pub most_ns: u64,
}

/// Two hundredths are less than other things change a result.
const MOST_SLOWNESS: f64 = 0.02;

impl ProcessorsSlowed {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let times: Vec<Span> = cells
            .valid()
            .filter_map(|record| record.machine.processor_readings().arithmetic)
            .collect();
        let slowed = Slowed::of(times.iter().copied().map(Some))?;
        let slowness: Vec<f64> = times.iter().map(|time| slowed.slowness(*time)).collect();
        let mean = arithmetic_mean(&slowness)?;
        let quick_ns = slowed.quick().nanoseconds();
        (mean > MOST_SLOWNESS).then_some(Self {
            quick_ns,
            mean_ns: (quick_ns as f64 * mean.exp()) as u64,
            most_ns: times.iter().max()?.nanoseconds(),
        })
    }
}

impl Explanation for ProcessorsSlowed {
    fn observed(&self) -> String {
        let [quick, mean, most] = [self.quick_ns, self.mean_ns, self.most_ns].map(super::time);
        format!(
            "arithmetic of {quick} took {mean} on average, and up to {most}: others work on the same cores"
        )
    }

    fn advice(&self, _: &Plan) -> String {
        OTHER_CONDITIONS.to_owned()
    }
}

impl Explanation for LoadBefore {
    fn observed(&self) -> String {
        self.warning().observed
    }

    fn advice(&self, _: &Plan) -> String {
        self.warning().advice.to_owned()
    }
}

/// More activities than processors: those of the test machine also compete with the peers' own; if
/// it has its own processors, only the peers' compete.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverCommitted {
    /// Workers of the largest cell; one that only answers, or does nothing, is not counted.
    pub workers: u64,
    /// The number of processors that the workers share.
    pub cpus: u64,
    /// Whether only the peers share them, because the machine under test has its own.
    pub around_test: bool,
}

impl OverCommitted {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let division = context.plan.processors.as_ref();
        let cpus = division.map_or(context.run.cpus, |division| division.rest().numbers().len());
        let shares =
            |placed: &&PlacedReport| division.is_none() || placed.station != HostRole::Test;
        let busy = |record: &CellRecord| {
            record.reports.iter().filter(shares).filter(|placed| !waits(placed)).count()
        };
        let workers = cells.valid().map(busy).max()?;
        let around_test = division.is_some();
        (workers > cpus).then_some(Self { workers: workers as u64, cpus: cpus as u64, around_test })
    }
}

/// Whether a worker mostly waits for another one.
fn waits(placed: &PlacedReport) -> bool {
    let outcome = placed.result.as_ref().ok().map(|report| &report.outcome);
    matches!(outcome, Some(Outcome::Responded { .. } | Outcome::Null))
}

impl Explanation for OverCommitted {
    fn observed(&self) -> String {
        let whose = if self.around_test { " of the peers" } else { ", the peers' included," };
        format!("up to {} activities{whose} shared {}", self.workers, count(self.cpus, "processor"))
    }

    fn advice(&self, _: &Plan) -> String {
        let then = if self.around_test {
            "rates here may be what the peers can do"
        } else {
            "slowdowns here include what the peers take from the same ones"
        };
        format!("a machine with more processors; {then}")
    }
}
