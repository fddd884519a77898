//! Pins processes to processors, and keeps processors from sleeping.

mod pair;

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

pub use pair::{PairReading, read_pair, wake_each_other};

use crate::wire::hold_latency;

/// The id that stands for the calling thread.
const SELF: Pid = Pid::from_raw(0);

/// Pins the calling thread, and the processes and threads that it starts from now on, to these
/// processors.
///
/// # Errors
/// None of them may be used, or the numbers are too high for the kernel's interface.
pub fn hold(processors: &[u32]) -> io::Result<()> {
    let mut only = CpuSet::new();
    processors.iter().try_for_each(|&processor| only.set(processor as usize))?;
    Ok(sched_setaffinity(SELF, &only)?)
}

/// The processors that the calling thread may use, in rising order.
///
/// # Errors
/// The kernel's.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(SELF)?;
    let is_set = |&processor: &u32| set.is_set(processor as usize).unwrap_or(false);
    Ok((0..CpuSet::count() as u32).filter(is_set).collect())
}

/// Pins the calling thread to its own processors; dropping this on that thread restores the former
/// ones.
#[derive(Debug)]
pub struct PinnedThread {
    before: CpuSet,
}

impl PinnedThread {
    /// Pins the calling thread, and the processes and threads that it starts from now on.
    ///
    /// # Errors
    /// See [`hold`].
    pub fn on(processors: &[u32]) -> io::Result<Self> {
        let before = sched_getaffinity(SELF)?;
        hold(processors)?;
        Ok(Self { before })
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        // The former processors were allowed before. If restoring fails, the pinning ends with this
        // process anyway.
        let _ = sched_setaffinity(SELF, &self.before);
    }
}

/// Keeps all processors from sleeping while it lives, by a latency request of 0
/// (`/dev/cpu_dma_latency`, kernel document "PM Quality Of Service Interface").
///
/// Threads at idle priority would keep them awake for all processes, but on a busy machine such a
/// thread, and with it the process, ends only after seconds.
#[derive(Debug)]
pub struct Awake {
    _latency: std::fs::File,
}

impl Awake {
    /// Keeps them awake from now on. `None` if this user has no right to request it (usually only
    /// root has), or if the kernel does not choose between sleep states: then, as in many virtual
    /// machines, an idle processor returns to the host.
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

    #[test]
    fn a_thread_is_held_and_let_go() {
        let before = allowed().unwrap();
        let last = before[before.len() - 1];
        let held = PinnedThread::on(&[last]).unwrap();
        assert_eq!(allowed().unwrap(), [last]);
        assert_eq!(
            thread::spawn(allowed).join().unwrap().unwrap(),
            [last],
            "what it starts is held, too"
        );
        drop(held);
        assert_eq!(allowed().unwrap(), before);
        assert!(hold(&[70_000]).is_err());
    }
}
