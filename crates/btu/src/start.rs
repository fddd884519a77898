//! What is done before a measurement begins, and while it goes on: checks of this machine, hosts,
//! and the session of a run.

pub(crate) mod company;
pub(crate) mod hosts;
pub(crate) mod preflight;
pub(crate) mod privilege;
pub(crate) mod progress;
pub(crate) mod study;

use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::exit::Refusal;

/// Wall time for the record; no measurement uses it.
pub(crate) fn wall_clock() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Wall time before now, for the record of what began then.
pub(crate) fn wall_clock_before(duration: Duration) -> String {
    let now = jiff::Timestamp::now();
    // Out of the calendar only if the clock is.
    now.checked_sub(duration).unwrap_or(now).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

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
