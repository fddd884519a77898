//! Process 1 of a program's process namespace: starts it, detects when it is ready, waits for it,
//! and ends its remaining processes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use btu_contract::json;
use btu_contract::program::{Ended, Ending, Message, Printed, ProgramOrder, Ready, Task};
use btu_contract::record::CpuTime;
use btu_units::{Bytes, Span, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpid, setsid};

use super::super::error::TestbedError;
use super::super::init::mount_own_proc;
use super::super::messages::send;
use super::super::outer::die_with_parent;
use super::super::sys;
use super::child::Child;
use super::listening::Listening;
use super::memory::Memory;
use super::moments::Watch;
use super::unacknowledged;
use super::work::PrivateDirectory;

/// Interval of checks whether a service is ready.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The time for a program to end after its stop.
const GRACE_PERIOD: Span = Span::from_seconds(1);

/// The time for killed processes to end.
const KILLED: Span = Span::from_seconds(5);

/// The timeout of a service that other stations do not reach.
const UNREACHABLE: Span = Span::from_seconds(1);

/// Longest task that is read.
const LONGEST_TASK_BYTES: usize = 1 << 20;

/// All processes in this process namespace except process 1.
const EVERYBODY: Pid = Pid::from_raw(-1);

/// The work of `btu internal supervisor`. It refuses to run as anything but process 1 of a process
/// namespace, because it ends a program by ending all processes there.
pub fn supervisor(directory: &Path) -> ExitCode {
    match serve(directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A reader that is gone needs no further messages.
            let _ = send(io::stdout(), &Message::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn serve(directory: &Path) -> Result<(), TestbedError> {
    if getpid() != Pid::from_raw(1) {
        return Err(TestbedError::protocol("start a program's supervisor", "it is not process 1"));
    }
    die_with_parent()?;
    // Without a terminal: its programs cannot get one, either, because only the first process of a
    // session can.
    setsid()
        .map_err(|error| TestbedError::process("start a session for programs", &error.into()))?;
    let is_private = mount_own_proc();
    let failed = |error: io::Error| TestbedError::process("supervise a program", &error);
    let mut supervisor = Supervisor::new(directory, is_private).map_err(failed)?;
    supervisor.serve().map_err(failed)
}

struct Supervisor {
    directory: PathBuf,
    /// Whether the mounts are invisible to processes outside.
    is_private: bool,
    memory: Memory,
    tasks: Tasks,
    children: SignalFd,
    /// The signals that were blocked before: a program's.
    before: SigSet,
}

impl Supervisor {
    fn new(directory: &Path, is_private: bool) -> io::Result<Self> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let children = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self {
            directory: directory.to_owned(),
            is_private,
            memory: Memory::new(),
            tasks: Tasks::new()?,
            children,
            before,
        })
    }

    /// Performs tasks until the input ends.
    fn serve(&mut self) -> io::Result<()> {
        send(io::stdout(), &Message::Waiting)?;
        while let Some(task) = self.tasks.next()? {
            let (order, is_quiet) = match task {
                Task::Run(order) => (order, false),
                Task::Measure(order) => (order, true),
                Task::Stop => continue,
            };
            let ended = self.run(&order, is_quiet)?;
            send(io::stdout(), &Message::Ended(Box::new(ended)))?;
        }
        Ok(())
    }

    fn run(&mut self, order: &ProgramOrder, is_quiet: bool) -> io::Result<Ended> {
        let work = match &order.directory {
            Some(_) => None,
            None if !self.is_private => {
                return not_started(
                    "this system refuses private mounts: name a `directory` of its own".to_owned(),
                );
            }
            None => match PrivateDirectory::open(&self.directory, order.room) {
                Ok(work) => Some(work),
                Err(error) => {
                    return not_started(format!("making its directory of {}: {error}", order.room));
                }
            },
        };
        let before = if order.ready.is_some() { Listening::now()? } else { Listening::default() };
        let resets = unacknowledged::resets();
        match Child::start(order, work.as_ref(), self.before, &self.memory) {
            Err(error) => not_started(why(order, &error)),
            Ok(child) => {
                let watch = is_quiet.then(|| Watch::of(child.started)).flatten();
                Run {
                    supervisor: self,
                    order,
                    child,
                    before,
                    resets,
                    is_ready: is_quiet,
                    stop: None,
                    watch,
                }
                .attend(work.as_ref())
            }
        }
    }
}

/// Why a program was not started.
fn why(order: &ProgramOrder, error: &io::Error) -> String {
    let program = order.command.first().map_or("", String::as_str);
    match (error.kind(), &order.directory) {
        (io::ErrorKind::NotFound, Some(directory)) if !directory.is_dir() => {
            format!("there is no directory {}", directory.display())
        }
        (io::ErrorKind::NotFound, _) => {
            format!(
                "there is no program `{program}`: stations have this machine's programs; check its name and $PATH"
            )
        }
        (io::ErrorKind::PermissionDenied, _) => format!("`{program}` may not be executed: {error}"),
        _ => format!("starting `{program}`: {error}"),
    }
}

fn not_started(why: String) -> io::Result<Ended> {
    let now = sys::now()?;
    Ok(Ended {
        ending: Ending::NotStarted(why),
        started: now,
        finished: now,
        cpu: CpuTime::default(),
        peak_memory: Bytes::ZERO,
        least_memory: Bytes::ZERO,
        voluntary_switches: 0,
        involuntary_switches: 0,
        output: Printed::default(),
        errors: Printed::default(),
        left_running: 0,
        unacknowledged: Bytes::ZERO,
        connections_reset: 0,
        directory_full: false,
        moments: None,
    })
}

/// A program while it runs.
struct Run<'a> {
    supervisor: &'a mut Supervisor,
    order: &'a ProgramOrder,
    child: Child,
    /// The ports that were listening before it was started.
    before: Listening,
    /// Connections of this station that had been reset before.
    resets: u64,
    /// Whether it has become ready; from the start if no message shall say so.
    is_ready: bool,
    /// Why btu ends it, and the time at which it is killed.
    stop: Option<(Ending, Time)>,
    /// What it does meanwhile.
    watch: Option<Watch>,
}

