//! The kinds of runs: a signature, several in turns, or HINT.

use btu_stats::median;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::experiment::{Columns, Experiment, Head, Named};
use crate::hint::{HintPlan, HintPoint, HintRecord, HintRun};
use crate::load::Load;
use crate::pipe::{PipePlan, Place, Point, Processors, Purpose, SetPlan};

/// The end of the name of a run with both ends on one processor.
const TOGETHER: &str = ", ends together";

/// A plan from elsewhere may name any number of passes.
const MOST_PASSES: u32 = 1000;

/// The plan of a run of `btu pipe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// A single signature.
    #[serde(rename = "signature")]
    One(Box<PipePlan>),
    /// Several signatures, measured in turns.
    Set(SetPlan),
    /// HINT.
    Hint(Box<HintRun>),
}

/// A part of a run: ends that stay from its first turn to its last one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part<'a> {
    /// What the ends do.
    pub work: Work<'a>,
    /// The block of its records in the store, in which a size has only one.
    pub block: u32,
}

/// What the ends of a part do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work<'a> {
    /// Messages of all sizes, a size a turn.
    Messages,
    /// Laps of HINT, all in one turn.
    Laps(&'a HintPlan),
}

/// What was measured, with its place in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The index of the signature among the plans.
    pub series: usize,
    /// The block of its part.
    pub block: u32,
    /// Its place among all records of the run, from 0.
    pub position: u32,
    /// A point of a signature, or a step of HINT.
    pub seen: HintRecord,
}

impl Job {
    /// Its pipes.
    pub fn plans(&self) -> &[PipePlan] {
        match self {
            Self::One(plan) => std::slice::from_ref(plan),
            Self::Set(set) => &set.series,
            Self::Hint(run) => std::slice::from_ref(&run.pipe),
        }
    }

    /// The processors of its ends, if each has one of its own and the machine does nothing else:
    /// between them a hypervisor's moves can be seen. `None` for HINT, whose laps never stop.
    pub fn pair(&self) -> Option<[u32; 2]> {
        if matches!(self, Self::Hint(_)) || self.plans().iter().any(|plan| plan.load != Load::Idle)
        {
            return None;
        }
        let mut plans =
            self.plans().iter().filter(|plan| !matches!(plan.place, Place::Machines(_)));
        let Processors { near, far } = plans.find_map(|plan| plan.processors)?;
        (near != far).then_some([near, far])
    }

    /// Passes over all sizes.
    fn passes(&self) -> u32 {
        let passes = self.plans().iter().map(|plan| plan.precision.passes).max();
        passes.unwrap_or(1).clamp(1, MOST_PASSES)
    }

    /// Its parts, one after the other.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let messages = |block| Part { work: Work::Messages, block };
        let Self::Hint(run) = self else { return (0..self.passes()).map(messages).collect() };
        let laps = |plan| Part { work: Work::Laps(plan), block: 0 };
        let between = std::iter::once(&run.two).chain(&run.one).map(laps);
        std::iter::once(messages(0)).chain(between).chain([messages(1)]).collect()
    }

    /// Seeds the payload, and the network's loss and jitter.
    pub fn seed(&self) -> u64 {
        self.plans().first().map_or(0, |plan| plan.seed)
    }

    /// The time limit of an end, which lives as long as its part of the run.
    pub fn longest(&self) -> Span {
        self.plans().iter().map(PipePlan::longest).sum()
    }

    /// The time that it was given; absent if every size is measured, whatever time it takes.
    pub fn time(&self) -> Option<Span> {
        self.plans().iter().map(|plan| plan.precision.time).sum()
    }

    /// The time for all of it where messages are fast, or the time that it was given.
    pub fn expected(&self) -> Span {
        self.time().unwrap_or_else(|| self.plans().iter().map(PipePlan::expected).sum())
    }

    /// The points of a signature among these records.
    pub fn points(records: &[JobRecord], series: usize) -> Vec<Point> {
        let own = records.iter().filter(|record| record.series == series);
        own.filter_map(JobRecord::point).cloned().collect()
    }

    /// Those of one part.
    pub fn points_in(part: Part<'_>, series: usize, records: &[JobRecord]) -> Vec<Point> {
        let is_own = |record: &&JobRecord| record.series == series && record.block == part.block;
        records.iter().filter(is_own).filter_map(JobRecord::point).cloned().collect()
    }

    /// Its largest number of cells.
    pub fn planned(&self) -> usize {
        let Self::Hint(run) = self else {
            let sizes: usize = self.plans().iter().map(|plan| plan.sizes.list().len()).sum();
            return sizes * self.passes() as usize;
        };
        let steps = [Some(&run.two), run.one.as_ref()].into_iter().flatten().map(most_steps);
        2 + steps.sum::<usize>()
    }

    /// No run has more turns, with those in which signatures come to their ends.
    pub fn most_turns(&self) -> u32 {
        let of = |part: &Part<'_>| match part.work {
            Work::Messages => {
                self.plans().iter().map(|plan| plan.sizes.list().len() + 1).sum::<usize>()
            }
            Work::Laps(plan) => plan.most_points + 1,
        };
        u32::try_from(self.parts().iter().map(of).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The network in a name that [`Self::called`] has made.
    pub fn network_in(name: &str) -> &str {
        let name = name.strip_suffix(TOGETHER).unwrap_or(name);
        name.rsplit_once(", ").map_or("", |(_, network)| network)
    }

    /// Its name in the list of runs, on this network.
    pub fn called(&self, network: &str) -> String {
        // The list must show unusual settings: ends on one processor have other times.
        let is_together = self
            .plans()
            .iter()
            .all(|plan| plan.processors.is_some_and(|held| held.near == held.far));
        let network =
            &if is_together { format!("{network}{TOGETHER}") } else { network.to_owned() };
        let labels = || self.plans().iter().map(|plan| plan.kind.label());
        let first = labels().next().unwrap_or_default();
        match self {
            Self::One(_) => format!("{first}, {network}"),
            Self::Hint(_) => format!("HINT over {first}, {network}"),
            Self::Set(SetPlan { purpose: Purpose::Layers, .. }) => {
                format!("layers {}, {network}", labels().collect::<Vec<_>>().join(" "))
            }
            Self::Set(SetPlan { purpose: Purpose::Load, series, .. }) => {
                let loads = series.iter().map(|plan| plan.load).filter(|load| *load != Load::Idle);
                format!(
                    "{first} under {}, {network}",
                    loads.map(Load::name).collect::<Vec<_>>().join(" ")
                )
            }
        }
    }
}

