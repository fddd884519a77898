//! The errors of a wire, on either end of its control socket.

use std::io;

use thiserror::Error;

use crate::capture::CaptureError;
use crate::port::PortError;

/// Why a wire cannot run, or did not perform an order.
#[derive(Debug, Error)]
pub enum WireError {
    /// The plan is impossible; detected before any port is opened.
    #[error("the link emulator's plan cannot be carried out: {0}")]
    Plan(String),
    /// It was not started by the first process of a testbed: it must not use other interfaces.
    #[error(
        "a link emulator carries frames in a testbed only, started by its first process; `btu net up FILE` starts one"
    )]
    Outside,
    /// A port could not be opened, or is gone.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The capture could not be started.
    #[error("capturing: {0}")]
    Capture(#[from] CaptureError),
    /// A system call of the wire failed.
    #[error("link emulator: {operation}: {source}")]
    System {
        /// The operation that failed.
        operation: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The other end of the control socket did not answer.
    #[error(
        "{operation} the link emulator at {path}: {source}; it may have ended, its error output says why"
    )]
    Control {
        /// The operation that failed.
        operation: &'static str,
        /// The path of the control socket.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The wire refused an order.
    #[error("the link emulator refused: {0}")]
    Refused(String),
}
