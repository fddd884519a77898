//! A program that was started: its streams, and what the kernel counts of it.

use std::io;
use std::os::fd::AsFd;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};

use btu_suite::program::ProgramOrder;
use btu_suite::record::CpuTime;
use btu_units::{Bytes, Time};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use super::super::sys::{self, Usage};
use super::printed::Stream;
use super::work::Work;

/// A running program, and what of it has ended.
pub(super) struct Child {
    pub(super) main: Pid,
    pub(super) started: Time,
    pub(super) output: Stream<ChildStdout>,
    pub(super) errors: Stream<ChildStderr>,
    /// When the program itself had ended, and how: its exit code, or the signal.
    pub(super) ended: Option<(Time, Result<i32, i32>)>,
    pub(super) used: Usage,
    /// Whether there are no processes any more.
    pub(super) is_gone: bool,
}

impl Child {
    /// Starts what is ordered, without a terminal and with these signals blocked.
    pub(super) fn start(order: &ProgramOrder, work: Option<&Work>, blocked: SigSet) -> io::Result<Self> {
        let Some((program, arguments)) = order.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command"));
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(&order.environment);
        if let Some(directory) = order.directory.as_deref().or(work.map(Work::path)) {
            command.current_dir(directory);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::without_terminal(&mut command, blocked);
        let started = sys::now()?;
        let mut child = command.spawn()?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        output.as_ref().map_or(Ok(()), without_waiting)?;
        errors.as_ref().map_or(Ok(()), without_waiting)?;
        Ok(Self {
            main: Pid::from_raw(child.id().cast_signed()),
            started,
            output: Stream::new(output),
            errors: Stream::new(errors),
            ended: None,
            used: Usage::default(),
            is_gone: false,
        })
    }

    /// Takes what has ended by now; how many that were.
    pub(super) fn reap(&mut self) -> io::Result<u32> {
        let mut count = 0;
        loop {
            match sys::reap() {
                Ok(Some((process, how, used))) => {
                    if process == self.main {
                        self.ended = Some((sys::now()?, how));
                    }
                    self.used.add(&used);
                    count += 1;
                }
                Ok(None) => return Ok(count),
                Err(nix::Error::ECHILD) => {
                    self.is_gone = true;
                    return Ok(count);
                }
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn cpu(&self) -> CpuTime {
        self.used.cpu
    }

    pub(super) fn peak_memory(&self) -> Bytes {
        self.used.peak_memory
    }
}

fn without_waiting(stream: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(stream.as_fd(), FcntlArg::F_GETFL)?);
    fcntl(stream.as_fd(), FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
