//! The verdict over a stored run: a pure function, so that it can be made again at any time.

use btu_suite::experiment::{Experiment, RunFacts};
use serde::Serialize;

/// A study whose runs are judged.
pub trait Judged: Experiment {
    /// The verdict over the records of a run.
    type Verdict: Serialize;

    /// Judges a run by all its stored data.
    fn judge(&self, records: &[Self::Record], run: &RunFacts) -> Self::Verdict;
}
