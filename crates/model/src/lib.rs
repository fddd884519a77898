//! What closed forms expect of a network. Independent of `medium` on purpose: each is the other's oracle.

mod ethernet;
mod path;

pub use ethernet::{Ethernet, ModelError, Transport, frame_rate};
pub use path::{Path, Prediction, Reason};