impl Named for Job {
    const STUDY: &'static str = "pipe";
    const COMMAND: &'static str = "btu pipe";
    const VERSION: u32 = PipePlan::VERSION;
}

impl Experiment for Job {
    type Record = JobRecord;

    fn version(&self) -> u32 {
        self.plans().first().map_or(Self::VERSION, |plan| plan.version)
    }

    /// Lists name the transport and the load of a run, too.
    fn head(&self) -> Option<Head> {
        None
    }

    fn with_seed(&self, seed: u64) -> Self {
        let mut job = self.clone();
        match &mut job {
            Self::One(plan) => plan.seed = seed,
            Self::Set(set) => set.series.iter_mut().for_each(|plan| plan.seed = seed),
            Self::Hint(run) => run.pipe.seed = seed,
        }
        job
    }

    fn never_resumed(&self) -> Option<&'static str> {
        matches!(self, Self::Hint(_)).then_some("is one of HINT, whose steps belong together")
    }

    fn columns(&self, record: &JobRecord) -> Result<Columns, String> {
        let plan = self.plans().get(record.series);
        let plan = plan.ok_or("its cell belongs to none of the run's signatures")?;
        let of_step = |processes: &str, step: &HintPoint| Columns {
            block: record.block,
            position: record.position,
            component: format!("hint, {processes}"),
            message: Bytes::new(step.intervals),
            load: plan.load.name(),
            valid: step.bounds().hold(),
            goodput_bits_per_second: None,
            duration: Some(step.trials.iter().copied().sum()),
            host_duration: None,
        };
        Ok(match &record.seen {
            HintRecord::Message(point) => of_point(plan, record, point),
            HintRecord::Two(step) => of_step("two processes", step),
            HintRecord::One(step) => of_step("one process", step),
        })
    }
}

/// The columns of a size: its goodput is its bits over the median time.
fn of_point(plan: &PipePlan, record: &JobRecord, point: &Point) -> Columns {
    let bits = plan.pattern.bits_at_once(point.size, plan.pairs);
    let typical = median(&point.one_way_seconds(plan.pattern)).filter(|seconds| *seconds > 0.0);
    Columns {
        block: record.block,
        position: record.position,
        component: format!("{} {}", plan.kind, plan.pattern),
        message: point.size,
        load: plan.load.name(),
        valid: point.is_valid(),
        goodput_bits_per_second: typical.map(|seconds| bits / seconds),
        duration: Some(point.trials.iter().map(|trial| trial.elapsed).sum()),
        host_duration: None,
    }
}

impl JobRecord {
    /// A point of this signature, the first record of its run.
    pub fn of_point(series: usize, point: Point) -> Self {
        Self { series, block: point.pass, position: 0, seen: HintRecord::Message(Box::new(point)) }
    }

    /// The point, if it is one of a signature.
    pub fn point(&self) -> Option<&Point> {
        match &self.seen {
            HintRecord::Message(point) => Some(point),
            HintRecord::Two(_) | HintRecord::One(_) => None,
        }
    }
}

