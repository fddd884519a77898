//! Agents, their protocol, and the controller that measures a run with them.
//!
//! ```text
//! controller --frames over a Unix socket-> agent (one per station) --pipes--> worker (one per activity)
//!      |                                                                        |
//!      +--JSON lines over a Unix socket--> wire                                 +-- btu-traffic, btu-load
//! ```
//!
//! Nothing of this crosses the measured network.

#![forbid(unsafe_code)]

pub mod agent;
pub mod arrival;
pub mod awake;
mod clock;
pub mod controller;
pub mod doctor;
pub mod environment;
#[doc(hidden)]
pub mod fuzz;
mod lines;
pub mod octets;
pub mod protocol;
pub mod trust;
pub mod worker;
