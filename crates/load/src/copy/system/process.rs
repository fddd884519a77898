//! A program of the system while it copies: it does not outlive its copy, and its file is watched.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use btu_units::Time;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::log::{LetIn, Log, Said};
use crate::LoadError;
use crate::account::now;
use crate::copy::store::Stored;
use crate::copy::{Moved, TICK};

/// A program that runs, or has run.
pub(super) struct RunningProgram {
    program: &'static str,
    child: Child,
    log: Log,
}

/// The verdict of the run.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) over: Time,
    pub(super) said: Said,
    /// When bytes of the watched file were there.
    pub(super) moved: Option<Moved>,
}

impl RunningProgram {
    /// Starts it, with a pipe as its standard error.
    pub(super) fn start(
        program: &'static str,
        mut command: Command,
        let_in: LetIn,
    ) -> Result<Self, LoadError> {
        command.stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| LoadError::Program {
            program,
            problem: format!("could not be started: {error}"),
        })?;
        let log = Log::of(&mut child, let_in);
        Ok(Self { program, child, log })
    }

    /// What it writes and what it reads, if those are pipes that no process has taken.
    pub(super) fn pipes(&mut self) -> Option<(File, File)> {
        let (output, input) = (self.child.stdout.take()?, self.child.stdin.take()?);
        Some((OwnedFd::from(output).into(), OwnedFd::from(input).into()))
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> Result<bool, LoadError> {
        self.ended().map(|ended| ended.is_some())
    }

    /// Waits until it has ended, as long as it may go on; looks how far `copy` has come meanwhile.
    pub(super) fn finish(
        mut self,
        copy: Option<&Stored>,
        may_go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<Ended, LoadError> {
        let mut watch = FileGrowth::default();
        let status = self.watched(&mut watch, copy, may_go_on)?;
        let over = now()?;
        if was_killed(status) {
            // Processes that it started may wait for it for ever. The group keeps its number as
            // long as there are any.
            self.kill_group();
        }
        let said = self.log.finish();
        if let Some(copy) = copy {
            watch.look(copy)?;
        }
        Ok(Ended { status, over, said, moved: watch.moved() })
    }

    fn kill_group(&self) {
        // It fails if all of them have ended.
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
    }

    fn watched(
        &mut self,
        watch: &mut FileGrowth,
        copy: Option<&Stored>,
        may_go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<ExitStatus, LoadError> {
        loop {
            if let Some(copy) = copy {
                watch.look(copy)?;
            }
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            may_go_on()?;
            thread::sleep(TICK);
        }
    }
}

impl RunningProgram {
    fn ended(&mut self) -> Result<Option<ExitStatus>, LoadError> {
        self.child.try_wait().map_err(|error| LoadError::Program {
            program: self.program,
            problem: format!("could not be waited for: {error}"),
        })
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        if let Ok(None) = self.child.try_wait() {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

/// Exit codes of a shell whose command was killed: 128 and the number of the signal (sh(1)).
const KILLED: std::ops::Range<i32> = 129..160;

/// Whether the program, or what a shell ran for it, was killed.
fn was_killed(status: ExitStatus) -> bool {
    status.signal().is_some() || status.code().is_some_and(|code| KILLED.contains(&code))
}

impl Ended {
    /// When the program's log said that it was let in. The log is read by a thread, which may get a
    /// processor only when bytes have come already, or the program has ended: not before it was let
    /// in, so the earliest of these is nearest to the truth.
    pub(super) fn connected(&self) -> Option<Time> {
        let first = self.moved.map_or(self.over, |moved| moved.first);
        self.said.let_in.map(|read| read.min(first).min(self.over))
    }

    pub(super) fn was_killed(&self) -> bool {
        was_killed(self.status)
    }

    /// Its status and its last line, for an error.
    pub(super) fn explained(&self) -> String {
        let Self { status, said, .. } = self;
        if said.last.is_empty() {
            format!("it ended with {status}, without a message")
        } else {
            format!("it ended with {status}, and said last: {}", said.last)
        }
    }
}

/// When a file that grows had its first bytes, and all of them.
#[derive(Debug, Default)]
struct FileGrowth {
    first: Option<Time>,
    last: Option<Time>,
}

impl FileGrowth {
    fn look(&mut self, file: &Stored) -> Result<(), LoadError> {
        if self.last.is_some() {
            return Ok(());
        }
        let length = file.length()?;
        if length > 0 {
            let now = now()?;
            self.first.get_or_insert(now);
            self.last = (length == file.size()).then_some(now);
        }
        Ok(())
    }

    fn moved(&self) -> Option<Moved> {
        Some(Moved { first: self.first?, last: self.last? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_read_late_was_written_before_the_first_byte_came() {
        let at = Time::from_nanoseconds;
        let ended = |let_in, moved: Option<[u64; 2]>| Ended {
            status: ExitStatus::from_raw(0),
            over: at(50),
            said: Said { let_in, last: String::new() },
            moved: moved.map(|[first, last]| Moved { first: at(first), last: at(last) }),
        };
        assert_eq!(ended(Some(at(10)), Some([30, 40])).connected(), Some(at(10)));
        assert_eq!(ended(Some(at(45)), Some([30, 40])).connected(), Some(at(30)));
        assert_eq!(ended(Some(at(60)), None).connected(), Some(at(50)));
        assert_eq!(ended(None, Some([30, 40])).connected(), None);
    }
}