/// Numbers of intervals until there are as many as the plan allows, each a decibel more than the
/// one before.
fn most_steps(plan: &HintPlan) -> usize {
    let decibels = (plan.most_intervals as f64).ln() / plan.advance.max(1.01).ln();
    plan.most_points.min(decibels as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::Bytes;

    use crate::pipe::{Kind, Pattern};

    fn plan(sizes: &str, pattern: Pattern) -> PipePlan {
        let sizes = sizes.parse().unwrap();
        PipePlan { pattern, sizes, ..PipePlan::new(1, Kind::Tcp, Place::Here) }
    }

    fn two() -> Vec<PipePlan> {
        let idle = plan("1,64", Pattern::PingPong);
        vec![idle.clone(), PipePlan { load: Load::Cpu, ..idle }]
    }

    fn hint() -> Job {
        let (two, one) = (HintPlan::standard(2), Some(HintPlan::standard(1)));
        let pipe = plan("16", Pattern::PingPong);
        Job::Hint(Box::new(HintRun { pipe, two, one }))
    }

    #[test]
    fn hint_is_between_messages_that_are_measured_twice() {
        let job = hint();
        let parts = job.parts();
        let laps: Vec<u64> = parts
            .iter()
            .filter_map(|part| match part.work {
                Work::Laps(plan) => Some(plan.processes),
                Work::Messages => None,
            })
            .collect();
        assert_eq!((parts.len(), laps), (4, vec![2, 1]));
        assert_eq!(parts.iter().map(|part| part.block).collect::<Vec<_>>(), [0, 0, 0, 1]);
        // Two of messages, each with a turn for its end, and 200 steps and an end of each HINT.
        assert_eq!(job.most_turns(), 2 * 2 + 2 * 201);
        assert_eq!(Job::Set(SetPlan { purpose: Purpose::Load, series: two() }).most_turns(), 2 * 3);
    }

    #[test]
    fn a_pair_is_two_processors_of_an_idle_machine() {
        let held = |far, load| {
            let processors = Some(Processors { near: 0, far });
            two().into_iter().map(|plan| PipePlan { load, processors, ..plan }).collect()
        };
        let of =
            |series: Vec<PipePlan>| Job::Set(SetPlan { purpose: Purpose::Layers, series }).pair();
        assert_eq!(of(held(1, Load::Idle)), Some([0, 1]));
        assert_eq!([of(held(0, Load::Idle)), of(held(1, Load::Cpu)), of(two())], [None; 3]);
        assert_eq!(hint().pair(), None);
    }

    #[test]
    fn a_name_tells_its_network() {
        let held = |far| {
            let processors = Some(Processors { near: 0, far });
            Job::One(Box::new(PipePlan { processors, ..two().remove(0) })).called("10 Mb/s")
        };
        assert_eq!([held(0), held(1)], ["TCP, 10 Mb/s, ends together", "TCP, 10 Mb/s"]);
        assert_eq!(
            [held(0), held(1)].map(|name| Job::network_in(&name).to_owned()),
            ["10 Mb/s"; 2]
        );
    }

    #[test]
    fn plans_and_records_are_read_as_they_are_written() {
        let one = Job::One(Box::new(two().remove(0)));
        let set = Job::Set(SetPlan { purpose: Purpose::Load, series: two() });
        for job in [one, set, hint()] {
            let text = serde_json::to_string(&job).unwrap();
            assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
        }
        let record = JobRecord::of_point(1, Point::empty(Bytes::new(1)));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<JobRecord>(&text).unwrap(), record);
    }

    #[test]
    fn a_record_has_the_columns_of_its_own_signature() {
        let job = Job::Set(SetPlan { purpose: Purpose::Load, series: two() });
        let point = Point::empty(Bytes::new(64));
        let load = |series| {
            let record = JobRecord::of_point(series, point.clone());
            job.columns(&record).ok().map(|columns| columns.load)
        };
        assert_eq!([load(0), load(1), load(2)], [Some("idle"), Some("cpu"), None]);
        let records = [0, 1, 1].map(|series| JobRecord::of_point(series, point.clone()));
        assert_eq!([0, 1].map(|series| Job::points(&records, series).len()), [1, 2]);
    }

    #[test]
    fn the_time_is_that_of_all_signatures_if_each_has_one() {
        let timed = |plan: PipePlan, time| {
            let precision = crate::pipe::Precision { time, ..plan.precision.clone() };
            PipePlan { precision, place: Place::Here, ..plan }
        };
        let of = |times: [Option<Span>; 2]| {
            let series = two().into_iter().zip(times).map(|(plan, time)| timed(plan, time));
            Job::Set(SetPlan { purpose: Purpose::Load, series: series.collect() }).time()
        };
        let second = Some(Span::from_seconds(1));
        assert_eq!((of([second, second]), of([second, None])), (Some(Span::from_seconds(2)), None));
    }
}
