//! Several signatures of one run: the layers of a stack, or an idle machine and a busy one.

use serde::{Deserialize, Serialize};

use super::{PipePlan, Point};
use crate::border;
use crate::plan::name_of;

/// The purpose of a set of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The cost of each layer of a stack.
    Layers,
    /// The part of a signature that remains when the machine has other work.
    Load,
}

impl Purpose {
    /// Both purposes of a set of signatures.
    pub const ALL: [Self; 2] = [Self::Layers, Self::Load];

    /// The name of its suite in the store.
    pub const fn suite(self) -> &'static str {
        match self {
            Self::Layers => "pipe-layers",
            Self::Load => "pipe-load",
        }
    }

    /// The purpose of a suite's runs, if it is a suite of sets.
    pub fn of_suite(suite: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.suite() == suite)
    }
}

/// All settings of such a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetPlan {
    /// Version of the plan's meaning.
    pub version: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The signatures, measured in [`super::Turns`]; all are compared with the first.
    #[serde(deserialize_with = "border::series")]
    pub series: Vec<PipePlan>,
}

/// A size of one of the signatures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetPoint {
    /// The index of the signature in the plan.
    pub series: usize,
    /// The measured point of that signature.
    pub point: Point,
}

impl SetPlan {
    /// The plan's version that this program writes.
    pub const VERSION: u32 = 1;

    /// A set of these.
    pub const fn new(purpose: Purpose, series: Vec<PipePlan>) -> Self {
        Self { version: Self::VERSION, purpose, series }
    }

    /// The plan's name, as [`PipePlan::hash`].
    pub fn hash(&self) -> String {
        let series = self.series.iter().map(|plan| PipePlan { seed: 0, ..plan.clone() }).collect();
        name_of(&Self { series, ..self.clone() })
    }
}
