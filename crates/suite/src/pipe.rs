//! Signatures: the time and throughput of a transport for messages of every size, as the network
//! protocol independent performance evaluator `NetPIPE` draws them (Snell, Mikler and Gustafson,
//! 1996).
//!
//! A [`PipePlan`] decides what is measured. Its [`Sizes`] are walked through in order; a
//! [`Schedule`] gives the repetitions of the next size and the end; every size gives a [`Point`]
//! with all its [`Trial`]s, and [`judge`] computes the verdict over the points.

mod conditions;
mod cost;
mod facts;
mod job;
mod kind;
mod layers;
mod merge;
mod pin;
mod place;
mod plan;
mod point;
mod schedule;
mod set;
mod sizes;
mod turns;
mod verdict;

pub use conditions::Conditions;
pub use cost::{SignatureCost, SizeRatio, cost_over};
pub use facts::{Facts, facts};
pub use job::{Job, JobRecord, Part, Work};
pub use kind::{Kind, Pattern, UnknownName};
pub use layers::{LayerCost, layer_costs};
pub use pin::{Pin, PinError, Processors};
pub use place::{Place, Remote};
pub use plan::{Buffers, Cache, Check, Engine, PipePlan, Precision, SocketOptions};
pub use point::{Accounts, End, Point, Trial};
pub use schedule::{Next, Progress, Schedule};
pub use set::{
    LoadCost, LoadedVerdict, Purpose, SetPlan, SetPoint, SetVerdict, judge_set, of as points_of,
};
pub use sizes::{LARGEST, Sequence, Sizes, SizesError};
pub use turns::Turns;
pub use verdict::{
    Dip, Exchanges, Fit, Knee, Latencies, OneWay, Peak, PipeCause, PipeVerdict, PipeWarning,
    SizeRange, SizeVerdict, Turn, judge,
};

/// The name of this suite in the store; a set of signatures has that of its [`Purpose`].
pub const SUITE: &str = "pipe";
