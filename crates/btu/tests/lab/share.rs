//! How the tests of this program share the machine.
//!
//! A test that only waits for processes takes one share of four, and others run beside it. A test that holds a measured
//! number against a bound takes all shares, so that nothing else of this program runs meanwhile. Shares are given out in
//! the order in which they are asked for: a test that needs all of them is not passed by for ever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many shares there are. A raised network keeps up to one processor busy for part of its time.
const SHARES: usize = 4;

struct Queue {
    free: usize,
    /// The number that the next test draws.
    next: u64,
    /// The number whose turn it is.
    turn: u64,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { free: SHARES, next: 0, turn: 0 });
static CHANGED: Condvar = Condvar::new();

/// Part of the machine, or all of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share(usize);

impl Share {
    /// One share: others run at the same time.
    pub(crate) fn one() -> Self {
        Self::take(1)
    }

    /// Every share: no other test of this program runs.
    pub(crate) fn all() -> Self {
        Self::take(SHARES)
    }

    fn take(count: usize) -> Self {
        let mut queue = queue();
        let number = queue.next;
        queue.next += 1;
        let is_not_yet = |queue: &mut Queue| queue.turn != number || queue.free < count;
        let mut queue = CHANGED.wait_while(queue, is_not_yet).unwrap_or_else(PoisonError::into_inner);
        queue.turn += 1;
        queue.free -= count;
        CHANGED.notify_all();
        Self(count)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        queue().free += self.0;
        CHANGED.notify_all();
    }
}

/// A test that failed leaves the counts right, so a poisoned lock is as good as any.
fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}
