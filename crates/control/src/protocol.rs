//! The agent's service as generated from `proto/agent.proto`, and its version.

// Generated code has its own style.
#![allow(missing_docs, clippy::pedantic, unreachable_pub)]

tonic::include_proto!("btu.agent.v1");

/// Version of the protocol and of the documents it carries; both sides must name the same.
pub const PROTOCOL: u32 = 1;

/// The largest message either side takes: an account with its histogram is far below.
pub const MESSAGE_LIMIT_BYTES: usize = 16 << 20;
