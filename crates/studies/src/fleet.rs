//! `btu fleet`: which of many hosts, or which link between them, is slow.

mod model;
mod plan;

pub use model::{Apart, FALSE_MARKS, Fleet, HostSpeed, SlowPair};
pub use plan::{AtOnce, BrokenPair, FleetCell, FleetPlan, FleetVerdict, MOST_HOSTS, PairResult};
