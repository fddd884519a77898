//! How the tests of this program share the machine.
//!
//! A test that only waits for processes takes one share of four, and other tests run at the same
//! time. A test that holds a measured number against a bound takes all shares, so that no other
//! test of this program runs meanwhile.
//!
//! Tests of one share go first, and those of all shares go last: a test that waits for the whole
//! machine would leave shares unused until the last of the others has ended.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use btu_conditions::Conditions;

/// How many shares there are. A raised network keeps up to one processor busy for part of its time.
const SHARES: usize = 4;

/// The share of a test that runs with others.
const ONE: usize = 1;

struct Queue {
    free: usize,
    /// Tests of one share that wait.
    waiting: usize,
}

impl Queue {
    /// Whether a test of so many shares has to wait.
    fn is_busy(&self, count: usize) -> bool {
        self.free < count || (count > ONE && self.waiting > 0)
    }
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { free: SHARES, waiting: 0 });
static CHANGED: Condvar = Condvar::new();

/// Part of the machine, or all of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    count: usize,
    since: Instant,
    conditions: Conditions,
}

impl Share {
    /// One share: others run at the same time.
    pub(crate) fn one() -> Self {
        Self::take(ONE)
    }

    /// Every share: no other test of this program runs.
    pub(crate) fn all() -> Self {
        Self::take(SHARES)
    }

    fn take(count: usize) -> Self {
        let mut queue = queue();
        let waits = usize::from(count == ONE);
        queue.waiting += waits;
        let mut queue = wait_while(queue, |queue| queue.is_busy(count));
        queue.waiting -= waits;
        queue.free -= count;
        // The last one that waits may have kept tests of all shares waiting.
        CHANGED.notify_all();
        drop(queue);
        Self { count, since: Instant::now(), conditions: Conditions::begin() }
    }

    /// How quiet the machine has been since the share was taken.
    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        queue().free += self.count;
        CHANGED.notify_all();
        let seconds = self.since.elapsed().as_secs_f64();
        println!("{} of {SHARES} shares for {seconds:.1} s", self.count);
        note(self.count, seconds);
    }
}

/// Reports the parts of a long check to scripts/test: seconds of the whole machine, and the test.
fn note(count: usize, seconds: f64) {
    let Some(file) = std::env::var_os("BTU_TEST_TIMES") else { return };
    let thread = thread::current();
    let line =
        format!("{:.0} {}\n", seconds * count as f64 / SHARES as f64, thread.name().unwrap_or("?"));
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    // A failure to record the time does not fail the test.
    let _ = written;
}

/// A test that failed leaves the counts right, so a poisoned lock is as good as any.
fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_while(
    queue: MutexGuard<'static, Queue>,
    must_wait: impl Fn(&Queue) -> bool,
) -> MutexGuard<'static, Queue> {
    CHANGED.wait_while(queue, |queue| must_wait(queue)).unwrap_or_else(PoisonError::into_inner)
}
