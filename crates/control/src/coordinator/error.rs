//! What can end a run.

use std::path::PathBuf;

use btu_suite::network::Station;
use thiserror::Error;

/// Why the coordinator cannot go on. Stored cells are never touched by any of these.
#[derive(Debug, Error)]
pub enum CoordinatorError {
    /// An agent does not answer.
    #[error("connecting to the agent of station {station} at {socket}: {source}")]
    Connect {
        /// Which station.
        station: Station,
        /// Its socket.
        socket: PathBuf,
        /// Why.
        source: tonic::transport::Error,
    },
    /// An agent refused or broke off.
    #[error("station {station}: {operation}: {message}")]
    Agent {
        /// Which station.
        station: Station,
        /// What was asked of it.
        operation: &'static str,
        /// What it said.
        message: String,
    },
    /// An activity could not be set up. The cell is marked and the run goes on.
    #[error("station {station}: preparing {activity}: {message}")]
    Prepare {
        /// Which station.
        station: Station,
        /// Which activity.
        activity: &'static str,
        /// Why.
        message: String,
    },
    /// An agent said something that makes no sense.
    #[error("station {station} named `{what}` as an address: use the same btu on all stations")]
    Nonsense {
        /// Which station.
        station: Station,
        /// What it said.
        what: String,
    },
    /// A document could not be written or read.
    #[error("a document of the control protocol: {0}: use the same btu on all stations")]
    Document(#[source] serde_json::Error),
    /// The testbed could not be raised or has fallen.
    #[error(transparent)]
    Testbed(#[from] btu_testbed::house::TestbedError),
    /// A part of the testbed ended in the middle of the run.
    #[error("the testbed fell in the middle of the run: {0}")]
    Fallen(String),
    /// The wire does not answer.
    #[error(transparent)]
    Wire(#[from] btu_testbed::wire::WireError),
    /// The wire is not what was asked for.
    #[error("the network is not what was asked for: {0}")]
    Network(String),
    /// The run could not be stored.
    #[error(transparent)]
    Store(#[from] btu_store::StoreError),
    /// The host activity's scratch space.
    #[error(transparent)]
    Load(#[from] btu_load::LoadError),
    /// The clock or another system call of our own.
    #[error("{operation}: {source}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// No volume or amount of work could be found for an activity.
    #[error("calibrating {what}: {message}")]
    Calibration {
        /// Which activity.
        what: String,
        /// Why.
        message: String,
    },
    /// The user or the system asked to stop.
    #[error("stopped by {0}")]
    Interrupted(Interrupt),
}

/// Who asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C (SIGINT).
    Keyboard,
    /// SIGTERM or SIGHUP.
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
