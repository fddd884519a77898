//! Represents a command to the shell: signals, stops and continues of this process go to the
//! command, and this process ends as the command does.
//!
//! The command shares this process's terminal, session and process group, so the terminal's own
//! signals (Ctrl-C, Ctrl-\, Ctrl-Z) reach it without help. This process passes on signals that
//! another *process* sends; and when the command stops, this process stops, too, so that a shell's
//! `fg` and `bg` work.

use std::io::{self, stdin};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};

use super::messages::Ending;
use super::sys::tie;

/// Signals from a process that are meant for the command.
const PASSED_ON: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTERM,
];

/// Other signals that this process handles: the command's end, and the terminal's signals, which
/// the command follows first.
const HELD: [Signal; 3] = [Signal::SIGCHLD, Signal::SIGTSTP, Signal::SIGTTOU];

/// Signals that ask a process to end.
const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// Interval of checks for another event that may end the wait.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Starts a command that is killed when the thread that starts it ends.
///
/// # Errors
/// As [`Command::spawn`].
pub fn start_tied(command: &mut Command) -> io::Result<Child> {
    tie(command, SigSet::thread_get_mask()?);
    command.spawn()
}

/// This process's signals, blocked and read instead of acting by default.
#[derive(Debug)]
pub struct Signals {
    mask: SigSet,
    /// The signals that were blocked before.
    before: SigSet,
    queue: SignalFd,
    /// Whether the terminal was this process group's at the start.
    foreground: bool,
}

impl Signals {
    /// Blocks them. Call it before the process has a second thread: threads inherit the mask, and a
    /// thread without it would let a signal end the process. Start commands by [`Self::start`].
    ///
    /// # Errors
    /// The kernel has no room for another open file.
    pub fn take() -> io::Result<Self> {
        let mask: SigSet = PASSED_ON.into_iter().chain(HELD).collect();
        let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let queue = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC)?;
        let foreground = tcgetpgrp(stdin()) == Ok(getpgrp());
        Ok(Self { mask, before, queue, foreground })
    }

    /// Waits for the next signal that asks this process to end.
    ///
    /// # Errors
    /// The signals cannot be read.
    pub fn await_request(&self) -> io::Result<Signal> {
        loop {
            let signal = self.next()?.0;
            if ENDING.contains(&signal) {
                return Ok(signal);
            }
        }
    }

    /// Like [`Self::await_request`], while `lasts` returns true; `None` if it returns false first.
    ///
    /// # Errors
    /// The signals cannot be read.
    pub fn await_request_while(&self, lasts: impl Fn() -> bool) -> io::Result<Option<Signal>> {
        while lasts() {
            if let Some(signal) = self.request(POLL_INTERVAL)? {
                return Ok(Some(signal));
            }
        }
        Ok(None)
    }

    /// The next signal, if it arrives within this time and asks this process to end.
    ///
    /// # Errors
    /// The signals cannot be read.
    pub fn request(&self, within: Duration) -> io::Result<Option<Signal>> {
        let mut watched = [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::try_from(within).unwrap_or(PollTimeout::ZERO)) {
            Ok(0) | Err(nix::Error::EINTR) => return Ok(None),
            other => other?,
        };
        let signal = self.next()?.0;
        Ok(ENDING.contains(&signal).then_some(signal))
    }

    /// Starts a command with the former signal mask, which is killed when the thread that starts it
    /// ends.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        tie(command, self.before);
        command.spawn()
    }

    /// Represents `command` until it ends. The calling thread must have started it.
    ///
    /// # Errors
    /// The signals cannot be read, or the command is not this process's.
    pub fn attend(&self, command: &Child) -> io::Result<Ending> {
        let pid = Pid::from_raw(command.id().cast_signed());
        loop {
            match waitpid(pid, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
                Ok(WaitStatus::Exited(_, code)) => return Ok(self.end(Ending::Exited(code))),
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    return Ok(self.end(Ending::Killed(signal as i32)));
                }
                Ok(WaitStatus::Stopped(..)) => {
                    raise(Signal::SIGSTOP)?;
                    // This process runs again: a user wants it, and so the command, to continue.
                    kill(pid, Signal::SIGCONT)?;
                    continue;
                }
                Ok(_) | Err(nix::Error::EINTR) => (),
                Err(error) => return Err(error.into()),
            }
            let (signal, from_process) = self.next()?;
            if from_process && PASSED_ON.contains(&signal) {
                kill(pid, signal)?;
            }
        }
    }

    /// The next signal, and whether a process sent it.
    fn next(&self) -> io::Result<(Signal, bool)> {
        loop {
            match self.queue.read_signal() {
                Ok(Some(info)) => {
                    return Ok((
                        Signal::try_from(info.ssi_signo.cast_signed())?,
                        is_from_process(&info),
                    ));
                }
                Ok(None) | Err(nix::Error::EINTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A command that owned the terminal (a shell) may have left it without an owner.
    fn end(&self, how: Ending) -> Ending {
        if self.foreground {
            // SIGTTOU is blocked, so this does not stop a process in the background; without a
            // terminal nothing is lost.
            let _ = tcsetpgrp(stdin().as_fd(), getpgrp());
        }
        how
    }

    /// Unblocks the signals: from now on they act by default again, pending ones at once.
    pub fn release(self) {
        // Masks that this thread had before cannot be refused.
        let _ = self.before.thread_set_mask();
    }

    /// Ends this process as the command ended: with its status, or by its signal, so that a waiting
    /// script or shell sees the command's status.
    pub fn end_like(self, how: Ending) -> ExitCode {
        match how {
            Ending::Exited(code) => ExitCode::from(code as u8),
            Ending::Killed(number) => {
                if let Ok(signal) = Signal::try_from(number) {
                    // A core dump of the command may be of interest, one of this process is not.
                    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
                    let _ = self.mask.thread_unblock();
                    let _ = raise(signal);
                }
                // The parent of this process made it ignore the signal, so it still runs.
                ExitCode::from(how.exit_code())
            }
        }
    }
}

/// See `si_code` in sigaction(2): signals from the kernel itself have a positive code.
fn is_from_process(info: &siginfo) -> bool {
    info.ssi_code <= 0
}
