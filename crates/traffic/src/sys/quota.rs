//! How much of a processor the kernel gives a thread: a share that it keeps to, `SCHED_DEADLINE`
//! (sched(7)), and its priority, setpriority(2).
#![allow(unsafe_code)]

use std::io;

use btu_contract::app::Speed;

/// The share is given anew so often: short next to a picture, and long next to the cost of a switch
/// from one thread to another.
const PERIOD_NANOSECONDS: u64 = 2_000_000;

/// Has the kernel let the calling thread compute for this share of each 2 ms, and stop it for the
/// rest if it goes on. Threads that it begins later are scheduled as usual.
///
/// # Errors
/// The kernel refuses: only root may ask for this, as long as such shares leave a twentieth of the
/// processors to others, on a thread that may run on all processors.
pub(crate) fn keep_to(speed: Speed) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: PERIOD_NANOSECONDS * u64::from(speed.percent()) / 100,
        sched_deadline: PERIOD_NANOSECONDS,
        sched_period: PERIOD_NANOSECONDS,
    };
    // SAFETY: a system call that reads `size` bytes of `attributes`, which lives across it; 0 is
    // the calling thread (sched_setattr(2)).
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the nice value of the calling thread to `nice`, 0 to 19; never lower than now, which needs
/// a privilege.
///
/// # Errors
/// If the system refuses.
pub fn give_way(nice: u8) -> io::Result<()> {
    // SAFETY: both calls take numbers only; 0 is the calling thread (setpriority(2), "C
    // library/kernel differences").
    let own = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    if i32::from(nice) <= own {
        return Ok(());
    }
    // SAFETY: as above.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, i32::from(nice)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
