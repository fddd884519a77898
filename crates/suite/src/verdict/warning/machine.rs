//! Warnings about the machine that everything ran on.

use btu_stats::{Estimate, arithmetic_mean};
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::super::cells::Cells;
use super::super::context::Context;
use super::super::cpu::Shares;
use super::{Explanation, count, percent};
use crate::network::HostRole;
use crate::plan::Plan;
use crate::record::{Apart, CellRecord, Outcome, PlacedReport, Slowed};

/// The hypervisor took processor time for others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steal {
    /// Share of all processors over all cells: 0 to 1.
    pub share: f64,
    /// The largest share in one cell.
    pub worst_share: f64,
}

/// One per cent of the machine is about as large as the differences that a user wants to detect.
pub(crate) const MOST_STEAL: f64 = 0.01;

impl Steal {
    pub(super) fn check(cells: &Cells) -> Option<Self> {
        let share = Shares::of(cells.valid().map(|record| &record.machine))?.steal;
        let of_cell = |record: &CellRecord| {
            Shares::of(std::iter::once(&record.machine)).map_or(0.0, |shares| shares.steal)
        };
        let worst_share = cells.valid().map(of_cell).fold(0.0, f64::max);
        (share > MOST_STEAL).then_some(Self { share, worst_share })
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
        "a machine of your own, or an hour when its neighbours are quiet".to_owned()
    }
}

/// The hypervisor moved the processors of the two sides apart, and cells were measured so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessorsApart {
    /// The number of valid cells after which the processors were far from each other.
    pub cells: u64,
    /// The number of valid cells with a reading.
    pub of: u64,
    /// The latency of processors that are near, in ns: the round trip of a cache line.
    pub near_ns: u64,
    /// The largest one, in ns.
    pub most_ns: u64,
    /// Whether only earlier runs tell what near is: nearly all cells of this one were far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near_in_earlier_runs: bool,
    /// What it cost: the goodput of far cells over that of near ones. Absent for message sizes of
    /// which too few cells were near or far: their rows are as measured.
    #[serde(default)]
    pub costs: Vec<FarCost>,
}

/// What far processors cost the rated rows of a message size; taken out of their rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FarCost {
    /// The message size of the rows.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The goodput of far cells over that of near ones, the rows' geometric mean.
    pub ratio: Estimate,
    /// The number of earlier runs that tell it, too.
    #[serde(default)]
    pub earlier_runs: u32,
}

/// One cell in a hundred, half as quick as it should be, changes a result by less than other
/// things do.
pub(crate) const MOST_APART: f64 = 0.01;

impl ProcessorsApart {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let latencies: Vec<Span> = cells
            .valid()
            .filter_map(|record| record.machine.processor_readings().core_to_core)
            .collect();
        let apart = Apart::of(latencies.iter().copied()).knowing(context.known.near);
        let far = latencies.iter().filter(|latency| apart.is_far(**latency)).count();
        (far as f64 > MOST_APART * latencies.len() as f64).then_some(Self {
            cells: far as u64,
            of: latencies.len() as u64,
            near_ns: apart.near()?.nanoseconds(),
            most_ns: apart.most().nanoseconds(),
            near_in_earlier_runs: apart.is_known_by_earlier_runs(),
            costs: cells.processor_costs().far_costs(),
        })
    }
}

/// ` (in 5 earlier runs as well)`; nothing without any.
fn in_earlier(runs: u32) -> String {
    match runs {
        0 => String::new(),
        runs => format!(" (in {} as well)", count(u64::from(runs), "earlier run")),
    }
}

impl Explanation for ProcessorsApart {
    fn observed(&self) -> String {
        let Self { cells, of, near_ns, most_ns, near_in_earlier_runs, costs } = self;
        let apart = Apart::of([*near_ns, *most_ns].map(Span::from_nanoseconds));
        let seen =
            format!("the hypervisor moved the processors apart in {cells} of {of} cells: {apart}");
        let seen = if *near_in_earlier_runs { seen + " in earlier runs" } else { seen };
        if costs.is_empty() {
            return format!("{seen}; what it cost cannot be told, so rates are as measured");
        }
        let costs: Vec<String> = costs
            .iter()
            .map(|FarCost { message, ratio, .. }| format!("{message} {:.2}", ratio.value))
            .collect();
        let by =
            in_earlier(self.costs.iter().map(|cost| cost.earlier_runs).max().unwrap_or_default());
        format!(
            "{seen}; goodput of these over that of others{by}, taken out of rates: {}",
            costs.join(", ")
        )
    }

    fn advice(&self, _: &Plan) -> String {
        "a machine whose processors stay where they are: rows with such cells are wider".to_owned()
    }
}

/// Processors computed more slowly than at other times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessorsSlowed {
    /// The time for a fixed piece of arithmetic at full speed, in ns.
    pub quick_ns: u64,
    /// The geometric mean over all cells, in ns.
    pub mean_ns: u64,
    /// The longest, in ns.
    pub most_ns: u64,
    /// What it cost; absent where cells cannot tell: rates are as measured then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<SlowCost>,
    /// What went along with the latency of near processors, which differs with the clock of what connects them; absent
    /// where earlier runs do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<DistanceCost>,
}

