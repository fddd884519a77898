//! What a controller and the agent of a host exchange, over any stream of octets: a Unix socket, a
//! TLS connection, or the standard input and output of an agent that ssh has started (decision
//! 0036). Nothing of it crosses the measured network.
//!
//! ```text
//! controller                                agent
//!   btu-control 3 0.1.0\n          ------->                    a line each (greeting);
//!                                  <-------  btu-control 3 0.1.0\n      other versions end here
//!   {"Call":{"id":1,"request":...}} ------>                    then frames: four octets of length, JSON
//!                                  <-------  {"Part":{"id":1,...}}      none or more
//!                                  <-------  {"End":{"id":1,...}}       one
//! ```
//!
//! Calls are open side by side. One that is dropped is cancelled, and all are when the connection
//! ends.

mod client;
mod ends;
mod greeting;
mod json;
mod messages;
mod server;
mod status;
#[cfg(test)]
mod tests;

pub use client::{Answers, Client, ConnectError, Life};
pub use ends::Duplex;
pub use json::Json;
pub use messages::*;
pub use server::{CALLS, SILENCE};
pub(crate) use server::{PartSender, Serve, fuzz_frames, serve};
pub use status::{Code, Status};

use serde::{Deserialize, Serialize};

/// Version of the protocol and of the documents it carries; both sides must name the same.
pub const PROTOCOL: u32 = 4;

/// The largest message either side takes: an account with its histogram is far below.
pub const MESSAGE_LIMIT_BYTES: usize = 16 << 20;

/// A frame of a controller.
#[derive(Debug, Serialize, Deserialize)]
enum FromController {
    /// Opens a call. The document is a [`Request`]: one that cannot be read ends this call alone.
    Call { id: u64, request: Json },
    /// No caller waits for the rest of this call.
    Cancel { id: u64 },
    /// To be answered by its like.
    Alive,
}

/// A frame of an agent.
#[derive(Debug, Serialize, Deserialize)]
enum FromAgent {
    /// A part of the answer to a call; more follows.
    Part {
        id: u64,
        part: Json,
    },
    /// The answer, or its end.
    End {
        id: u64,
        end: Result<Json, Status>,
    },
    Alive,
}
