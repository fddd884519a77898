//! Several signatures of one run, measured in turns.

use serde::{Deserialize, Serialize};

use super::PipePlan;
use crate::border;

/// The purpose of a set of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The cost of each layer of a stack.
    Layers,
    /// The part of a signature that remains when the machine has other work.
    Load,
}

/// All settings of such a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetPlan {
    /// Its purpose.
    pub purpose: Purpose,
    /// The signatures, measured in [`super::Turns`]; all are compared with the first.
    #[serde(deserialize_with = "border::series")]
    pub series: Vec<PipePlan>,
}
