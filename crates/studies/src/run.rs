//! `btu run`: users' own programs and btu's activities on any network, under any load, with factors
//! that are varied together.

mod doing;
mod effects;
mod examples;
mod file;
mod least;
mod pattern;
mod plan;
mod row;
mod value;
mod verdict;
mod warning;

pub use doing::{ActivityStep, Doing};
pub use effects::{Alias, FactorEffects, FactorPair, Fraction};
pub use examples::{EXAMPLES, Example};
pub use file::{
    ExperimentFile, ExperimentNetwork, Found, Ground, Networks, Order, inline_network,
    inventory_of, read,
};
pub use pattern::Pattern;
pub use plan::{Factor, RunCell, RunPlan};
pub use row::RunRow;
pub use value::{Better, Stream, Value, What};
pub use verdict::{ProgramTime, ProgramUse, RowUse, RowVerdict, RunVerdict, ValueVerdict};

#[cfg(test)]
mod tests;
