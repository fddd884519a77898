//! `btu pipe`, after Snell, Mikler and Gustafson (1996): the verdict over a signature, the cost of each layer of a
//! stack, and what remains of a signature under a load.

mod cost;
mod merge;
mod set;
mod verdict;

pub use cost::{LayerCost, SignatureCost, SizeRatio, cost_over, layer_costs};
pub use set::{LoadCost, LoadedVerdict, SetVerdict, judge_set};
pub use verdict::{
    Dip, Exchanges, Fit, Knee, Latencies, OneWay, Peak, PipeCause, PipeVerdict, PipeWarning,
    SizeRange, SizeVerdict, Turn, judge,
};

use btu_contract::experiment::RunFacts;
use btu_contract::hint::{HintRecord, HintResult, judge_run};
use btu_contract::job::{Job, JobRecord};
use serde::Serialize;

use crate::Judged;

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum JobVerdict {
    /// Of a single signature.
    One(Box<PipeVerdict>),
    /// Of several.
    Set(SetVerdict),
    /// Of HINT.
    Hint(Box<HintResult>),
}

impl Judged for Job {
    type Verdict = JobVerdict;

    fn judge(&self, records: &[JobRecord], _: &RunFacts) -> JobVerdict {
        match self {
            Self::One(plan) => JobVerdict::One(Box::new(judge(plan, &Self::points(records, 0)))),
            Self::Set(set) => JobVerdict::Set(judge_set(set, records)),
            Self::Hint(run) => {
                let seen: Vec<HintRecord> = records.iter().map(|one| one.seen.clone()).collect();
                JobVerdict::Hint(Box::new(judge_run(run, &seen)))
            }
        }
    }
}
