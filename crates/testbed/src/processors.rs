//! On which processors processes work, and whether those sleep.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::wire::hold_latency;

/// The id that stands for the calling thread.
const SELF: Pid = Pid::from_raw(0);

/// Holds the calling thread, and what it starts from now on, on these processors.
///
/// # Errors
/// None of them may be used, or the numbers are higher than any that can be asked for.
pub fn hold(processors: &[u32]) -> io::Result<()> {
    let mut only = CpuSet::new();
    processors.iter().try_for_each(|&processor| only.set(processor as usize))?;
    Ok(sched_setaffinity(SELF, &only)?)
}

/// The calling thread on processors of its own; where it was before, when this is dropped on the
/// same thread.
#[derive(Debug)]
pub struct Held {
    before: CpuSet,
}

impl Held {
    /// Holds the calling thread, and what it starts from now on.
    ///
    /// # Errors
    /// See [`hold`].
    pub fn on(processors: &[u32]) -> io::Result<Self> {
        let before = sched_getaffinity(SELF)?;
        hold(processors)?;
        Ok(Self { before })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // It was allowed before. What does not go back ends with this process anyway.
        let _ = sched_setaffinity(SELF, &self.before);
    }
}

/// Keeps all processors from sleeping while it lives, by a latency request of 0
/// (`/dev/cpu_dma_latency`, kernel document "PM Quality Of Service Interface").
///
/// Threads at idle priority would keep them awake for all processes, but a busy machine lets such a
/// thread end only after seconds, and with it the process.
#[derive(Debug)]
pub struct Awake {
    _latency: std::fs::File,
}

impl Awake {
    /// Keeps them awake from now on. Nothing where this user may not ask for it (usually only root
    /// may), or where the kernel does not choose between depths of sleep: there, as in many virtual
    /// machines, an idle processor goes back to the host.
    pub fn begin() -> Option<Self> {
        let driver =
            std::fs::read_to_string("/sys/devices/system/cpu/cpuidle/current_driver").ok()?;
        if driver.trim() == "none" {
            return None;
        }
        hold_latency().ok().map(|latency| Self { _latency: latency })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn allowed() -> Vec<u32> {
        let set = sched_getaffinity(SELF).unwrap();
        (0..CpuSet::count() as u32)
            .filter(|&processor| set.is_set(processor as usize).unwrap())
            .collect()
    }

    #[test]
    fn a_thread_is_held_and_let_go() {
        let before = allowed();
        let last = before[before.len() - 1];
        let held = Held::on(&[last]).unwrap();
        assert_eq!(allowed(), [last]);
        assert_eq!(thread::spawn(allowed).join().unwrap(), [last], "what it starts is held, too");
        drop(held);
        assert_eq!(allowed(), before);
        assert!(hold(&[70_000]).is_err());
    }
}
