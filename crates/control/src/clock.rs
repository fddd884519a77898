//! The monotonic clock and the CPU time of processes, as the kernel tells them.

use btu_suite::record::CpuTime;
use btu_units::{Span, Time};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Now, by `CLOCK_MONOTONIC`.
pub(crate) fn monotonic() -> nix::Result<Time> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(Time::from_nanoseconds(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64))
}

/// CPU time that this process has used so far.
pub(crate) fn own_cpu() -> nix::Result<CpuTime> {
    getrusage(UsageWho::RUSAGE_SELF).map(|usage| cpu_time(&usage))
}

/// CPU time that the children of this process that were waited for have used so far.
pub(crate) fn children_cpu() -> nix::Result<CpuTime> {
    getrusage(UsageWho::RUSAGE_CHILDREN).map(|usage| cpu_time(&usage))
}

/// CPU time that a process of this user has used so far, all its threads together (`clock_getcpuclockid(3)`).
pub(crate) fn cpu_of(process: Pid) -> nix::Result<Span> {
    let used = clock_gettime(ClockId::pid_cpu_clock_id(process)?)?;
    Ok(Span::from_nanoseconds(used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64))
}

fn cpu_time(usage: &Usage) -> CpuTime {
    CpuTime { user: span(usage.user_time()), system: span(usage.system_time()) }
}

fn span(value: TimeVal) -> Span {
    Span::from_microseconds(value.tv_sec() as u64 * 1_000_000 + value.tv_usec() as u64)
}

/// What was used between two readings.
pub(crate) fn used(before: CpuTime, after: CpuTime) -> CpuTime {
    CpuTime { user: after.user - before.user, system: after.system - before.system }
}
