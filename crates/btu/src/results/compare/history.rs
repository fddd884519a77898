//! Earlier runs, which show how much runs of the same plan differ.

use btu_contract::network::Network;
use btu_control::environment::Environment;
use btu_report::EarlierRuns;
use btu_stats::{Level, geometric_interval};
use btu_store::{RunId, RunSummary, State, Store};
use btu_studies::rate::Plan;

use super::Compared;
use super::readings::Ratings;
use super::sides::Member;
use crate::stored::{Rated, among_others};

/// The number of newest runs of a group that are read.
const MOST: usize = 20;

/// An interval from two runs would be nearly thirteen times as wide as their deviation.
const FEWEST_RUNS: usize = 3;

/// The properties that repeated runs share: the plan, and the main data of the machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    plan: String,
    machine: String,
}

impl Key {
    fn of(study: &Ratings, member: &Member<Plan>) -> Self {
        let machine = member.machine.as_ref().map_or_else(String::new, machine);
        // The hash is of the plan itself: a hash that is stored next to it may be wrong or forged.
        Self { plan: study.hash(&member.plan), machine }
    }
}

/// Processors, kernel, and the program itself.
fn machine(environment: &Environment) -> String {
    let processor = &environment.processor;
    let model = processor.model.as_deref().unwrap_or_default();
    let kernel = environment.kernel.release.as_deref().unwrap_or_default();
    format!("{} x {model}, {kernel}, {}", processor.online, environment.btu_version)
}

/// The spread of this run's machine from run to run: complete runs of its plan there, including
/// this one, if that gives an interval.
pub(crate) fn of_machine(store: &Store, run: RunId) -> anyhow::Result<Option<EarlierRuns>> {
    let study = &Ratings;
    let Ok(member) = Member::read(study, store, run) else { return Ok(None) };
    if member.row.summary.state != State::Complete
        || matches!(member.plan.network, Network::Machines(_))
    {
        return Ok(None);
    }
    let wanted = Key::of(study, &member);
    let mut ratings: Vec<f64> = Vec::new();
    let is_one = |other: &RunSummary| {
        let is_complete = study.is_of(&other.study) && other.state == State::Complete;
        is_complete
            && Member::read(study, store, other.id)
                .is_ok_and(|member| Key::of(study, &member) == wanted)
    };
    for other in store.runs()?.iter().rev().filter(|other| is_one(other)).take(MOST) {
        let rated = among_others(Rated::read(store, other.id))?;
        ratings.extend(
            rated
                .ok()
                .and_then(|rated| rated.rating)
                .map(|rating| rating.btu_bits_per_second.value),
        );
    }
    let is_repeated = ratings.len() >= FEWEST_RUNS;
    let mean = if is_repeated { geometric_interval(&ratings, Level::P95) } else { None };
    Ok(mean.map(|btu_bits_per_second| EarlierRuns { runs: ratings.len(), btu_bits_per_second }))
}
