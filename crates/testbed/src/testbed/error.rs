//! The errors of a testbed. Each is one line that names the next step for the user.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

/// The family an error belongs to, for callers that decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// This system refuses the namespaces that a testbed is made of.
    Namespaces,
    /// An interface, bridge, address or kernel setting could not be made.
    Links,
    /// The runtime directory cannot be used.
    RuntimeDirectory,
    /// A process or thread could not be started.
    Processes,
    /// An agent or the wire ended, or did not listen, before the testbed was ready.
    Process,
    /// The testbed is up, but packets do not pass.
    Probe,
    /// The network cannot be raised, on this machine or at all.
    Network,
    /// There is no such network or station, or one too many.
    Name,
    /// A command for a station was not found.
    NotFound,
    /// A command for a station cannot be started.
    NotStarted,
    /// The testbed's own processes did not answer, or sent unexpected messages.
    Protocol,
}

/// Why a testbed could not be raised: the operation, the system's error, and the advice.
///
/// It crosses process borders as JSON: most errors happen in the process inside the namespaces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("cannot {operation}: {reason}; {remedy}")]
pub struct TestbedError {
    /// The family of the error.
    pub cause: Cause,
    /// The operation, and its object.
    pub operation: String,
    /// The system's error.
    pub reason: String,
    /// The advice for the user.
    pub remedy: String,
}

impl TestbedError {
    /// An error of the family `cause`.
    pub fn new(
        cause: Cause,
        operation: impl Into<String>,
        reason: impl fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            cause,
            operation: operation.into(),
            reason: reason.to_string(),
            remedy: remedy.into(),
        }
    }

    /// A process or thread that could not be started; names the limits when one of them was met.
    pub(super) fn process(operation: impl Into<String>, error: &io::Error) -> Self {
        Self::new(Cause::Processes, operation, error, process_remedy(error))
    }

    /// The messages of the testbed's processes do not match: this is a bug, or a user killed one of
    /// them.
    pub(super) fn protocol(operation: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self::new(
            Cause::Protocol,
            operation,
            reason,
            "run it again; if it happens again, report it as a defect",
        )
    }
}

fn process_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            "raise the limit of processes (`ulimit -u`, or pids.max of the control group)"
        }
        Some(libc::ENOMEM) => "free some memory",
        Some(libc::ENOENT | libc::EACCES | libc::ENOEXEC) => {
            "check that the program is there and may be executed"
        }
        _ => "see whether the system is short of processes, memory or open files",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_a_remedy() {
        let error =
            TestbedError::process("start an agent", &io::Error::from_raw_os_error(libc::EAGAIN));
        let line = error.to_string();
        assert!(
            line.starts_with("cannot start an agent: ") && line.contains("ulimit -u"),
            "{line}"
        );
        assert!(!line.contains('\n'));
    }

    #[test]
    fn an_error_survives_the_way_through_a_pipe() {
        let error =
            TestbedError::new(Cause::Links, "make a bridge", "not supported", "load the module");
        let line = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<TestbedError>(&line).unwrap(), error);
    }
}
