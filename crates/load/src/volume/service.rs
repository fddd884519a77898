//! The time of an operation, and the operations for which it waits.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use btu_units::{Span, Time};

use crate::{LoadError, account};

/// The longest service; a longer one is a mistake, and would exceed a client's timeout.
const LONGEST: Span = Span::from_seconds(1);

/// One server that takes a constant time for every operation, in the order of arrival.
#[derive(Debug)]
pub(super) struct Service {
    time: Span,
    /// The time at which it has completed all operations.
    free_at: Mutex<Time>,
    present: AtomicU32,
}

/// An operation under way.
#[derive(Debug)]
pub(crate) struct Visit<'a> {
    service: &'a Service,
    /// The time at which the call arrived.
    pub(crate) arrived: Time,
    /// Operations that were here when it came, waiting or served.
    pub(crate) found: u32,
    due: Time,
}

impl Service {
    pub(super) fn new(time: Span) -> Self {
        Self {
            time: time.min(LONGEST),
            free_at: Mutex::new(Time::ZERO),
            present: AtomicU32::new(0),
        }
    }

    pub(super) fn arrive(&self, now: Time) -> Visit<'_> {
        let found = self.present.fetch_add(1, Ordering::Relaxed);
        let due = if self.time > Span::ZERO { self.book(now) } else { now };
        Visit { service: self, arrived: now, found, due }
    }

    /// When an operation that comes now is done. Each time follows from the one before, not from
    /// the moment when a thread wakes: the lateness of one operation does not add to the next, so
    /// that a busy server does exactly one operation in its time.
    fn book(&self, now: Time) -> Time {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = (*free_at).max(now) + self.time;
        *free_at
    }
}

impl Visit<'_> {
    /// Waits until the operation is due; its real work counts towards its time. Returns the time of
    /// its end.
    pub(crate) fn end(&self) -> Result<Time, LoadError> {
        loop {
            let now = account::now()?;
            if now >= self.due {
                return Ok(now);
            }
            std::thread::sleep(Duration::from_nanos(self.due.since(now).nanoseconds()));
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.service.present.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three operations of 2 ms each that come together leave after 2, 4 and 6 ms, and found 0, 1
    /// and 2 others; one that comes later finds none.
    #[test]
    fn one_after_the_other() {
        let service = Service::new(Span::from_milliseconds(2));
        let start = Time::from_nanoseconds(1_000_000_000);
        let visits: Vec<Visit<'_>> = (0..3).map(|_| service.arrive(start)).collect();
        let due: Vec<u64> =
            visits.iter().map(|visit| visit.due.since(start).nanoseconds()).collect();
        assert_eq!(due, [2_000_000, 4_000_000, 6_000_000]);
        assert_eq!(visits.iter().map(|visit| visit.found).collect::<Vec<_>>(), [0, 1, 2]);
        drop(visits);
        let late = service.arrive(start + Span::from_milliseconds(10));
        assert_eq!((late.found, late.due), (0, start + Span::from_milliseconds(12)));
    }

    #[test]
    fn without_a_time_nobody_waits() {
        let service = Service::new(Span::ZERO);
        let visit = service.arrive(Time::from_nanoseconds(5));
        assert_eq!(visit.due, visit.arrived);
        assert_eq!(Service::new(Span::from_seconds(100)).time, LONGEST);
    }
}
