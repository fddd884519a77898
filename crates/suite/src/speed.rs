//! `btu speed`: in ten seconds, what a network gives between two hosts. How long a request takes
//! while nothing else is sent and while each direction is full, how much data goes each way, and
//! what that cost: segments sent again, datagrams lost, a queue that fills, processor time.

mod phase;
mod plan;
mod verdict;

pub use phase::{Phase, SpeedCell};
pub use plan::{MOST_STREAMS, SpeedPlan};
pub use verdict::{Direction, FlowSpeed, RoundTrip, SpeedRow, SpeedVerdict};
