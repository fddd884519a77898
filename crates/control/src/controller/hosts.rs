//! Real hosts instead of the testbed: functions to reach and reserve them, and to reach them
//! again after a loss.
//!
//! * `transport`: the way to an agent: TLS; the user's own OpenSSH (`ssh`), which copies a program
//!   there; or a child of this program (`pipe`).
//! * `remote_host`: one host: its agent, its reservation, and its clock (`clock`), which a task
//!   follows.
//! * `host_set`: all hosts of a run, and whether they reach each other (`reach`).
//! * `notes`: the environments of the hosts before and after a run.
//! * `here`: this machine, with an agent that no other controller can reach.
//! * `launch`: agents that `srun` or `mpirun` starts on the nodes of a job.
//! * `roll`: contacts every host of an inventory at the same time, for `btu hosts check`.

mod clock;
mod here;
mod host_set;
mod launch;
mod notes;
mod pipe;
mod program;
mod reach;
mod remote_host;
mod roll;
mod ssh;
#[cfg(test)]
mod tests;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use btu_contract::network::Reached;

use crate::trust::Identity;

pub use host_set::HostSet;
pub use launch::{Launch, LaunchRequest, LaunchedAgent, become_launcher};
pub use program::Program;
pub use roll::roll_call;
pub(crate) use ssh::fuzz_messages as fuzz_ssh_words;

pub(super) use host_set::runtime;
pub(super) use notes::{Notes, measured};
pub(super) use remote_host::{Purpose, Reconnected, RemoteHost};

/// A host to be reached.
#[derive(Debug, Clone)]
pub struct HostCall {
    /// What the user calls it; over TLS also the name in its certificate.
    pub name: String,
    /// The way to it.
    pub reached: Reached,
}

/// The settings for reaching hosts.
#[derive(Debug)]
pub struct Access {
    /// The identity of this controller for the agents of a job that something else started.
    pub identity: Option<Identity>,
    /// The agents that a launcher started for this command.
    pub launch: Option<Arc<Launch>>,
    /// The user's OpenSSH client.
    pub ssh_program: PathBuf,
    /// The program that is copied to hosts without an agent.
    pub binary: Program,
    /// This program's own file, an agent of this machine.
    pub executable: PathBuf,
    /// The name of this controller, for the messages that others get.
    pub controller: String,
    /// The time for which a lost host is called again.
    pub timeout: Duration,
}