/// What slow processors cost the rated rows; taken out of their rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowCost {
    /// The time for arithmetic over that at full speed, or over the usual one; the geometric mean of rated cells.
    pub arithmetic_ratio: f64,
    /// The usual time in earlier runs, in ns; absent where three do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_ns: Option<u64>,
    /// The goodput of cells as slow as that over that at full speed, or at the usual one.
    pub ratio: Estimate,
    /// The number of earlier runs that tell it, too.
    #[serde(default)]
    pub earlier_runs: u32,
}

/// What goes along with the latency of near processors; taken out of the rates of rated rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DistanceCost {
    /// The latency over the usual one, the geometric mean of rated cells.
    pub latency_ratio: f64,
    /// The usual latency in earlier runs, in ns.
    pub usual_ns: u64,
    /// The goodput of cells with that latency over that at the usual one.
    pub ratio: Estimate,
    /// The number of earlier runs that tell it, too.
    pub earlier_runs: u32,
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
        let distance = cells.processor_costs().distance_cost();
        let is_distant = distance.is_some_and(|cost| cost.ratio.value.ln().abs() > MOST_SLOWNESS);
        (mean > MOST_SLOWNESS || is_distant).then_some(Self {
            quick_ns,
            mean_ns: (quick_ns as f64 * mean.exp()) as u64,
            most_ns: times.iter().max()?.nanoseconds(),
            cost: cells.processor_costs().slow_cost(),
            distance,
        })
    }
}

impl SlowCost {
    fn observed(&self) -> String {
        let usual = |usual| format!("in the usual {}", super::time(usual));
        format!(
            "goodput of such cells over that {}{}, taken out of rates: {:.2}",
            self.usual_ns.map_or_else(|| "at full speed".to_owned(), usual),
            in_earlier(self.earlier_runs),
            self.ratio.value
        )
    }
}

impl DistanceCost {
    fn observed(&self) -> String {
        let mean = (self.usual_ns as f64 * self.latency_ratio).round() as u64;
        let [mean, usual] = [mean, self.usual_ns].map(super::time);
        format!(
            "a cache line took {mean} between them instead of the usual {usual}{}, taken out: {:.2}",
            in_earlier(self.earlier_runs),
            self.ratio.value
        )
    }
}

impl Explanation for ProcessorsSlowed {
    fn observed(&self) -> String {
        let [quick, mean, most] = [self.quick_ns, self.mean_ns, self.most_ns].map(super::time);
        let seen = format!(
            "the processors were slowed: arithmetic of {quick} took {mean} on average, and up to {most}"
        );
        let costs = match self.cost {
            Some(cost) => format!("{seen}; {}", cost.observed()),
            None => format!("{seen}; what it cost cannot be told, so rates are as measured"),
        };
        match self.distance {
            Some(distance) => format!("{costs}; {}", distance.observed()),
            None => costs,
        }
    }

    fn advice(&self, _: &Plan) -> String {
        "dedicated cores: no other thread of the same core (SMT) at work meanwhile; rows are wider"
            .to_owned()
    }
}

/// The machine was busy before or after the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadBefore {
    /// Load average over one minute, of runs without that measurement.
    pub load_average: f64,
    /// The number of processors.
    pub cpus: u64,
    /// The share of their time that others used just before the run: 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// The share that others used just after the run, if that was much, too: 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_after: Option<f64>,
}

/// Above this share of the processors other programs are running: a quarter, which ten ticks of
/// each processor distinguish from an idle machine's background work.
const MOST_LOAD: f64 = 0.25;

impl LoadBefore {
    /// By the measurements before and after the run, which an earlier run does not affect; else by the load
    /// average.
    pub(super) fn check(context: &Context) -> Option<Self> {
        let load_average = context.load_before?;
        let share = context.busy_before.unwrap_or(load_average / context.cpus as f64);
        let busy_after = context.busy_after.filter(|busy| *busy > MOST_LOAD);
        (share > MOST_LOAD || busy_after.is_some()).then_some(Self {
            load_average,
            cpus: context.cpus as u64,
            busy: context.busy_before,
            busy_after,
        })
    }
}

impl Explanation for LoadBefore {
    fn observed(&self) -> String {
        let cpus = count(self.cpus, "processor");
        let before = self.busy.filter(|busy| *busy > MOST_LOAD || self.busy_after.is_none());
        match (before.map(percent), self.busy_after.map(percent)) {
            (Some(before), None) => format!("others used {before} of {cpus} just before the run"),
            (None, Some(after)) => format!("others used {after} of {cpus} just after the run"),
            (Some(before), Some(after)) => {
                format!(
                    "others used {before} of {cpus} just before the run and {after} just after it"
                )
            }
            (None, None) => {
                format!("the load average was {:.2} on {cpus} before the run", self.load_average)
            }
        }
    }

    fn advice(&self, _: &Plan) -> String {
        "wait until other programs have finished (after a build: one minute) and measure again"
            .to_owned()
    }
}

/// More activities than processors: those of the test machine also compete with the peers' own; if
/// it has its own processors, only the peers' compete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverCommitted {
    /// Workers of the largest cell; one that only answers, or does nothing, is not counted.
    pub workers: u64,
    /// The number of processors that the workers share.
    pub cpus: u64,
    /// Whether only the peers share them, because the machine under test has its own.
    #[serde(default)]
    pub around_test: bool,
}

impl OverCommitted {
    pub(super) fn check(cells: &Cells, context: &Context) -> Option<Self> {
        let division = context.plan.processors.as_ref();
        let cpus = division.map_or(context.cpus, |division| division.rest().numbers().len());
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
