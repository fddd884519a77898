//! When an activity ran and what CPU time it took.

use btu_contract::record::{CpuTime, Outcome, Report};
use btu_units::{Span, Time};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_gettime};

use crate::LoadError;

/// This host's monotonic clock.
pub(crate) fn now() -> Result<Time, LoadError> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|errno| LoadError::Kernel {
        operation: "read the monotonic clock",
        source: errno.into(),
    })?;
    let (seconds, nanoseconds) = (now.tv_sec().unsigned_abs(), now.tv_nsec().unsigned_abs());
    Ok(Time::from_nanoseconds(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)))
}

/// CPU time so far of this process, all threads together, and of the programs that it has started
/// and that have ended.
fn cpu() -> Result<CpuTime, LoadError> {
    let used = |who| {
        getrusage(who).map_err(|errno| LoadError::Kernel {
            operation: "read the process's CPU time",
            source: errno.into(),
        })
    };
    let [own, started] = [used(UsageWho::RUSAGE_SELF)?, used(UsageWho::RUSAGE_CHILDREN)?];
    Ok(CpuTime::of(
        span(own.user_time()) + span(started.user_time()),
        span(own.system_time()) + span(started.system_time()),
    ))
}

/// The kernel's idea of a length of time as ours; it is never negative here.
fn span(time: TimeVal) -> Span {
    Span::from_microseconds(time.num_microseconds().unsigned_abs())
}

/// An activity under way: its start on both clocks.
#[derive(Debug)]
pub(crate) struct Account {
    started: Time,
    cpu: CpuTime,
}

impl Account {
    /// Starts the account: the next instruction is the activity's.
    pub(crate) fn open() -> Result<Self, LoadError> {
        let cpu = cpu()?;
        Ok(Self { started: now()?, cpu })
    }

    /// When the activity started.
    pub(crate) fn started(&self) -> Time {
        self.started
    }

    /// Stops both clocks; what was done is known later, when it has been checked.
    pub(crate) fn close(self) -> Result<Closed, LoadError> {
        let finished = now()?;
        Ok(Closed { started: self.started, finished, cpu: cpu()?.since(self.cpu) })
    }
}

/// An activity that is over.
#[derive(Debug)]
pub(crate) struct Closed {
    started: Time,
    finished: Time,
    cpu: CpuTime,
}

impl Closed {
    /// The account with the outcome.
    pub(crate) fn report(self, outcome: Outcome) -> Report {
        Report { started: self.started, finished: self.finished, cpu: self.cpu, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_cpu_time_and_sleep_is_not() {
        let account = Account::open().expect("clocks");
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 60 {
            std::hint::spin_loop();
        }
        std::thread::sleep(std::time::Duration::from_millis(40));
        let report = account.close().expect("clocks").report(Outcome::Null);
        assert!(report.duration() >= Span::from_milliseconds(100), "{}", report.duration());
        assert!(
            report.cpu.user + report.cpu.system >= Span::from_milliseconds(5),
            "{:?}",
            report.cpu
        );
    }
}
