//! `btu fleet`: which of many hosts, or which link between them, is slow.

mod groups;
mod model;
mod plan;
mod rates;
mod suspects;
#[cfg(test)]
mod tests;

pub use groups::Apart;
pub use model::{Fleet, HostSpeed, LEAST_TELLING, SlowPair, USUAL_SPREAD};
pub use plan::{
    AtOnce, BrokenPair, FleetCell, FleetPlan, FleetVerdict, MOST_HOSTS, PairResult, blocks_of,
};
pub use rates::FALSE_MARKS;
pub use suspects::MOST_REPETITIONS;
