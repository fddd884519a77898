//! The network as small machines without input or output: elements, chains, and whole drawn
//! networks.
//!
//! **Contract.** Nothing here reads a clock, sleeps, opens a socket or allocates per frame once it
//! is warm. A driver hands in frames and the time, and takes out the frames that became due:
//! [`Element::accept`], then [`Element::poll`] until it answers [`Step::Wake`] or [`Step::Idle`].
//! The simulator drives the elements by virtual time, the wire drives the same elements by real
//! time, and both pass the same tests (module `conformance`).
//!
//! * `now` never goes back, for each element by itself.
//! * A delivery carries its *due* time, at most the `now` of the poll. The next element starts from
//!   the due time, so late wake-ups never add up.
//! * Deliveries of an element come in the order of their due times.
//! * Received + duplicated = delivered + dropped + held, always ([`Account`]).
//! * Every store has a limit and every drop a [`Cause`].
//! * Randomness comes from the element's own stream, seeded by the run's seed and the element's
//!   name ([`Bernoulli`]).

#![forbid(unsafe_code)]

mod account;
mod chain;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod corrupt;
mod delay;
mod departures;
mod duplicate;
mod element;
mod fabric;
mod fddi;
mod frame;
mod framing;
mod jitter;
mod limit;
mod line;
mod link;
mod listeners;
mod loss;
#[cfg(test)]
mod properties;
mod queue;
mod random;
mod reorder;
mod ring;
mod schedule;
mod segment;
mod shared;
pub mod sim;
mod stage;
mod token_ring;
mod trace;

pub use account::{Account, Cause};
pub use btu_units::{NotAProbability, Probability};
pub use chain::Chain;
pub use corrupt::Corrupt;
pub use delay::Delay;
pub use duplicate::Duplicate;
pub use element::{Element, Step};
pub use fabric::{Event, Fabric, Port};
pub use fddi::Fddi;
pub use frame::{Address, Damage, Frame, Kind};
pub use framing::occupied_bits;
pub use jitter::Jitter;
pub use limit::Limit;
pub use line::Line;
pub use link::{changing_line, line};
pub use listeners::{Listener, Listeners};
pub use loss::{Loss, Scope};
pub use queue::{Queue, Transmitter};
pub use random::{Bernoulli, Stream};
pub use reorder::Reorder;
pub use segment::{Meter, Segment, SegmentStep, Tap};
pub use shared::{MOST_ATTEMPTS, SharedEthernet, SharedEthernetError};
pub use stage::Stage;
pub use token_ring::TokenRing;
pub use trace::TraceLine;
