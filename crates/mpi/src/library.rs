//! The MPI library: its version, and its errors.

use thiserror::Error;

use crate::sys::{self, Code};

/// The library's name and version, in a line: the details of its build are left out, except the way
/// in which it moves messages.
pub fn version() -> String {
    let said = sys::version();
    let lines = || said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    match (
        lines().find_map(|line| Some(line.strip_prefix("MPICH Version:")?.trim().to_owned())),
        lines().next(),
    ) {
        (Some(version), _) => {
            let device = lines()
                .find_map(|line| Some(line.strip_prefix("MPICH Device:")?.trim().to_owned()));
            format!(
                "MPICH {version}{}",
                device.map(|device| format!(" ({device})")).unwrap_or_default()
            )
        }
        (None, first) => {
            first.unwrap_or_default().split(", ").next().unwrap_or_default().to_owned()
        }
    }
}

/// The errors of MPI.
#[derive(Debug, Clone, Error)]
pub enum MpiError {
    /// The MPI library refused a call.
    #[error("{operation}: {why} ({library})")]
    Refused {
        /// The operation that failed.
        operation: &'static str,
        /// The reason that the library gives.
        why: String,
        /// The version text of the library.
        library: String,
    },
    /// The libraries did not find each other.
    #[error("begin MPI: {why} ({library})")]
    Manager {
        /// The description of what happened.
        why: String,
        /// The version text of the library.
        library: String,
    },
    /// A library that finds its peers by another protocol.
    #[error(
        "{library} joins only processes that its own mpirun has started: build btu with MPICH (Debian: libmpich-dev; MPICC=mpicc.mpich)"
    )]
    Library {
        /// The version text of the library.
        library: String,
    },
    /// It takes one thread at a time.
    #[error("{library} was not begun for several threads: measure one pair")]
    Threads {
        /// The version text of the library.
        library: String,
    },
    /// MPI was not initialised in this process.
    #[error("MPI was not begun in this process")]
    Early,
    /// A message does not have the agreed size.
    #[error("a message has not the agreed size")]
    Size,
    /// An earlier transfer of this process failed.
    #[error("MPI is at its end in this process: another transfer was given up")]
    Over,
    /// The peer is gone.
    #[error("the other end is gone")]
    Gone,
}

impl MpiError {
    pub(crate) fn refused(operation: &'static str, code: Code) -> Self {
        Self::Refused { operation, why: code.explain(), library: version() }
    }
}
