//! How the tests of this program share the machine.
//!
//! A test that only waits for processes takes one share of six, and other tests run at the same
//! time. A test that holds a measured number against a bound takes all shares, so that no other
//! test of this program runs meanwhile; or half of them, if its lines are so slow that the
//! processors are idle for most of the time: two such tests do not disturb each other.
//!
//! Tests of one share go first, and those of all shares go last: a test that waits for the whole
//! machine would leave shares unused until the last of the others has ended.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use btu_conditions::Conditions;

use crate::common::once;

/// How many shares there are. A raised network keeps up to one processor busy for part of its time.
const SHARES: usize = 6;

/// The share of a test that runs with others.
const ONE: usize = 1;

/// The share of a test that runs with one other of its kind.
const HALF: usize = SHARES / 2;

struct Queue {
    free: usize,
    /// Tests of one share that run.
    ones: usize,
    /// Tests of one share that have begun.
    begun: u64,
    /// Tests of one share that wait.
    waiting: usize,
}

impl Queue {
    /// Whether a test of so many shares has to wait.
    fn is_busy(&self, count: usize) -> bool {
        self.free < count || (count > ONE && self.waiting > 0)
    }
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { free: SHARES, ones: 0, begun: 0, waiting: 0 });
static CHANGED: Condvar = Condvar::new();

/// Part of the machine, or all of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    count: usize,
    /// The number of tests of one share that had begun then; none, when such were at work.
    alone: Option<u64>,
    since: Instant,
    conditions: Conditions,
}

impl Share {
    /// One share: others run at the same time.
    pub(crate) fn one() -> Self {
        Self::take(ONE)
    }

    /// Like `one`, for a test with a result that does not depend on root: `None` if scripts/test
    /// reports that it ran as an ordinary user already.
    pub(crate) fn one_once() -> Option<Self> {
        if once::tested_already() { None } else { Some(Self::one()) }
    }

    /// Half of the shares: another test of half of them may run meanwhile, and no other.
    pub(crate) fn half() -> Self {
        Self::take(HALF)
    }

    /// Like `half`. `None` if scripts/test reports that the part has not changed, that it ran as an ordinary user
    /// already, or that it is late.
    pub(crate) fn half_if_changed() -> Option<Self> {
        Self::take_if_changed(HALF)
    }

    /// Like `half_if_changed`, one share.
    pub(crate) fn one_if_changed() -> Option<Self> {
        Self::take_if_changed(ONE)
    }

    /// Like `half_if_changed`, every share.
    pub(crate) fn all_if_changed() -> Option<Self> {
        Self::take_if_changed(SHARES)
    }

    fn take_if_changed(count: usize) -> Option<Self> {
        if once::is_unchanged() || once::tested_already() {
            return None;
        }
        // Others ran while it waited.
        let share = Self::take(count);
        if once::is_late() { None } else { Some(share) }
    }

    /// Every share: no other test of this program runs.
    pub(crate) fn all() -> Self {
        Self::take(SHARES)
    }

    fn take(count: usize) -> Self {
        let mut queue = queue();
        let one = usize::from(count == ONE);
        queue.waiting += one;
        let mut queue = wait_while(queue, |queue| queue.is_busy(count));
        queue.waiting -= one;
        let is_alone = queue.ones == 0 && count > ONE;
        queue.free -= count;
        queue.ones += one;
        queue.begun += one as u64;
        let alone = is_alone.then_some(queue.begun);
        // The last one that waits may have kept tests of all shares waiting.
        CHANGED.notify_all();
        drop(queue);
        Self { count, alone, since: Instant::now(), conditions: Conditions::begin() }
    }

    /// Why bounds do not hold; `None` if the machine has been quiet since the share was taken.
    pub(crate) fn disturbance(&self) -> Option<String> {
        let is_alone = self.alone == Some(queue().begun);
        let others = (!is_alone).then(|| "other tests ran at the same time".to_owned());
        self.conditions.disturbance().or(others)
    }

    /// See [`btu_conditions::judge`].
    #[track_caller]
    pub(crate) fn out_of_bounds(&self, message: &str) {
        btu_conditions::report(self.disturbance(), message);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut queue = queue();
        queue.free += self.count;
        queue.ones -= usize::from(self.count == ONE);
        drop(queue);
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
