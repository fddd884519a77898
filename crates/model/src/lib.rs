//! Closed forms for networks. This crate is independent of `medium` on purpose: each checks the
//! other.
//!
//! One file for each formula or family, with its source, its assumptions and its range. A formula
//! that may have no answer gives an [`Answer`]: past saturation there is no mean, and never a
//! negative one. Times are seconds and rates per second throughout, as floating-point numbers,
//! because means are fractions of nanoseconds; a formula that scales works in any unit of time.

#![forbid(unsafe_code)]

mod answer;
mod block_transfer;
#[cfg(test)]
mod citi;
mod closed_network;
mod contention;
mod ethernet;
mod fddi;
mod frame_times;
mod polling;
pub mod predict;
mod remote_items;
pub mod single_queue;
mod tcp;

pub use answer::{Answer, Warning};
pub use block_transfer::BlockTransfer;
pub use closed_network::{Closed, closed_network};
pub use contention::SharedCable;
pub use ethernet::{Ethernet, ModelError, Transport};
pub use frame_times::FrameTimes;
pub use remote_items::{ItemLine, Own, Passage, RemoteItems, Tcp};
