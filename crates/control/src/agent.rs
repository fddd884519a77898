//! The agent of a host: a process that makes workers, starts them together, and returns
//! their accounts.
//!
//! ```text
//! service   what a controller may ask, and the answers
//! caller    the identity of a caller, and its entrance
//! host      what the agent holds together: sessions, their work, the timer of leases
//! sessions  the reservations of the host: a state machine without a clock
//! work      what is in hand for one session: cells, kept accounts, impairments
//! cell      the workers of one cell; worker: one process
//! description  what the host is like, looked at seldom
//! impair    kernel netem on incoming packets; presence: which agents live here
//! budget    what all work in hand takes of the host together
//! policy    what controllers may make the host do; journal: what is written of it
//! serve     the way in, signals, the end; tls_listener: TLS over TCP; stdio: one connection, as ssh gives it;
//!           launched: for one job
//! ```

mod budget;
mod caller;
mod cell;
mod description;
#[cfg(test)]
pub(crate) mod drill;
mod host;
mod impair;
mod journal;
mod launched;
mod policy;
mod presence;
mod serve;
mod service;
mod session_work;
mod sessions;
mod stdio;
mod tls_listener;
mod worker;

use std::net::SocketAddr;
use std::path::PathBuf;

use btu_testbed::privilege::{Capabilities, confine_to};
use thiserror::Error;
use tokio::net::UnixListener;

use crate::protocol::Status;
use crate::trust::TrustError;
use host::HostAgent;
pub use launched::Launched;
pub use policy::{Forbidden, Policy, PolicyError};
pub use serve::{Entrance, Ready, ServiceSettings, serve};
pub(crate) use stdio::READY;

/// The settings of the agent of a local testbed's station.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Its station.
    pub station: String,
    /// The Unix socket on which it listens.
    pub socket: PathBuf,
    /// The program; its `internal worker` performs activities.
    pub executable: PathBuf,
}

/// Why an agent cannot work.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The runtime could not be made.
    #[error("starting the agent's runtime: {0}")]
    Runtime(#[source] std::io::Error),
    /// Unneeded privileges cannot be given up.
    #[error("giving up privileges: {0}")]
    Privileges(#[source] std::io::Error),
    /// The kernel gives no random numbers.
    #[error("asking the system for random numbers: {0}")]
    Random(#[source] std::io::Error),
    /// The socket could not be made.
    #[error("listening on {path}: {source}")]
    Listen {
        /// The path of the socket.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// The network cannot be listened to.
    #[error("listening on {address}: {source}; --listen ADDRESS:PORT names another place")]
    Open {
        /// The address in question.
        address: SocketAddr,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The scratch directory of the policy cannot be made.
    #[error(
        "making the scratch directory {path}: {source}; `scratch.directory` of the policy names another"
    )]
    Scratch {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// The identity cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Signals cannot be followed.
    #[error("following signals: {0}")]
    Signals(#[source] std::io::Error),
    /// Standard input and output are no connection.
    #[error("taking standard input and output as a connection: {0}")]
    Stdio(#[source] std::io::Error),
}

/// Serves a station until the process ends. It has no policy: the controller is this machine's own
/// user.
pub fn run(settings: AgentSettings) -> Result<(), AgentError> {
    // Only here: no controller of another machine gets precedence over what runs on this one.
    let kept = crate::worker::CAPABILITIES.and(Capabilities::SYS_NICE);
    confine_to(kept).map_err(AgentError::Privileges)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(AgentError::Runtime)?;
    runtime.block_on(speak(settings))
}

async fn speak(settings: AgentSettings) -> Result<(), AgentError> {
    let listener = UnixListener::bind(&settings.socket)
        .map_err(|source| AgentError::Listen { path: settings.socket.clone(), source })?;
    let host = HostAgent::new(&settings.station, &settings.executable, None, false)
        .map_err(AgentError::Random)?;
    serve::to_this_machine(&host, &listener).await;
    Ok(())
}

/// An internal error, named by the operation.
fn internal<E: std::fmt::Display>(operation: &'static str) -> impl Fn(E) -> Status {
    move |error| Status::internal(format!("{operation}: {error}"))
}
