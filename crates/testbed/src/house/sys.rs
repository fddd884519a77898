//! The house's few system calls that have no safe face elsewhere.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};

/// Takes a file that the kernel just gave to this process, as `SCM_RIGHTS` does.
pub(super) fn own(file: RawFd) -> OwnedFd {
    // SAFETY: the only caller passes files that came with a message a moment ago: they are open and nobody else's.
    unsafe { OwnedFd::from_raw_fd(file) }
}

/// Lets the kernel kill the command when the thread that starts it ends, and lets it start with these signals blocked: it
/// would have those of its starter otherwise.
pub(super) fn tie(command: &mut Command, blocked: SigSet) {
    let prepare = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        Ok(blocked.thread_set_mask()?)
    };
    // SAFETY: between fork and exec, only two system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}
