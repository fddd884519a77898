//! Bounds an exchange in time without a timeout on each call: arming and cancelling a timer twice
//! per round trip would cost as much as the exchange itself. A thread that checks the clock at
//! intervals ends the connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::line::TcpConnection;
use crate::clock::{Limit, TICK, now};
use crate::error::TrafficError;

/// Runs `work`, which may block on `line`, and ends the connection once the limit is reached; then
/// the limit's error is the result.
pub(crate) fn watched<T>(
    line: &TcpConnection,
    limit: &Limit<'_>,
    doing: &'static str,
    work: impl FnOnce() -> Result<T, TrafficError>,
) -> Result<T, TrafficError> {
    line.wait_as_long_as_it_takes()?;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| watch(line, limit, doing, &is_done));
        let result = work();
        is_done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        // The watch cannot panic.
        let verdict = watch.join().unwrap_or(Ok(()));
        verdict.and(result)
    })
}

/// Looks at the limit once per tick until the work is done.
fn watch(
    line: &TcpConnection,
    limit: &Limit<'_>,
    doing: &'static str,
    is_done: &AtomicBool,
) -> Result<(), TrafficError> {
    while !is_done.load(Ordering::Relaxed) {
        if let Err(error) = limit.check(now(), doing, line.peer()) {
            line.end();
            return Err(error);
        }
        thread::park_timeout(TICK);
    }
    Ok(())
}
