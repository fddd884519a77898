//! The Simple Two-way Active Measurement Protocol (STAMP, RFC 8762) in unauthenticated mode: a sender
//! numbers and times packets, and a reflector answers each with its own number and times.
//!
//! [`Reflector`] has state: it counts the packets of each session, so that a sender knows on which
//! way a packet was lost. [`measure`] is the sender. Either works with those of other makes,
//! TWAMP Light (RFC 8545, RFC 5357 appendix I) included.

#![forbid(unsafe_code)]

mod error;
#[doc(hidden)]
pub mod fuzz;
mod ledger;
mod packet;
mod reflector;
mod report;
mod sender;
mod sessions;
mod socket;
mod steps;
mod time;

pub use error::StampError;
pub use packet::{BASE_OCTETS, ReflectorPacket, SenderPacket};
pub use reflector::Reflector;
pub use report::{Counts, Losses, RoundTrip, StampReport};
pub use sender::{MOST_PACKETS, SenderProgress, SenderSettings, measure};
pub use steps::ClockStep;
pub use time::{ErrorEstimate, Format, Timestamp};

/// The port of reflectors (RFC 8762, section 4.1; it was TWAMP's before: RFC 8545).
pub const PORT: u16 = 862;
