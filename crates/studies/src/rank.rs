//! Ranks machines by the rates that they give to users.
//!
//! # Rules
//!
//! * **Like with like.** Only runs with equal plans (except for the seed) are in one list.
//! * **Whole runs.** A rating with missing rows does not count; a run that was not completed, that
//!   has no interval, or that is of two machines, is left out, and named. Plans that leave out parts
//!   of the rating have separate lists, which are marked.
//! * **All runs count.** A machine's BTU is the geometric mean over its runs. The best of them
//!   would reward the user who measures most often, and no user can expect the best run.
//! * **Its interval** (95 %) comes from the highest level that varies (Kalibera and Jones, ISMM
//!   2013): with three runs or more, Student's t over the logarithms of the runs' ratings; with
//!   two, the hull of their own intervals; with one, its own. With fewer than three runs it does
//!   not see how the machine differs from run to run, and is marked.
//! * **Ties.** A machine's rank is one more than the number of machines that are clearly faster, of
//!   which the whole interval is above its own; in the order of their rates no rank is below the one
//!   before. So no machine, however little is known of it, changes how two others stand to each
//!   other. Overlap is a careful test: two machines that share a rank may still differ when compared
//!   directly.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use btu_stats::{Estimate, Interval, Level, geometric_interval, geometric_mean};
use serde::{Deserialize, Serialize};

use btu_contract::experiment::Experiment;
use btu_contract::machine::MachineKey;

use crate::rate::{Obstacle, Plan, Rating, Title};

/// The level of every interval.
const LEVEL: Level = Level::P95;

/// The number of runs from which a spread can be estimated.
const RUNS_WITH_A_SPREAD: usize = 3;

/// The parts of a stored run that a ranking needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The name of the run.
    pub run: String,
    /// Its machine.
    pub machine: MachineKey,
    /// Why its rating may not be called a BTU rating.
    pub obstacles: Vec<Obstacle>,
    /// The plan of the run: what was asked for.
    pub plan: Plan,
    /// Its rating; `None` if no cell under load counts.
    pub rating: Option<Rating>,
    /// Rounds per second of the cpu activity alone: the geometric mean over its repetitions.
    pub cpu_rounds_per_second: Option<f64>,
}

/// Machines in lists, one for each plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The lists: plans of the whole rating first, of these the plan with most machines, then the
    /// one with most runs.
    pub lists: Vec<List>,
    /// Runs that are in no list.
    pub left_out: Vec<LeftOut>,
}

/// The machines with runs of one plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct List {
    /// The name of its numbers: a plan that leaves rows out gives parts of BTU ratings.
    pub title: Title,
    /// The hash of the plan that all runs in the list share.
    pub plan_hash: String,
    /// The name of the plan's profile.
    pub profile: String,
    /// The name of the plan's network.
    pub network: String,
    /// The plan's other settings that differ from a complete plan.
    pub particulars: Vec<String>,
    /// The machines, the fastest first.
    pub places: Vec<Place>,
}

/// A rating to be ranked, of the machine `M`.
#[derive(Debug, Clone, PartialEq)]
pub struct RatedRun<M> {
    /// The machine: equal ones are ranked as one.
    pub machine: M,
    /// The name of the run.
    pub run: String,
    /// Its rating, in bits per second; without an interval it is not ranked.
    pub rating: Estimate,
    /// Whether the rating has low confidence.
    pub low_confidence: bool,
    /// Rounds per second of the cpu activity alone.
    pub cpu_rounds_per_second: Option<f64>,
}

/// A machine in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place<M = MachineKey> {
    /// Its rank, shared by machines without a significant difference.
    pub rank: usize,
    /// Whether other machines share its rank.
    pub tied: bool,
    /// The machine.
    pub machine: M,
    /// Its runs, in the order given.
    pub runs: Vec<String>,
    /// Geometric mean over the runs.
    pub btu_bits_per_second: Estimate,
    /// The source of the interval.
    pub basis: Basis,
    /// Whether some run's rating has low confidence.
    pub low_confidence: bool,
    /// Geometric mean over the runs of the cpu activity's rounds per second, alone.
    pub cpu_rounds_per_second: Option<f64>,
}

