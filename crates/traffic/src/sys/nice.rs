//! The priority of a thread: setpriority(2).
#![allow(unsafe_code)]

use std::io;

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
