//! The kernel's clocks, and the CPU time of processes.

use btu_contract::record::CpuTime;
use btu_units::{Span, Time};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Reads the time of `CLOCK_MONOTONIC`.
pub(crate) fn monotonic() -> nix::Result<Time> {
    nanoseconds(ClockId::CLOCK_MONOTONIC).map(Time::from_nanoseconds)
}

/// The reading of a clock, in ns.
pub(crate) fn nanoseconds(clock: ClockId) -> nix::Result<u64> {
    let now = clock_gettime(clock)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// CPU time that this process has used so far.
pub(crate) fn own_cpu() -> nix::Result<CpuTime> {
    getrusage(UsageWho::RUSAGE_SELF).map(|usage| cpu_time(&usage))
}

/// CPU time that the children of this process that were waited for have used so far.
pub(crate) fn children_cpu() -> nix::Result<CpuTime> {
    getrusage(UsageWho::RUSAGE_CHILDREN).map(|usage| cpu_time(&usage))
}

/// CPU time that a process of this user has used so far, all its threads together
/// (`clock_getcpuclockid(3)`).
pub(crate) fn cpu_of(process: Pid) -> nix::Result<Span> {
    nanoseconds(ClockId::pid_cpu_clock_id(process)?).map(Span::from_nanoseconds)
}

fn cpu_time(usage: &Usage) -> CpuTime {
    CpuTime::of(span(usage.user_time()), span(usage.system_time()))
}

fn span(value: TimeVal) -> Span {
    Span::from_microseconds(value.tv_sec() as u64 * 1_000_000 + value.tv_usec() as u64)
}
