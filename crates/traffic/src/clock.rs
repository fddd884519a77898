//! The monotonic clock, the CPU clock of the performing thread, and the limits of an order's time.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_contract::record::CpuTime;
use btu_units::{Span, Time};
use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};

use crate::error::TrafficError;
use crate::quota;

/// How long a blocking call waits before it looks at the deadline and at `stop`.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// `CLOCK_MONOTONIC`, with the machine's start as its origin: comparable between all processes of
/// one host.
#[inline]
pub(crate) fn now() -> Time {
    // Linux cannot refuse CLOCK_MONOTONIC; a kernel that does cannot run this program.
    let time =
        clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux kernel has CLOCK_MONOTONIC");
    Time::from_nanoseconds(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// What this thread has computed so far, to the nanosecond.
#[inline]
pub(crate) fn computed() -> Span {
    // As with CLOCK_MONOTONIC.
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .expect("every Linux kernel has CLOCK_THREAD_CPUTIME_ID");
    Span::from_nanoseconds(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// CPU time of this thread so far, and how long it waited for a processor, and why: most activities are performed
/// by one thread. Reads files, so it comes before an activity's clock starts, and after it has stopped.
pub(crate) fn cpu() -> CpuTime {
    CpuTime { waited: waited(), throttled: quota::throttled(), ..used(UsageWho::RUSAGE_THREAD) }
}

/// How long this thread was ready to run without a processor so far: the second number of its schedstat
/// (Documentation/scheduler/sched-stats.rst). `None` if the kernel does not count it.
pub fn waited() -> Option<Span> {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    counted.split_whitespace().nth(1)?.parse().ok().map(Span::from_nanoseconds)
}

/// CPU time since `earlier`.
pub(crate) fn cpu_since(earlier: CpuTime) -> CpuTime {
    cpu().since(earlier)
}

/// CPU time of all threads of this process so far, for activities that have several: a worker
/// performs one activity.
pub(crate) fn process_cpu() -> CpuTime {
    used(UsageWho::RUSAGE_SELF)
}

/// CPU time of all threads since `earlier`.
pub(crate) fn process_cpu_since(earlier: CpuTime) -> CpuTime {
    process_cpu().since(earlier)
}

fn used(who: UsageWho) -> CpuTime {
    let usage = getrusage(who).expect("every Linux kernel has RUSAGE_SELF and RUSAGE_THREAD");
    let span = |time: TimeVal| {
        Span::from_microseconds(time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64)
    };
    CpuTime::of(span(usage.user_time()), span(usage.system_time()))
}

/// When an activity has to give up, and why.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    end: Time,
    deadline: Span,
    stop: &'a AtomicBool,
}

impl<'a> Limit<'a> {
    /// Gives up a fiftieth of `deadline`, at most 200 ms, before the worker would be killed, so
    /// that it can say why.
    pub fn new(start: Time, deadline: Span, stop: &'a AtomicBool) -> Self {
        let margin = Span::from_nanoseconds((deadline.nanoseconds() / 50).min(200_000_000));
        Self { end: start + deadline.saturating_sub(margin), deadline, stop }
    }

    /// Like `new`, and no later than `span` after `now`.
    #[must_use]
    pub fn within(&self, now: Time, span: Span) -> Self {
        Self { end: self.end.min(now + span), deadline: self.deadline.min(span), stop: self.stop }
    }

    /// The remaining time at `now`.
    pub fn left(&self, now: Time) -> Duration {
        self.end.since(now).into()
    }

    /// Whether the agent has sent `stop`.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps until `due`, or until the agent sends `stop` or the time is over.
    pub fn sleep_until(&self, due: Time) {
        loop {
            let (time, end) = (now(), due.min(self.end));
            if time >= end || self.stopped() {
                return;
            }
            thread::sleep(Duration::from(end.since(time)).min(TICK));
        }
    }

    /// An error once the time is over.
    pub fn check_time(
        &self,
        now: Time,
        doing: &'static str,
        object: SocketAddr,
    ) -> Result<(), TrafficError> {
        if now < self.end {
            return Ok(());
        }
        Err(TrafficError::Deadline { doing, object, deadline: self.deadline })
    }

    /// An error once the time is over or the agent has sent `stop`.
    pub fn check(
        &self,
        now: Time,
        doing: &'static str,
        object: SocketAddr,
    ) -> Result<(), TrafficError> {
        if self.stopped() {
            return Err(TrafficError::Stopped { doing, object });
        }
        self.check_time(now, doing, object)
    }
}

/// Precise timers for this thread as long as it lives: the kernel may not put wake-ups together.
pub(crate) struct PreciseTimers(Option<libc::c_ulong>);

impl PreciseTimers {
    /// Sets the thread's timer slack to 1 ns; where that is refused, pauses are only less exact.
    pub(crate) fn hold() -> Self {
        let before = get_timerslack().ok().and_then(|slack| slack.try_into().ok());
        Self(set_timerslack(1).ok().and(before))
    }
}

impl Drop for PreciseTimers {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // It was this thread's own value a moment ago.
            let _ = set_timerslack(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use btu_conditions::{Conditions, judge};
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    use super::*;

    #[test]
    fn the_limit_leaves_time_to_say_why() {
        let stop = AtomicBool::new(false);
        let limit = Limit::new(Time::ZERO, Span::from_seconds(100), &stop);
        let object = SocketAddr::from(([127, 0, 0, 1], 9));
        assert!(limit.check(Time::from_nanoseconds(99_799_999_999), "test", object).is_ok());
        let error =
            limit.check(Time::from_nanoseconds(99_800_000_000), "test", object).unwrap_err();
        assert!(error.to_string().contains("deadline of 100 s"), "{error}");
    }

    #[test]
    fn stop_comes_before_the_deadline() {
        let stop = AtomicBool::new(true);
        let limit = Limit::new(Time::ZERO, Span::from_seconds(100), &stop);
        let object = SocketAddr::from(([127, 0, 0, 1], 9));
        assert!(matches!(
            limit.check(Time::ZERO, "test", object),
            Err(TrafficError::Stopped { .. })
        ));
        assert!(limit.check_time(Time::ZERO, "test", object).is_ok());
    }

    #[test]
    fn the_clock_goes_forward_and_work_costs_cpu() {
        let (time, before) = (now(), cpu());
        while cpu_since(before).user + cpu_since(before).system < Span::from_milliseconds(2) {}
        assert!(now().since(time) >= Span::from_milliseconds(1));
    }

    #[test]
    fn the_process_counts_what_another_thread_does() {
        let (own, all) = (cpu(), process_cpu());
        std::thread::spawn(|| {
            let before = cpu();
            while cpu_since(before).user + cpu_since(before).system < Span::from_milliseconds(20) {}
        })
        .join()
        .expect("no panic");
        let (own, all) = (cpu_since(own), process_cpu_since(all));
        assert!(all.user + all.system >= Span::from_milliseconds(20), "{all:?}");
        assert!(own.user + own.system < Span::from_milliseconds(20), "{own:?}");
    }

    /// Two or three threads that only compute share one processor: each of them waits for a half or two thirds of the
    /// time, and is on it for the rest. More work there only makes all wait longer.
    #[test]
    fn who_shares_a_processor_waits_for_the_others() {
        for threads in [2, 3] {
            shares(threads);
        }
    }

    fn shares(threads: usize) {
        let conditions = Conditions::begin();
        let allowed = sched_getaffinity(Pid::from_raw(0)).expect("the set of processors");
        let place = (0..CpuSet::count()).find(|place| allowed.is_set(*place) == Ok(true));
        let mut one = CpuSet::new();
        one.set(place.expect("a processor")).expect("a processor");
        let together = Barrier::new(threads);
        let busy = || {
            sched_setaffinity(Pid::from_raw(0), &one).expect("one of its processors");
            together.wait();
            let (before, started) = (cpu(), now());
            while now().since(started) < Span::from_milliseconds(600) {}
            (now().since(started).seconds(), cpu_since(before))
        };
        let least = 1.0 - 1.0 / threads as f64 - 0.05;
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(busy)).collect();
            for thread in all {
                let (time, cpu) = thread.join().expect("no panic");
                let Some(waited) = cpu.waited else { continue };
                let [waited, used] = [waited, cpu.used()].map(|part| part.seconds() / time);
                judge!(conditions, waited > least, "{threads}: waited {waited}, used {used}");
                judge!(conditions, (0.95..1.02).contains(&(waited + used)), "{waited}, {used}");
            }
        });
    }
}