impl Run<'_> {
    fn attend(mut self, work: Option<&PrivateDirectory>) -> io::Result<Ended> {
        while !self.is_over()? {
            self.wait()?;
        }
        let unacknowledged = unacknowledged::orphaned();
        let left_running = self.end_what_is_left()?;
        while self.child.output.read() {}
        while self.child.errors.read() {}
        let least_memory = Child::least_memory()?;
        let child = &self.child;
        let (finished, how) =
            child.ended.map_or((sys::now()?, Err(libc::SIGKILL)), |(at, how)| (at, how));
        let own = match how {
            Ok(code) => Ending::Exited(code),
            Err(signal) => Ending::Killed(signal),
        };
        Ok(Ended {
            ending: self.stop.map_or(own, |(ending, _)| ending),
            started: child.started,
            finished,
            cpu: child.cpu(),
            peak_memory: child.peak_memory(),
            least_memory,
            voluntary_switches: child.used.voluntary_switches,
            involuntary_switches: child.used.involuntary_switches,
            output: child.output.printed(),
            errors: child.errors.printed(),
            left_running,
            unacknowledged,
            connections_reset: unacknowledged::resets().saturating_sub(self.resets),
            directory_full: work.is_some_and(PrivateDirectory::is_full),
            moments: self.watch.map(|watch| watch.moments()),
        })
    }

    /// Updates the state; returns whether it has ended or was killed.
    fn is_over(&mut self) -> io::Result<bool> {
        // A service may continue as a process that it forked.
        let is_service = self.order.ready.is_some();
        if self.child.is_gone || (self.child.ended.is_some() && !is_service) {
            return Ok(true);
        }
        let now = sys::now()?;
        if let Some((_, kill_at)) = &self.stop {
            return Ok(now >= *kill_at);
        }
        if !self.is_ready {
            self.look(now)?;
        }
        if now.since(self.child.started) >= self.order.deadline && !(is_service && self.is_ready) {
            let ending = self
                .order
                .ready
                .as_ref()
                .map_or(Ending::Deadline, |ready| Ending::NotReady(ready.to_string()));
            self.ask_to_end(ending, now);
        }
        Ok(false)
    }

    /// Whether it has become ready.
    fn look(&mut self, now: Time) -> io::Result<()> {
        let since = now.since(self.child.started);
        let (is_ready, trouble) = match &self.order.ready {
            None => (true, None),
            Some(Ready::After(span)) => (since >= *span, None),
            Some(Ready::Output(text)) => {
                (self.child.output.has(text) || self.child.errors.has(text), None)
            }
            Some(Ready::Listens) => self.listens(None, since)?,
            Some(Ready::Port(port)) => self.listens(Some(*port), since)?,
        };
        if let Some(trouble) = trouble {
            self.ask_to_end(Ending::NotReady(trouble), now);
        } else if is_ready {
            self.is_ready = true;
            send(io::stdout(), &Message::Ready)?;
        }
        Ok(())
    }

    fn listens(&self, port: Option<u16>, since: Span) -> io::Result<(bool, Option<String>)> {
        let seen = Listening::now()?.beyond(&self.before, port);
        let is_in_vain = !seen.is_empty() && !seen.is_reachable() && since >= UNREACHABLE;
        let trouble = format!(
            "it listens on {seen}, where other stations do not reach it: have it listen on 0.0.0.0"
        );
        Ok((seen.is_reachable(), is_in_vain.then_some(trouble)))
    }

    fn ask_to_end(&mut self, ending: Ending, now: Time) {
        self.stop = Some((ending, now + GRACE_PERIOD));
        let _ = kill(EVERYBODY, Signal::SIGTERM);
        // A stopped process cannot act on it.
        let _ = kill(EVERYBODY, Signal::SIGCONT);
    }

    /// Waits for the next event.
    fn wait(&mut self) -> io::Result<()> {
        let ready = {
            let mut watched = vec![
                PollFd::new(self.supervisor.tasks.from.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.supervisor.children.as_fd(), PollFlags::POLLIN),
            ];
            let streams = [
                self.child.output.source().map(AsFd::as_fd),
                self.child.errors.source().map(AsFd::as_fd),
            ];
            watched.extend(
                streams.into_iter().flatten().map(|stream| PollFd::new(stream, PollFlags::POLLIN)),
            );
            match poll(&mut watched, self.timeout()?) {
                Err(nix::Error::EINTR) => return Ok(()),
                other => other?,
            };
            [0, 1].map(|place| watched[place].any().unwrap_or(true))
        };
        if ready[1] {
            // Before all else, since the program's time ends here; and again for those that ended
            // before their signal was taken.
            self.child.reap()?;
            while self.supervisor.children.read_signal()?.is_some() {}
            self.child.reap()?;
        }
        self.child.output.read();
        self.child.errors.read();
        if let Some(watch) = &mut self.watch {
            let now = sys::now()?;
            if self.child.ended.is_none() && now >= watch.next() {
                watch.look(now, || sys::now().unwrap_or(now));
            }
        }
        if ready[0]
            && self.supervisor.tasks.next()?.is_none_or(|task| task == Task::Stop)
            && self.stop.is_none()
        {
            self.ask_to_end(Ending::Stopped, sys::now()?);
        }
        Ok(())
    }

    /// The time until the next deadline or moment, in whole milliseconds rounded up.
    fn timeout(&self) -> io::Result<PollTimeout> {
        let waits_to_be_ready = !self.is_ready && self.order.ready.is_some() && self.stop.is_none();
        if waits_to_be_ready {
            return Ok(PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::MAX));
        }
        let now = sys::now()?;
        let left = match &self.stop {
            Some((_, kill_at)) => kill_at.since(now),
            None if self.order.ready.is_some() => return Ok(PollTimeout::NONE),
            None => self.order.deadline.saturating_sub(now.since(self.child.started)),
        };
        let moment = self.watch.as_ref().map(|watch| watch.next().since(now));
        let left = moment.map_or(left, |moment| left.min(moment));
        Ok(PollTimeout::try_from(left.nanoseconds().div_ceil(1_000_000))
            .unwrap_or(PollTimeout::MAX))
    }

    /// Kills all remaining processes, and waits until they have ended; returns their number.
    fn end_what_is_left(&mut self) -> io::Result<u32> {
        let (began, mut count) = (sys::now()?, 0);
        self.child.reap()?;
        while !self.child.is_gone && sys::now()?.since(began) < KILLED {
            // Repeatedly, because a process may have been forked after the last call.
            let _ = kill(EVERYBODY, Signal::SIGKILL);
            count += self.child.reap()?;
            if !self.child.is_gone {
                let mut watched =
                    [PollFd::new(self.supervisor.children.as_fd(), PollFlags::POLLIN)];
                let _ = poll(
                    &mut watched,
                    PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::ZERO),
                );
                while self.supervisor.children.read_signal()?.is_some() {}
            }
        }
        Ok(if self.stop.is_some() { 0 } else { count })
    }
}

/// The requests, line by line.
struct Tasks {
    from: File,
    read: Vec<u8>,
}

impl Tasks {
    fn new() -> io::Result<Self> {
        Ok(Self { from: io::stdin().as_fd().try_clone_to_owned()?.into(), read: Vec::new() })
    }

    /// The next task; `None` if the input has ended.
    fn next(&mut self) -> io::Result<Option<Task>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(json::from_octets(&line)?));
            }
            let mut chunk = [0; 4096];
            match self.from.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => self.read.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.read.len() > LONGEST_TASK_BYTES {
                return Err(io::Error::other("a task is too long"));
            }
        }
    }
}
