//! `btu speed`: a network between two hosts: the time of a request on the idle network and while
//! each direction is full, the goodput of each direction, and its cost: retransmitted segments, lost
//! datagrams, a full queue, processor time.

mod forecast;
mod pace;
mod phase;
mod plan;
mod verdict;

pub use pace::{interval, least_time};
pub use phase::{Phase, SpeedCell};
pub use plan::{MOST_STREAMS, SpeedPlan, upload};
pub use verdict::{
    Bloat, BloatWord, Connects, Direction, FlowSpeed, PhaseLoss, RoundTrip, SpeedRow, SpeedVerdict,
    Wait,
};
