//! A program of the system while it copies: it does not outlive its copy, and its file is watched.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use btu_units::Time;

use super::log::{LetIn, Log, Said};
use crate::LoadError;
use crate::account::now;
use crate::copy::store::Stored;
use crate::copy::{Moved, TICK};

/// A program that runs, or has run.
pub(super) struct Process {
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

impl Process {
    /// Starts it, with a pipe as its standard error.
    pub(super) fn start(
        program: &'static str,
        mut command: Command,
        let_in: LetIn,
    ) -> Result<Self, LoadError> {
        command.stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| LoadError::Program {
            program,
            problem: format!("could not be started: {error}"),
        })?;
        let log = Log::of(&mut child, let_in);
        Ok(Self { program, child, log })
    }

    /// Waits until it has ended, as long as it may go on; looks how far `copy` has come meanwhile.
    pub(super) fn finish(
        mut self,
        copy: Option<&Stored>,
        may_go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<Ended, LoadError> {
        let mut watch = Watch::default();
        let status = self.watched(&mut watch, copy, may_go_on)?;
        let over = now()?;
        let said = self.log.finish();
        if let Some(copy) = copy {
            watch.look(copy)?;
        }
        Ok(Ended { status, over, said, moved: watch.moved() })
    }

    fn watched(
        &mut self,
        watch: &mut Watch,
        copy: Option<&Stored>,
        may_go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<ExitStatus, LoadError> {
        loop {
            if let Some(copy) = copy {
                watch.look(copy)?;
            }
            let ended = self.child.try_wait().map_err(|error| LoadError::Program {
                program: self.program,
                problem: format!("could not be waited for: {error}"),
            })?;
            if let Some(status) = ended {
                return Ok(status);
            }
            may_go_on()?;
            thread::sleep(TICK);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Its status and its last line, for an error.
    pub(super) fn explained(&self) -> String {
        let Self { status, said, .. } = self;
        if said.last.is_empty() {
            format!("it ended with {status}, without a word")
        } else {
            format!("it ended with {status}, and said last: {}", said.last)
        }
    }
}

/// When a file that grows had its first bytes, and all of them.
#[derive(Debug, Default)]
struct Watch {
    first: Option<Time>,
    last: Option<Time>,
}

impl Watch {
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
