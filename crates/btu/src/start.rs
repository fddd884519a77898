//! What is done before a measurement begins, and while it goes on: checks of this machine, hosts,
//! and the session of a run.

pub(crate) mod company;
pub(crate) mod hosts;
pub(crate) mod preflight;
pub(crate) mod privilege;
pub(crate) mod progress;
pub(crate) mod study;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::exit::Refusal;

/// The signals that end a server, as a descriptor that does not block; called before there are other
/// threads, which would take the signals.
pub(crate) fn ending_signals() -> Result<SignalFd, Refusal> {
    let failed =
        |error: nix::Error| Refusal::Machine(format!("waiting for signals: {error}; try again"));
    let mask: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    mask.thread_block().map_err(failed)?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    SignalFd::with_flags(&mask, flags).map_err(failed)
}
