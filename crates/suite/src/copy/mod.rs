//! Copying large files under contention (CITI report 89-4): the order of trials, what a copy's time consists of, and the
//! background held at a level. Pure: no file, no socket, no clock.

mod chain;
mod order;
mod servo;
mod storage;
mod summary;

pub use chain::{Chain, Displacement, Link, wire_seconds};
pub use order::{Plot, plots};
pub use servo::{Mode, READING_INTERVAL, Servo, State};
pub use storage::{Storage, overlap};
pub use summary::{SCATTERED, Summary};
