//! Waiting for frames, orders, and the next due time, exactly enough and without keeping a
//! processor busy.
//!
//! A timer wakes a sleeper late, by tens of microseconds on an idle machine. So the wait ends a
//! guard time before the due time, and the wire polls for the rest. The guard follows the observed
//! lateness (its 98th percentile). Polling has a budget, a sixteenth of the time, because stations
//! need the processor too; when it is used up, frames are so frequent that the wire sleeps for a
//! moment instead and then moves several of them at once.
//!
//! In virtual time a sleeper wakes at the due time itself, and polling would only read the clock: each
//! reading costs as much as any other call.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use btu_units::{Span, Time};

use crate::port::now;
use crate::virtual_time::is_virtual;

const SHORTEST_GUARD: Span = Span::from_microseconds(5);
const LONGEST_GUARD: Span = Span::from_microseconds(120);
/// The guard rises by this when a wake-up was later than the guard, and falls by the other value
/// when not: balanced at 2 per cent.
const GUARD_UP: Span = Span::from_nanoseconds(4_900);
const GUARD_DOWN: Span = Span::from_nanoseconds(100);
/// Long enough to save time, short enough to keep the median within a tenth of the tolerance of
/// delays (0.2 ms).
const SHORT_SLEEP: Span = Span::from_microseconds(20);
/// Polling may take one part in this number of the time.
const BUDGET_SHARE: u64 = 16;
/// Unused budget does not accumulate beyond this.
const MOST_BUDGET: Span = Span::from_milliseconds(2);

/// Watches file descriptors and the clock.
pub(super) struct Waiter {
    watched: Vec<libc::pollfd>,
    guard: Span,
    budget: Span,
    budget_from: Time,
}

impl Waiter {
    pub(super) fn new() -> Self {
        Self {
            watched: Vec::new(),
            guard: Span::from_microseconds(60),
            budget: MOST_BUDGET,
            budget_from: now(),
        }
    }

    /// Removes all watched descriptors.
    pub(super) fn clear(&mut self) {
        self.watched.clear();
    }

    /// Watches a descriptor for input, and for room for output where wanted. It has to stay open
    /// until it is cleared.
    pub(super) fn watch(&mut self, fd: BorrowedFd<'_>, output: bool) {
        let events = if output { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        self.watched.push(libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 });
    }

    /// Whether the descriptor with this index is readable, or has ended.
    pub(super) fn is_ready(&self, place: usize) -> bool {
        self.watched[place].revents != 0
    }

    /// Waits until a descriptor is ready or the time is `due`; for ever without a due time.
    pub(super) fn wait(&mut self, due: Option<Time>) -> io::Result<()> {
        let Some(due) = due else { return self.poll(None).map(drop) };
        if is_virtual() {
            return self.poll(Some(due.since(now()))).map(drop);
        }
        loop {
            let start = now();
            let left = due.since(start);
            if left == Span::ZERO {
                return self.poll(Some(Span::ZERO)).map(drop);
            }
            self.earn(start);
            let ready = if left > self.guard {
                self.doze(start, left - self.guard)?
            } else if self.budget > left {
                self.look(start)?
            } else {
                std::thread::sleep(left.max(SHORT_SLEEP).into());
                false
            };
            if ready {
                return Ok(());
            }
        }
    }

    /// Sleeps for `span`, and adapts the guard to its lateness.
    fn doze(&mut self, start: Time, span: Span) -> io::Result<bool> {
        let ready = self.poll(Some(span))?;
        if !ready {
            let late = now().since(start).saturating_sub(span);
            let moved =
                if late > self.guard { self.guard + GUARD_UP } else { self.guard - GUARD_DOWN };
            self.guard = moved.clamp(SHORTEST_GUARD, LONGEST_GUARD);
        }
        Ok(ready)
    }

    /// Polls once without sleeping, and charges the budget for it.
    fn look(&mut self, start: Time) -> io::Result<bool> {
        let ready = self.poll(Some(Span::ZERO))?;
        self.budget = self.budget - now().since(start);
        Ok(ready)
    }

    fn earn(&mut self, at: Time) {
        let earned =
            Span::from_nanoseconds(at.since(self.budget_from).nanoseconds() / BUDGET_SHARE);
        self.budget = (self.budget + earned).min(MOST_BUDGET);
        self.budget_from = at;
    }

    /// Waits at most `timeout`; returns whether a descriptor is ready.
    fn poll(&mut self, timeout: Option<Span>) -> io::Result<bool> {
        const SECOND: u64 = 1_000_000_000;
        let timeout = timeout.map(|span| libc::timespec {
            tv_sec: (span.nanoseconds() / SECOND).cast_signed(),
            tv_nsec: (span.nanoseconds() % SECOND).cast_signed(),
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `watched` is as long as said and lives across the call; `timeout` is null or
        // points to a value that does; no signal mask is given.
        let ready = unsafe {
            libc::ppoll(
                self.watched.as_mut_ptr(),
                self.watched.len() as libc::nfds_t,
                timeout,
                std::ptr::null(),
            )
        };
        if ready >= 0 {
            return Ok(ready > 0);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        self.watched.iter_mut().for_each(|watched| watched.revents = 0);
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_wait_ends_at_its_due_time_not_before() {
        let mut waiter = Waiter::new();
        for span in [1, 100, 1000].map(Span::from_microseconds) {
            let due = now() + span;
            waiter.wait(Some(due)).unwrap();
            assert!(now() >= due);
        }
    }

    #[test]
    fn something_to_read_ends_it_sooner() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut waiter = Waiter::new();
        waiter.watch(theirs.as_fd(), false);
        ours.write_all(b"x").unwrap();
        let due = now() + Span::from_seconds(60);
        waiter.wait(Some(due)).unwrap();
        assert!(waiter.is_ready(0) && now() < due);
        waiter.wait(None).unwrap();
    }

    #[test]
    fn the_budget_runs_out_and_comes_back() {
        let mut waiter = Waiter::new();
        waiter.budget = Span::ZERO;
        waiter.earn(waiter.budget_from + Span::from_microseconds(1600));
        assert_eq!(waiter.budget, Span::from_microseconds(100));
        waiter.earn(waiter.budget_from + Span::from_seconds(1));
        assert_eq!(waiter.budget, MOST_BUDGET);
    }
}
