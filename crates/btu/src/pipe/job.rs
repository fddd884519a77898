//! The kinds of runs: a signature, several in turns, or HINT.

use btu_suite::cell::Load;
use btu_suite::hint::{self, HintPlan, HintRun};
use btu_suite::pipe::{self, PipePlan, Purpose, SetPlan};
use serde_json::Value;

/// The kind of one run.
#[derive(Debug, Clone)]
pub(super) enum Job {
    /// A run of a single signature.
    One(Box<PipePlan>),
    /// Several signatures, measured in turns.
    Set(SetPlan),
    /// A run of HINT.
    Hint(Box<HintRun>),
}

impl Job {
    /// The suite's name in the store.
    pub(super) fn suite(&self) -> &'static str {
        match self {
            Self::One(_) => pipe::SUITE,
            Self::Set(set) => set.purpose.suite(),
            Self::Hint(_) => hint::SUITE,
        }
    }

    /// Its pipes.
    pub(super) fn plans(&self) -> &[PipePlan] {
        match self {
            Self::One(plan) => std::slice::from_ref(plan),
            Self::Set(set) => &set.series,
            Self::Hint(run) => std::slice::from_ref(&run.pipe),
        }
    }

    pub(super) fn document(&self) -> serde_json::Result<Value> {
        match self {
            Self::One(plan) => serde_json::to_value(plan),
            Self::Set(set) => serde_json::to_value(set),
            Self::Hint(run) => serde_json::to_value(run),
        }
    }

    pub(super) fn hash(&self) -> String {
        match self {
            Self::One(plan) => plan.hash(),
            Self::Set(set) => set.hash(),
            Self::Hint(run) => run.hash(),
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.plans().first().map_or(0, |plan| plan.seed)
    }

    /// Its largest number of cells.
    pub(super) fn planned(&self) -> usize {
        match self {
            Self::Hint(run) => {
                2 + [Some(&run.two), run.one.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(most_steps)
                    .sum::<usize>()
            }
            _ => self.plans().iter().map(|plan| plan.sizes.list().len()).sum(),
        }
    }

    /// Its name in the list of runs, on this network.
    pub(super) fn called(&self, network: &str) -> String {
        // The list must show unusual settings: ends on one processor have other times.
        let is_together = self
            .plans()
            .iter()
            .all(|plan| plan.processors.is_some_and(|held| held.near == held.far));
        let network =
            &if is_together { format!("{network}, ends together") } else { network.to_owned() };
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

/// Numbers of intervals until there are as many as the plan allows, each a decibel more than the
/// one before.
fn most_steps(plan: &HintPlan) -> usize {
    let decibels = (plan.most_intervals as f64).ln() / plan.advance.max(1.01).ln();
    plan.most_points.min(decibels as usize)
}
