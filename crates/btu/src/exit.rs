//! Exit codes, and the line that gives the reason.

use std::process::ExitCode;

use btu_control::controller::{ControllerError, Interrupt, with_reasons};
use btu_control::trust::TrustError;
use btu_store::StoreError;
use btu_testbed::note;
use btu_testbed::testbed::{Cause, TestbedError};
use thiserror::Error;

use crate::terminal::fitted_to_errors;

/// A run is slower than `btu compare --fail-if-slower` allows, or a host than `btu fleet --fail-if-slow` does.
pub(crate) const SLOWER: u8 = 4;

/// A request that this machine or the command line does not allow; nothing was started.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// This machine does not allow it.
    #[error("{0}")]
    Machine(String),
}

/// What a command in virtual time ended with, which has said why on the same standard error.
#[derive(Debug, Error)]
#[error("the command in virtual time ended with exit code {0}")]
pub(crate) struct SaidAlready(pub(crate) u8);

/// The process's exit code for `result`; prints the error, if any.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    code_of(result.map(|()| ExitCode::SUCCESS))
}

/// Like `code`, with a separate exit code for success.
pub(crate) fn code_of(result: anyhow::Result<ExitCode>) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    // A reader that has seen enough (`btu runs | head`) is no error.
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if let Some(SaidAlready(code)) = error.downcast_ref() {
        return ExitCode::from(*code);
    }
    let text = format!("btu: {}", with_reasons(error.to_string(), error.as_ref()));
    note!("{}", fitted_to_errors(text));
    ExitCode::from(number(&error))
}

fn number(error: &anyhow::Error) -> u8 {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        return match refusal {
            Refusal::Usage(_) => 2,
            Refusal::Machine(_) => 3,
        };
    }
    if let Some(error) = error.downcast_ref::<TestbedError>() {
        return of_testbed(error);
    }
    if let Some(error) = error.downcast_ref::<TrustError>() {
        return of_keys(error);
    }
    // The object that the user named does not exist, or is ambiguous.
    if error.downcast_ref().is_some_and(is_the_users) {
        return 2;
    }
    match error.downcast_ref::<ControllerError>() {
        Some(ControllerError::Interrupted(Interrupt::Keyboard)) => 130,
        Some(ControllerError::Interrupted(Interrupt::Terminate)) => 143,
        _ => 1,
    }
}

/// The exit code for an error of the testbed.
const fn of_testbed(error: &TestbedError) -> u8 {
    match error.cause {
        Cause::Name => 2,
        Cause::Network
        | Cause::Namespaces
        | Cause::Links
        | Cause::RuntimeDirectory
        | Cause::Processes => 3,
        Cause::NotStarted => 126,
        Cause::NotFound => 127,
        Cause::Process | Cause::Probe | Cause::Protocol => 1,
    }
}

/// The exit code of an error about keys: it distinguishes errors of the machine from usage errors.
const fn of_keys(error: &TrustError) -> u8 {
    match error {
        TrustError::Malformed { .. } | TrustError::Name { .. } => 2,
        _ => 3,
    }
}

/// The given value is wrong, not the stored one.
const fn is_the_users(error: &StoreError) -> bool {
    use StoreError::{Ambiguous, BadLabel, BadTag, UnknownRun};
    matches!(error, UnknownRun { .. } | Ambiguous { .. } | BadTag { .. } | BadLabel { .. })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