/// The source of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The repetitions of one run.
    WithinOneRun,
    /// The hull of two runs' intervals.
    HullOfTwoRuns,
    /// The spread between three runs or more.
    BetweenRuns,
}

/// A run that is in no list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The name of the run.
    pub run: String,
    /// The reason why the run is in no list.
    pub reason: String,
}

/// Ranks the machines of `candidates`.
pub fn rank(candidates: &[Candidate]) -> Ranking {
    let mut left_out = Vec::new();
    let mut plans: Vec<(String, Vec<&Candidate>)> = Vec::new();
    for candidate in candidates {
        match obstacle(candidate) {
            Some(reason) => left_out.push(LeftOut { run: candidate.run.clone(), reason }),
            None => put(&mut plans, candidate.plan.hash(), candidate),
        }
    }
    let mut lists: Vec<List> = plans.into_iter().map(|(hash, runs)| list(hash, &runs)).collect();
    let size = |list: &List| {
        let runs = list.places.iter().map(|place| place.runs.len()).sum::<usize>();
        (list.title == Title::BtuRating, list.places.len(), runs)
    };
    lists.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.plan_hash.cmp(&b.plan_hash)));
    Ranking { lists, left_out }
}

/// Adds `candidate` to those with its key, in the order of the keys' first occurrence.
fn put<'a, K: PartialEq>(
    groups: &mut Vec<(K, Vec<&'a Candidate>)>,
    key: K,
    candidate: &'a Candidate,
) {
    match groups.iter_mut().find(|(known, _)| *known == key) {
        Some((_, members)) => members.push(candidate),
        None => groups.push((key, vec![candidate])),
    }
}

/// Why a run cannot be ranked.
fn obstacle(candidate: &Candidate) -> Option<String> {
    let Some(rating) = &candidate.rating else {
        return Some("it has no rating: no cell under load counts".to_owned());
    };
    let reason = |obstacle: &Obstacle| match obstacle {
        Obstacle::Incomplete if rating.missing.is_empty() => {
            Some("it was not completed".to_owned())
        }
        Obstacle::Incomplete => Some(format!(
            "{} of {} rated rows are missing",
            rating.missing.len(),
            rating.cells_planned
        )),
        Obstacle::ResumedElsewhere => Some(
            "it was resumed on another machine, kernel or version of btu: its cells are of both"
                .to_owned(),
        ),
        // It is in the list of its plan, which has a fitting name.
        Obstacle::NoRating | Obstacle::Partial => None,
    };
    let no_interval = || {
        rating.btu_bits_per_second.interval.is_none().then(|| {
            format!("it has no interval: {}", rating.low_confidence_reason().unwrap_or_default())
        })
    };
    candidate.obstacles.iter().find_map(reason).or_else(no_interval)
}

fn list(plan_hash: String, runs: &[&Candidate]) -> List {
    let entries = runs.iter().filter_map(|run| {
        let rating = run.rating.as_ref()?;
        Some(RatedRun {
            machine: run.machine.clone(),
            run: run.run.clone(),
            rating: rating.btu_bits_per_second,
            low_confidence: rating.low_confidence,
            cpu_rounds_per_second: run.cpu_rounds_per_second,
        })
    });
    let places = places(entries.collect());
    let plan = &runs[0].plan;
    List {
        title: Title::of(&runs[0].obstacles),
        plan_hash,
        profile: plan.profile.name.clone(),
        network: plan.network.to_string(),
        particulars: particulars(plan),
        places,
    }
}

/// The settings of a plan that differ from the whole rating.
fn particulars(plan: &Plan) -> Vec<String> {
    let whole = Plan::whole(plan.seed, plan.profile.clone(), plan.network.clone());
    let differences = crate::compare::plan_differences(&whole, plan);
    differences
        .into_iter()
        .map(|difference| format!("{}: {}", difference.setting, difference.other))
        .collect()
}

