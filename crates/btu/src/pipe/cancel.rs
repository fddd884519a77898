//! Passes a signal that asks this process to end to the thread that measures.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use btu_control::coordinator::{CoordinatorError, Interrupt};
use btu_testbed::testbed::KeepAlive;
use nix::sys::signal::Signal;

/// A terminal sends a signal to all processes. This is the time for this process to notice the
/// signal after it has ended a worker.
const GRACE: Duration = Duration::from_millis(200);

/// Whether a signal has asked this process to end, and the resources that must be released then. A
/// clone shares the state.
#[derive(Debug, Default, Clone)]
pub(super) struct CancelToken(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    signal: OnceLock<Signal>,
    keep_alive: Mutex<Option<KeepAlive>>,
}

impl CancelToken {
    /// Records the signal that asks this process to end.
    pub(super) fn raise(&self, signal: Signal) {
        let _ = self.0.signal.set(signal);
        if let Ok(keep_alive) = self.0.keep_alive.lock()
            && let Some(keep_alive) = keep_alive.as_ref()
        {
            keep_alive.cut();
        }
    }

    /// Closes `keep_alive` when a signal asks for the end, and at once if a signal has asked
    /// already.
    pub(super) fn ties(&self, keep_alive: KeepAlive) {
        if self.0.signal.get().is_some() {
            keep_alive.cut();
        }
        if let Ok(mut place) = self.0.keep_alive.lock() {
            *place = Some(keep_alive);
        }
    }

    /// The error that reports the signal, if a signal has asked for the end.
    pub(super) fn error(&self) -> Option<CoordinatorError> {
        self.0.signal.get().map(|signal| {
            CoordinatorError::Interrupted(match signal {
                Signal::SIGINT => Interrupt::Keyboard,
                _ => Interrupt::Terminate,
            })
        })
    }

    /// The result, or the error of a signal instead of a failure that the signal caused.
    pub(super) fn instead_of<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        result.map_err(|error| {
            std::thread::sleep(GRACE);
            self.error().map_or(error, Into::into)
        })
    }
}
