//! Signatures: the time and throughput of a transport for messages of every size, as the network
//! protocol independent performance evaluator `NetPIPE` draws them (Snell, Mikler and Gustafson,
//! 1996).
//!
//! A [`PipePlan`] decides what is measured. Its [`Sizes`] are walked through in order; a
//! [`Schedule`] gives the repetitions of the next size and the end; every size gives a [`Point`]
//! with all its [`Trial`]s.

mod conditions;
mod kind;
mod pin;
mod place;
mod plan;
mod point;
mod schedule;
mod set;
mod sizes;
mod turns;

pub use conditions::Conditions;
pub use kind::{Kind, Pattern, UnknownName};
pub use pin::{Pin, PinError, Processors};
pub use place::{Place, Remote};
pub use plan::{
    Buffers, Cache, Check, Engine, PipePlan, Precision, SocketOptions, TRIALS_FOR_INTERVAL,
};
pub use point::{Accounts, End, Point, Trial};
pub use schedule::{Next, Progress, Schedule};
pub use set::{Purpose, SetPlan};
pub use sizes::{LARGEST, Sequence, Sizes, SizesError};
pub use turns::Turns;
