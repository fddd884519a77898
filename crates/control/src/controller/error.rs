//! The errors that end a run.

use std::path::PathBuf;
use std::time::Duration;

use btu_contract::network::HostName;
use thiserror::Error;

/// Why the controller cannot go on. Stored cells are never touched by any of these.
#[derive(Debug, Error)]
pub enum ControllerError {
    /// An agent does not answer.
    #[error("connecting to the agent of station {station} at {socket}: {source}")]
    Connect {
        /// The name of the station.
        station: HostName,
        /// The path of the agent's socket.
        socket: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// An agent refused an order.
    #[error("{who}: {operation}: {message}")]
    Agent {
        /// The name of the agent's host.
        who: String,
        /// The request.
        operation: &'static str,
        /// The text of its message.
        message: String,
    },
    /// An activity could not be set up. The cell is marked and the run goes on.
    #[error("{who}: preparing {activity}: {message}")]
    Prepare {
        /// The name of the agent's host.
        who: String,
        /// The kind of the activity.
        activity: &'static str,
        /// Its place in the script, if it is of one.
        step: Option<usize>,
        /// The reason that the host gives.
        message: String,
    },
    /// The supervisor of a user's program failed.
    #[error("{who}: {message}")]
    Program {
        /// The program, and its station.
        who: String,
        /// The outcome.
        message: String,
    },
    /// An agent sent an invalid message.
    #[error("{who} named `{what}` as an address: use the same btu everywhere")]
    Nonsense {
        /// The name of the agent's host.
        who: String,
        /// The text of its message.
        what: String,
    },
    /// An agent or the connection to it failed. A later call may reach it again.
    #[error("{who}: {operation}: {message}")]
    Lost {
        /// The name of the agent's host.
        who: String,
        /// The request.
        operation: &'static str,
        /// The last error.
        message: String,
    },
    /// The agents of a job do not start.
    #[error("starting agents with {launcher}: {message}")]
    Launch {
        /// The launcher's program.
        launcher: String,
        /// The reason, or its own words.
        message: String,
    },
    /// A host cannot be reached.
    #[error("host {host} cannot be reached: {message}")]
    OutOfReach {
        /// The name of the host.
        host: String,
        /// The reason that the host gives.
        message: String,
    },
    /// A host that was lost was not found again.
    #[error(
        "host {host} was lost and not found again within {timeout_s} s (--reconnect-timeout): {last}"
    )]
    Gone {
        /// The name of the host.
        host: String,
        /// The time for which it was called.
        timeout_s: u64,
        /// The last error.
        last: String,
    },
    /// A cell that loses its hosts in every attempt.
    #[error("{what} was begun {times} times and lost its hosts each time; the last time: {last}")]
    LostAgain {
        /// The cell, or another operation.
        what: String,
        /// The number of attempts.
        times: u32,
        /// The last error.
        last: String,
    },
    /// The peer's identity is wrong, or the peer refuses this controller's identity.
    #[error("{message}")]
    NotTrusted {
        /// The reason, and the advice.
        message: String,
    },
    /// This controller's own keys cannot be used.
    #[error("host {host}: {source}")]
    Keys {
        /// The host for which they were used.
        host: String,
        /// The problem with them.
        source: crate::trust::TrustError,
    },
    /// A problem of a host that waiting does not fix.
    #[error("host {host}: {message}")]
    Host {
        /// The name of the host.
        host: String,
        /// The problem, and the advice.
        message: String,
    },
    /// An agent of another version.
    #[error("{who}: {message}")]
    Version {
        /// The name of the agent's host.
        who: String,
        /// The versions, and the advice.
        message: String,
    },
    /// Another controller measures there.
    #[error("{who} is {busy}: wait, or ask that user")]
    Busy {
        /// The name of the host.
        who: String,
        /// The controller that has it, and for how long.
        busy: String,
    },
    /// A peer cannot delay and drop packets.
    #[error("{who} cannot delay and drop packets: {message}")]
    Impair {
        /// The name of the host.
        who: String,
        /// The reason, and the fix.
        message: String,
    },
    /// The measured network does not connect the hosts.
    #[error(
        "{from} does not reach {to} at {address}, where it is to be measured: {message}; is that the address of {to} on the \
         measured network (`measured = ...` of the inventory), and does a firewall let any TCP and UDP port through there?"
    )]
    Unreachable {
        /// The host that tried.
        from: String,
        /// The host that it tried to reach.
        to: String,
        /// The address that was tried.
        address: String,
        /// The outcome.
        message: String,
    },
    /// Activities run but no data move.
    #[error(
        "the hosts answer but move no data: the last {cells} cells waited in vain; the last: {fault}"
    )]
    Still {
        /// The number of consecutive cells.
        cells: u32,
        /// The first fault of the last.
        fault: String,
    },
    /// A document could not be written or read.
    #[error("a document of the control protocol: {0}: use the same btu on all stations")]
    Document(#[source] serde_json::Error),
    /// The testbed could not be raised or has ended.
    #[error(transparent)]
    Testbed(#[from] btu_testbed::testbed::TestbedError),
    /// A part of the testbed ended in the middle of the run.
    #[error("the testbed stopped in the middle of the run: {0}")]
    Fallen(String),
    /// The wire does not answer.
    #[error(transparent)]
    Wire(#[from] btu_testbed::wire::WireError),
    /// The wire differs from the request.
    #[error("the network is not what was asked for: {0}")]
    Network(String),
    /// The run could not be stored.
    #[error(transparent)]
    Store(#[from] btu_store::StoreError),
    /// The host activity's scratch space.
    #[error(transparent)]
    Load(#[from] btu_load::LoadError),
    /// The clock or another system call of btu failed.
    #[error("{operation}: {source}")]
    System {
        /// The operation that failed.
        operation: &'static str,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// No volume or amount of work could be found for an activity.
    #[error("calibrating {what}: {message}")]
    Calibration {
        /// The kind of the activity.
        what: String,
        /// The reason that the host gives.
        message: String,
    },
    /// A worker ended the run.
    #[error("{what}")]
    Worker {
        /// The worker, and what it did.
        what: String,
        /// Whether it was ended from outside, so that the rest may be measured later.
        is_cut_off: bool,
    },
    /// The user or the system asked to stop.
    #[error("stopped by {0}")]
    Interrupted(Interrupt),
}

impl ControllerError {
    /// Whether a lost host may be reached again.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// The error when no worker has sent a message for this time.
    pub(super) fn silent(within: Duration) -> Self {
        let what = format!("no worker has sent a message for {} s", within.as_secs());
        Self::Worker { what, is_cut_off: false }
    }

    /// Whether something outside of the measurement ended the run, so that the rest may be measured
    /// later: a signal, a process that was killed, a host that was lost.
    pub(super) fn is_cut_off(&self) -> bool {
        matches!(
            self,
            Self::Interrupted(_)
                | Self::Fallen(_)
                | Self::Lost { .. }
                | Self::Gone { .. }
                | Self::LostAgain { .. }
                | Self::Worker { is_cut_off: true, .. }
        )
    }

    /// Whether this may only be the consequence of a process of the testbed that ended: a
    /// connection breaks, a worker is killed while it is prepared, packets no longer pass.
    pub(super) fn may_follow_from_a_fall(&self) -> bool {
        matches!(
            self,
            Self::Agent { .. }
                | Self::Lost { .. }
                | Self::Program { .. }
                | Self::Prepare { .. }
                | Self::Calibration { .. }
                | Self::Network(_)
                | Self::Wire(_)
        )
    }

    /// Whether calling again may help: the host may be starting, or the network to it may fail for
    /// a while.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::OutOfReach { .. } | Self::Busy { .. })
    }
}

/// `text` with the causes of `error` that it does not contain yet.
pub fn with_reasons(mut text: String, error: &dyn std::error::Error) -> String {
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    // Some libraries add an address with further reading for programmers.
    match text.find(": https://docs.rs/") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// What asked the run to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The user pressed Ctrl-C (SIGINT).
    Keyboard,
    /// The process got SIGTERM or SIGHUP.
    Terminate,
}

impl std::fmt::Display for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keyboard => "Ctrl-C",
            Self::Terminate => "a termination signal",
        })
    }
}