/// The machines of these runs of one plan, the fastest first.
pub fn places<M: Ord + Clone>(runs: Vec<RatedRun<M>>) -> Vec<Place<M>> {
    let mut machines: Vec<Vec<RatedRun<M>>> = Vec::new();
    let mut known: BTreeMap<M, usize> = BTreeMap::new();
    for run in runs {
        let index = *known.entry(run.machine.clone()).or_insert(machines.len());
        match machines.get_mut(index) {
            Some(of_machine) => of_machine.push(run),
            None => machines.push(vec![run]),
        }
    }
    let mut places: Vec<Place<M>> = machines.iter().filter_map(|runs| place(runs)).collect();
    places.sort_by(|a, b| b.btu_bits_per_second.value.total_cmp(&a.btu_bits_per_second.value));
    give_ranks(&mut places);
    places
}

/// The place of one machine by all its runs.
fn place<M: Clone>(runs: &[RatedRun<M>]) -> Option<Place<M>> {
    let ratings: Vec<Estimate> = runs.iter().map(|run| run.rating).collect();
    let scores: Vec<f64> = runs.iter().filter_map(|run| run.cpu_rounds_per_second).collect();
    let (btu_bits_per_second, basis) = together(&ratings)?;
    Some(Place {
        rank: 0,
        tied: false,
        machine: runs.first()?.machine.clone(),
        runs: runs.iter().map(|run| run.run.clone()).collect(),
        btu_bits_per_second,
        basis,
        low_confidence: runs.iter().any(|run| run.low_confidence),
        cpu_rounds_per_second: geometric_mean(&scores),
    })
}

/// The ratings of one machine's runs as one.
fn together(ratings: &[Estimate]) -> Option<(Estimate, Basis)> {
    let values: Vec<f64> = ratings.iter().map(|rating| rating.value).collect();
    let value = geometric_mean(&values)?;
    let (interval, basis) = match ratings {
        [one] => (one.interval?, Basis::WithinOneRun),
        _ if ratings.len() < RUNS_WITH_A_SPREAD => (hull(ratings)?, Basis::HullOfTwoRuns),
        _ => (geometric_interval(&values, LEVEL)?.interval?, Basis::BetweenRuns),
    };
    Some((Estimate { value, interval: Some(interval) }, basis))
}

/// From the lowest to the highest end; `None` when one of them has no interval.
fn hull(ratings: &[Estimate]) -> Option<Interval> {
    let intervals: Vec<Interval> =
        ratings.iter().map(|rating| rating.interval).collect::<Option<_>>()?;
    let low = intervals.iter().map(|interval| interval.low).reduce(f64::min)?;
    let high = intervals.iter().map(|interval| interval.high).reduce(f64::max)?;
    Some(Interval { low, high })
}

/// The ranks of sorted machines.
fn give_ranks<M>(places: &mut [Place<M>]) {
    // The lower ends of the intervals of the machines so far, in ascending order.
    let (mut lower_ends, mut rank): (Vec<f64>, usize) = (Vec::with_capacity(places.len()), 1);
    for place in places.iter_mut() {
        let Some(Interval { low, high }) = place.btu_bits_per_second.interval else { continue };
        let faster = lower_ends.len() - lower_ends.partition_point(|lower_end| *lower_end <= high);
        rank = rank.max(faster + 1);
        place.rank = rank;
        lower_ends.insert(lower_ends.partition_point(|lower_end| *lower_end <= low), low);
    }
    let ranks: Vec<usize> = places.iter().map(|place| place.rank).collect();
    for (index, place) in places.iter_mut().enumerate() {
        let mut others = index.checked_sub(1).into_iter().chain([index + 1]);
        place.tied = others.any(|other| ranks.get(other) == Some(&place.rank));
    }
}
