//! The real program in laboratories: namespaces, agents, networks.
//!
//! Tests share the machine by [`share`]: those that wait or cause faults run side by side, those
//! that measure run alone.

#![allow(clippy::disallowed_methods, reason = "tests read JSON in their own way")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod agent;
mod agent_bounds;
mod agent_log;
mod app;
#[path = "../support/board.rs"]
mod board;
mod challenge;
mod common;
mod company;
mod compare;
#[path = "../support/console.rs"]
mod console;
mod copy;
mod documents;
mod drawn;
mod drills;
mod field;
mod file_capabilities;
mod fleet;
mod group;
mod hosts;
mod hosts_drills;
mod hosts_lab;
mod hosts_pipe;
mod hosts_ssh;
mod hosts_studies;
mod iperf3_server;
mod kills;
mod lan;
mod launchers;
mod limits;
mod machines;
mod model_check;
mod net;
mod net_truth;
mod pipe;
mod rate_networks;
#[path = "../support/recompute.rs"]
mod recompute_cells;
mod responsiveness;
mod resume;
mod run;
mod seventh;
mod share;
mod speed;
mod speed_iperf3;
mod speed_peers;
mod stamp;
mod strangers;
#[path = "../support/mod.rs"]
mod support;
mod truth;
mod virtual_time;
mod watch;
