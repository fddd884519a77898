//! The studies: what each of them measures, its verdict, and what its paper printed. Pure: no clock, no socket,
//! no file. Agents, workers and the store know none of it.

#![forbid(unsafe_code)]

pub mod app;
pub mod breakdown;
pub mod compare;
pub mod copy;
pub mod fleet;
pub mod imports;
pub mod lan;
pub mod limits;
pub mod papers;
pub mod pipe;
pub mod rank;
pub mod rate;
pub mod run;
pub mod speed;

use btu_contract::experiment::{Experiment, RunFacts};
use serde::Serialize;

/// A study whose runs are judged: its verdict is a pure function of a stored run, so that it can be
/// made again at any time.
pub trait Judged: Experiment {
    /// The verdict over the records of a run.
    type Verdict: Serialize;

    /// Judges a run by all its stored data.
    fn judge(&self, records: &[Self::Record], run: &RunFacts) -> Self::Verdict;
}
