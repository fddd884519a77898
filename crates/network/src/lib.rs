//! The network file: its data, its reader, and the errors of a file that cannot be read.
//!
//! A [`Drawing`] is a network as data: segments, stations, bridges, links and traffic, checked and
//! expanded, so the code that uses it (closed forms, the simulator, the wire) does not repeat the
//! checks. Names are resolved to places in the drawing's lists; groups with a count are written
//! out, one entry for each member.

#![forbid(unsafe_code)]

mod direction;
mod drawing;
mod host_name;
mod id;
mod inventory;
mod library;
mod link;
mod load;
mod quantity;
mod queue;
mod read;
mod segment;
mod traffic;

pub use direction::{Direction, Framing, Jitter, Loss, Rate, Reordering, Shape, Trace};
pub use drawing::{Attachment, Drawing, Station};
pub use host_name::{HostName, HostNameError};
pub use id::{BridgeId, LinkId, SegmentId, StationId};
pub use inventory::{
    AGENT_PORT, AgentAddress, Control, Host, HostAddressError, HostRole, Inventory, SshDestination,
};
pub use library::{library, library_text, library_trace};
pub use link::{Bridge, Change, End, Link, Way};
pub use load::Offered;
pub use quantity::Quantity;
pub use queue::{Codel, Discipline, FairCodel, QueueLimit, Red};
pub use read::{
    Document, Fields, Files, Item, Parameter, Place, Problem, ReadError, Reader, SETTING, Spot,
    fuzz_read, fuzz_trace, listed, recorded, recording_comment, settings_of, suggestion,
};
pub use segment::{
    Atm, Contention, Fddi, Medium, Segment, Service, SharedEthernet, Star, TokenRing,
};
pub use traffic::{Arrivals, Flow, Sizes, Target};
