//! Exit codes, and the one line that says why.

use std::process::ExitCode;

use btu_control::coordinator::{CoordinatorError, Interrupt};
use thiserror::Error;

/// What this machine or the command line does not allow; nothing was started.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// This machine cannot do it.
    #[error("{0}")]
    Machine(String),
}

/// The process's exit code for `result`; prints the error, if any.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    // A reader that has seen enough (`btu runs | head`) is no error.
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("btu: {error:#}");
    ExitCode::from(number(&error))
}

fn number(error: &anyhow::Error) -> u8 {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        return match refusal {
            Refusal::Usage(_) => 2,
            Refusal::Machine(_) => 3,
        };
    }
    match error.downcast_ref::<CoordinatorError>() {
        Some(CoordinatorError::Interrupted(Interrupt::Keyboard)) => 130,
        Some(CoordinatorError::Interrupted(Interrupt::Terminate)) => 143,
        _ => 1,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
