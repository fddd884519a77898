//! The testbed's few system calls that have no safe interface elsewhere.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use btu_contract::record::CpuTime;
use btu_units::{Bytes, Span, Time};
use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Takes a file that the kernel just gave to this process, as `SCM_RIGHTS` does.
pub(super) fn own(file: RawFd) -> OwnedFd {
    // SAFETY: the only caller passes files that came with a message a moment ago: they are open and
    // have no other owner.
    unsafe { OwnedFd::from_raw_fd(file) }
}

/// Lets the kernel kill the command when the thread that starts it ends, and lets it start with
/// these signals blocked: otherwise it would inherit the mask.
pub(super) fn tie(command: &mut Command, blocked: SigSet) {
    let prepare = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        Ok(blocked.thread_set_mask()?)
    };
    // SAFETY: between fork and exec, only two system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Gives back the memory of a range of whole pages that a file is mapped to and of which none was
/// written since: the next access reads the file again.
pub(super) fn drop_unchanged(pages: Range<usize>) -> io::Result<()> {
    // SAFETY: the kernel checks the range. The only caller passes what /proc/self/smaps listed as
    // private, not writable and without a page of its own, in a process of one thread, which loads
    // and unloads nothing afterwards.
    let done = unsafe {
        libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_DONTNEED)
    };
    Ok(Errno::result(done).map(drop)?)
}

/// Reads the monotonic clock.
pub(super) fn now() -> io::Result<Time> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    let (seconds, rest) = (time.tv_sec() as u64, time.tv_nsec() as u64);
    Ok(Time::from_nanoseconds(seconds * 1_000_000_000 + rest))
}

/// The kernel's counts for processes that have ended (getrusage(2)).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) cpu: CpuTime,
    pub(super) peak_memory: Bytes,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl Usage {
    /// Adds another process: of memory, the larger of both.
    pub(super) fn add(&mut self, other: &Self) {
        self.cpu.user += other.cpu.user;
        self.cpu.system += other.cpu.system;
        self.peak_memory = self.peak_memory.max(other.peak_memory);
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }

    fn of(usage: &libc::rusage) -> Self {
        let span = |time: libc::timeval| {
            Span::from_microseconds(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64)
        };
        Self {
            cpu: CpuTime::of(span(usage.ru_utime), span(usage.ru_stime)),
            // In KiB on Linux.
            peak_memory: Bytes::new(usage.ru_maxrss as u64 * 1024),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        }
    }
}

/// The child, with its exit code or the signal that killed it, and its resources.
pub(super) type Reaped = (Pid, Result<i32, i32>, Usage);

/// A child that has ended: its process id, its exit code or the signal that killed it, and the
/// resources of it and of its reaped children; `None` if none has ended by now.
pub(super) fn reap() -> nix::Result<Option<Reaped>> {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to places of the right size that live until the call returns.
    let process = Errno::result(unsafe {
        libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr())
    })?;
    if process == 0 {
        return Ok(None);
    }
    // SAFETY: a structure of numbers, all of them zero or written by the kernel.
    let usage = unsafe { usage.assume_init() };
    let how = if libc::WIFSIGNALED(status) {
        Err(libc::WTERMSIG(status))
    } else {
        Ok(libc::WEXITSTATUS(status))
    };
    Ok(Some((Pid::from_raw(process), how, Usage::of(&usage))))
}
