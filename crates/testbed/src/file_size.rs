//! The limit on the size of files (`ulimit -f`, `RLIMIT_FSIZE` in setrlimit(2)).
#![allow(unsafe_code)]

use std::io;

use nix::libc::c_int;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// From now on a write beyond the limit fails with an error, as every other write that fails, and
/// does not end this process by SIGXFSZ. Programs that it starts still end by that signal: the kernel
/// takes a handler away from them, and would leave them an ignored signal.
///
/// # Errors
/// None is known.
pub fn fail_beyond_limit() -> io::Result<()> {
    extern "C" fn nothing(_: c_int) {}
    let handler = SigHandler::Handler(nothing);
    let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing, which is safe in every state of the process.
    unsafe { sigaction(Signal::SIGXFSZ, &action) }?;
    Ok(())
}
