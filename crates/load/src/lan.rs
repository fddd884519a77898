//! The parts of `btu lan`: a file server, a foreground task, and background stations.

mod pattern;
mod place;
mod replay;
mod serve;
mod station;
mod task;
mod work;

use btu_units::{Span, Time};

use crate::{LoadError, account};

pub(crate) use serve::ServingFiles;
pub(crate) use station::prepare as prepare_station;
pub(crate) use task::prepare as prepare_task;

/// The timeout of an answer: far longer than any queue here; a server that is gone is detected at
/// once.
const TIMEOUT: Span = Span::from_seconds(60);

/// Sleeps until the time `due`.
fn wait_until(due: Time) -> Result<(), LoadError> {
    loop {
        let now = account::now()?;
        if now >= due {
            return Ok(());
        }
        std::thread::sleep(due.since(now).into());
    }
}

/// Makes waits end on time: the default slack of 50 us is added to every one (prctl(2)). A refusal
/// shows as lateness.
fn wake_in_time() {
    let _ = nix::sys::prctl::set_timerslack(1);
}

#[cfg(test)]
mod tests;
