//! What a process can ask the system for, to be woken in time. Every refusal is accepted: lateness is measured anyway.

use std::fs::{File, OpenOptions};
use std::io::Write;

use nix::sys::mman::{MlockAllFlags, mlockall};

/// Keeps processors from sleeping deeply while it lives (`/dev/cpu_dma_latency`, kernel document "PM Quality Of Service Interface").
#[derive(Debug)]
pub(super) struct Wakefulness {
    _latency: Option<File>,
}

/// Asks for exact timers, memory that stays, and processors that wake up quickly.
///
/// Real-time scheduling is not asked for: with as few processors as stations need themselves, a wire that preempts
/// them at every frame takes more from the flows than its punctuality is worth.
pub(super) fn prepare() -> Wakefulness {
    // The default slack of 50 us is added to every wait (prctl(2), PR_SET_TIMERSLACK). A refusal shows as lateness.
    let _ = nix::sys::prctl::set_timerslack(1);
    // Only what is there now: a limit on locked memory must never make a later allocation fail. A refusal is usual.
    let _ = mlockall(MlockAllFlags::MCL_CURRENT);
    Wakefulness { _latency: hold_latency().ok() }
}

fn hold_latency() -> std::io::Result<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}
