//! The kinds of runs: a signature, several in turns, or HINT.

use btu_units::Span;
use serde_json::Value;

use super::{Facts, PipePlan, Place, Point, Processors, Purpose, SUITE, SetPlan, SetPoint, facts};
use crate::cell::Load;
use crate::hint::{self, HintPlan, HintRecord, HintRun};

/// The end of the name of a run with both ends on one processor.
const TOGETHER: &str = ", ends together";

/// A plan from elsewhere may name any number of passes.
const MOST_PASSES: u32 = 1000;

/// The kind of one run.
#[derive(Debug, Clone)]
pub enum Job {
    /// A run of a single signature.
    One(Box<PipePlan>),
    /// Several signatures, measured in turns.
    Set(SetPlan),
    /// A run of HINT.
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
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// The index of the signature among the plans.
    pub series: usize,
    /// The block of its part.
    pub block: u32,
    /// A point of a signature, or a step of HINT.
    pub seen: HintRecord,
}

impl Job {
    /// The suite's name in the store.
    pub fn suite(&self) -> &'static str {
        match self {
            Self::One(_) => SUITE,
            Self::Set(set) => set.purpose.suite(),
            Self::Hint(_) => hint::SUITE,
        }
    }

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

    /// The plan as it is stored.
    ///
    /// # Errors
    /// As [`serde_json::to_value`].
    pub fn document(&self) -> serde_json::Result<Value> {
        match self {
            Self::One(plan) => serde_json::to_value(plan),
            Self::Set(set) => serde_json::to_value(set),
            Self::Hint(run) => serde_json::to_value(run),
        }
    }

    /// The plan's name; see [`PipePlan::hash`].
    pub fn hash(&self) -> String {
        match self {
            Self::One(plan) => plan.hash(),
            Self::Set(set) => set.hash(),
            Self::Hint(run) => run.hash(),
        }
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

    /// The columns of a record.
    pub fn facts(&self, record: &JobRecord) -> Option<Facts> {
        match (self, &record.seen) {
            (Self::Hint(run), seen) => Some(hint::facts(run, seen)),
            (_, HintRecord::Message(point)) => Some(facts(self.plans().get(record.series)?, point)),
            (_, HintRecord::Two(_) | HintRecord::One(_)) => None,
        }
    }

    /// A record as it is stored.
    ///
    /// # Errors
    /// As [`serde_json::to_string`].
    pub fn stored_form(&self, record: &JobRecord) -> serde_json::Result<String> {
        let JobRecord { series, seen, .. } = record;
        match (self, seen) {
            (Self::One(_), HintRecord::Message(point)) => serde_json::to_string(point),
            (Self::Set(_), HintRecord::Message(point)) => {
                serde_json::to_string(&SetPoint { series: *series, point: (**point).clone() })
            }
            _ => serde_json::to_string(seen),
        }
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

impl JobRecord {
    /// A point of this signature.
    pub fn of_point(series: usize, block: u32, point: Point) -> Self {
        Self { series, block, seen: HintRecord::Message(Box::new(point)) }
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
        Job::Hint(Box::new(HintRun { version: HintRun::VERSION, pipe, two, one }))
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
        assert_eq!(Job::Set(SetPlan::new(Purpose::Load, two())).most_turns(), 2 * 3);
    }

    #[test]
    fn a_pair_is_two_processors_of_an_idle_machine() {
        let held = |far, load| {
            let processors = Some(Processors { near: 0, far });
            two().into_iter().map(|plan| PipePlan { load, processors, ..plan }).collect()
        };
        let of = |series: Vec<PipePlan>| Job::Set(SetPlan::new(Purpose::Layers, series)).pair();
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

    /// Runs of every version are read in this form.
    #[test]
    fn records_are_stored_by_the_kind_of_run() {
        let point = Point::empty(Bytes::new(1));
        let whole = serde_json::to_value(&point).unwrap();
        let [one, set, hint] = [
            Job::One(Box::new(two().remove(0))),
            Job::Set(SetPlan::new(Purpose::Load, two())),
            hint(),
        ]
        .map(|job| {
            let record = JobRecord::of_point(1, 0, point.clone());
            serde_json::from_str::<Value>(&job.stored_form(&record).unwrap()).unwrap()
        });
        assert_eq!(one, whole);
        assert_eq!(set, serde_json::json!({"series": 1, "point": whole}));
        assert_eq!(hint, serde_json::json!({"message": whole}));
    }

    #[test]
    fn a_record_has_the_columns_of_its_own_signature() {
        let job = Job::Set(SetPlan::new(Purpose::Load, two()));
        let point = Point::empty(Bytes::new(64));
        let load = |series| {
            let record = JobRecord::of_point(series, 0, point.clone());
            job.facts(&record).map(|facts| facts.load)
        };
        assert_eq!([load(0), load(1), load(2)], [Some("idle"), Some("cpu"), None]);
        let records = [0, 1, 1].map(|series| JobRecord::of_point(series, 0, point.clone()));
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
            Job::Set(SetPlan::new(Purpose::Load, series.collect())).time()
        };
        let second = Some(Span::from_seconds(1));
        assert_eq!((of([second, second]), of([second, None])), (Some(Span::from_seconds(2)), None));
    }
}
