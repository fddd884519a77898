//! Requests to the system for punctual wake-ups. Every refusal is accepted: lateness is measured
//! anyway.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::Write;

use nix::sys::mman::{MlockAllFlags, mlockall};

/// Keeps processors from sleeping deeply while it exists (`/dev/cpu_dma_latency`, kernel document
/// "PM Quality Of Service Interface").
#[derive(Debug)]
pub struct Wakefulness {
    _latency: Option<File>,
}

/// Requests, for the calling thread, exact timers, locked memory, precedence over other programs,
/// and processors that wake up quickly.
pub fn prepare() -> Wakefulness {
    // The default slack of 50 us is added to every wait (prctl(2), PR_SET_TIMERSLACK). A refusal
    // shows as lateness.
    let _ = nix::sys::prctl::set_timerslack(1);
    // Only the current memory: a limit on locked memory must never make a later allocation fail. A
    // refusal is usual.
    let _ = mlockall(MlockAllFlags::MCL_CURRENT);
    if !take_precedence() {
        ask_for_short_slices();
    }
    Wakefulness { _latency: hold_latency().ok() }
}

/// The lowest real-time priority (sched(7)): before every ordinary program, after everything more
/// urgent.
pub(crate) fn take_precedence() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: a system call that reads one `sched_param`, which lives across it; 0 is the calling
    // thread.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const lowest)
            == 0
    }
}

/// `struct sched_attr` of `sched_setattr(2)`, first version.
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Requests a feature that every process may use since Linux 6.12: slices of 0.1 ms, the shortest,
/// so that a woken thread runs sooner (earliest eligible virtual deadline first). Older kernels
/// ignore it.
fn ask_for_short_slices() {
    const SHORTEST_SLICE_NANOSECONDS: u64 = 100_000;
    let size = size_of::<SchedulingAttributes>() as u32;
    let attributes = SchedulingAttributes {
        size,
        runtime: SHORTEST_SLICE_NANOSECONDS,
        ..SchedulingAttributes::default()
    };
    // SAFETY: a system call that reads `size` bytes of `attributes`, which lives across it. A
    // refusal shows as lateness.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Requests that processors use only sleep states with immediate wake-up, as long as the file is
/// open.
pub(crate) fn hold_latency() -> std::io::Result<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}
