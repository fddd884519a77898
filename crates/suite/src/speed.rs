//! `btu speed`: a network between two hosts in ten seconds: the time of a request on the idle
//! network and while each direction is full, the goodput of each direction, and its cost:
//! retransmitted segments, lost datagrams, a full queue, processor time.

mod phase;
mod plan;
mod verdict;

pub use phase::{Phase, SpeedCell};
pub use plan::{MOST_STREAMS, SpeedPlan, upload};
pub use verdict::{Connects, Direction, FlowSpeed, RoundTrip, SpeedRow, SpeedVerdict};
