//! The outer process (`btu internal testbed`): creates the namespaces, starts process 1 in them,
//! and passes messages on.
//!
//! It must be single-threaded when it makes them (a user namespace is refused to a process with
//! threads), and stays so (a process that has asked for a process namespace may start processes,
//! but no more threads).

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{getegid, geteuid, setsid};

use super::error::TestbedError;
use super::messages::{
    Ending, Message, Order, Privilege, ProcessExit, TestbedProcess, receive, send,
};
use super::processes::own;
use super::refusal::refusal;
use crate::privilege::Capabilities;

/// The time for process 1 to end on request, before it is killed.
const GRACE_PERIOD: Duration = Duration::from_millis(1_200);

/// The namespaces of a testbed, apart from the user namespace.
const NAMESPACES: CloneFlags =
    CloneFlags::CLONE_NEWNET.union(CloneFlags::CLONE_NEWNS).union(CloneFlags::CLONE_NEWPID);

/// The work of `btu internal testbed`. It takes no arguments: its order is the first line of
/// standard input, which is the controller's keep-alive pipe afterwards; its messages go to
/// standard output.
///
/// Call it before the process has a second thread.
pub fn outer() -> ExitCode {
    let status = start().and_then(|init| {
        relay(init).map_err(|error| TestbedError::protocol("keep the testbed", error))
    });
    match status {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The controller may be gone already; then there is no receiver.
            drop(send(io::stdout(), &Message::Refused { error }));
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<Child, TestbedError> {
    unblock_signals()?;
    leave_the_terminal()?;
    let order: Order = receive(io::stdin().lock())
        .map_err(|error| TestbedError::protocol("read the order", error))?;
    let privilege = make_namespaces()?;
    die_with_parent()?;
    let sent = send(io::stdout(), &Message::Granted { privilege });
    sent.map_err(|error| TestbedError::protocol("answer the controller", error))?;
    start_init(&order)
}

/// A controller may block its signals; the testbed's processes inherit the mask, but must receive
/// their signals.
fn unblock_signals() -> Result<(), TestbedError> {
    let heard = SigSet::empty().thread_set_mask();
    heard.map_err(|error| TestbedError::process("hear signals", &error.into()))
}

/// A session of its own: Ctrl-C and hang-up are for the controller, which lowers the testbed
/// regularly; and no process in the testbed is stopped for writing to a terminal that has `tostop`
/// set.
fn leave_the_terminal() -> Result<(), TestbedError> {
    match setsid() {
        // This process already leads its session or group: a user started it by hand, and it need
        // not leave that user's terminal.
        Ok(_) | Err(nix::Error::EPERM) => Ok(()),
        Err(error) => Err(TestbedError::process("leave the terminal", &error.into())),
    }
}

/// Lets the kernel kill this process when the *thread* that started it ends, so the process that
/// starts it must do so from a thread that lives as long as the testbed. Set after the namespaces
/// are made: changed credentials clear it.
pub(super) fn die_with_parent() -> Result<(), TestbedError> {
    let set = set_pdeathsig(Signal::SIGKILL);
    set.map_err(|error| TestbedError::process("tie this process to its parent", &error.into()))
}

/// The rights over the testbed's namespaces that its work needs: making them and mounting in them,
/// laying cables, carrying frames, and serving at ports below 1024.
const RIGHTS: Capabilities = Capabilities::SYS_ADMIN
    .and(Capabilities::NET_ADMIN)
    .and(Capabilities::NET_RAW)
    .and(Capabilities::LOW_PORTS);

fn make_namespaces() -> Result<Privilege, TestbedError> {
    // A superuser without some of them, as in a container or a unit, may still act like an ordinary
    // user: in a user namespace of its own it has them all.
    let has_all = Capabilities::effective().is_ok_and(|held| held.has(RIGHTS));
    if geteuid().is_root() && has_all {
        match unshare(NAMESPACES) {
            Ok(()) => return Ok(Privilege::Root),
            Err(nix::Error::EPERM) => (),
            Err(error) => return Err(refusal("make the namespaces of the testbed", &error.into())),
        }
    }
    let (user, group) = (geteuid(), getegid());
    unshare(NAMESPACES | CloneFlags::CLONE_NEWUSER).map_err(|error| {
        refusal("make a user namespace and the testbed's namespaces in it", &error.into())
    })?;
    become_root_of_it(user.as_raw(), group.as_raw())
        .map_err(|error| refusal("become root of the new user namespace", &error))?;
    Ok(Privilege::UserNamespace)
}

/// See `user_namespaces(7)`: one line each; the group's only after giving up `setgroups(2)`.
fn become_root_of_it(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

fn start_init(order: &Order) -> Result<Child, TestbedError> {
    let mut command = own(&["init"]);
    let mut init = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| TestbedError::process("start the testbed's first process", &error))?;
    let sent = send(init.stdin.as_mut().expect("standard input was piped"), order);
    sent.map_err(|error| {
        TestbedError::protocol("give the order to the testbed's first process", error)
    })?;
    Ok(init)
}

/// Passes process 1's messages on until it ends; asks it to end when the keep-alive pipe is closed.
fn relay(mut init: Child) -> io::Result<()> {
    let mut messages = init.stdout.take().expect("standard output was piped");
    let mut going: Option<Instant> = None;
    loop {
        let ready = wait_for(&messages, going)?;
        if ready.is_closed && going.is_none() {
            drop(init.stdin.take());
            going = Some(Instant::now() + GRACE_PERIOD);
        }
        if ready.messages && pass_on(&mut messages)? == 0 {
            break;
        }
        if going.is_some_and(|deadline| Instant::now() >= deadline) {
            init.kill()?;
        }
    }
    // With process 1 the kernel ends every process of its namespace before this returns.
    let how = Ending::from(init.wait()?);
    send(io::stdout(), &Message::Ended { event: ProcessExit { who: TestbedProcess::Init, how } })
}

struct PollResult {
    is_closed: bool,
    messages: bool,
}

fn wait_for(messages: &ChildStdout, going: Option<Instant>) -> io::Result<PollResult> {
    let keep_alive = io::stdin();
    let mut watched = vec![PollFd::new(messages.as_fd(), PollFlags::POLLIN)];
    if going.is_none() {
        watched.push(PollFd::new(keep_alive.as_fd(), PollFlags::POLLIN));
    }
    match poll(&mut watched, timeout(going)) {
        Err(nix::Error::EINTR) | Ok(0) => {
            return Ok(PollResult { is_closed: false, messages: false });
        }
        other => other?,
    };
    let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
    let (messages, keep_alive_ready) =
        (is_ready(&watched[0]), watched.get(1).is_some_and(is_ready));
    Ok(PollResult { is_closed: keep_alive_ready && is_cut(keep_alive.lock()), messages })
}

/// A keep-alive pipe carries no further data, so anything but its end is read and ignored.
fn is_cut(mut keep_alive: impl Read) -> bool {
    keep_alive.read(&mut [0; 64]).is_ok_and(|count| count == 0)
}

/// The time until the deadline, in whole milliseconds rounded up; without one, for ever.
fn timeout(going: Option<Instant>) -> PollTimeout {
    let Some(deadline) = going else { return PollTimeout::NONE };
    let left = deadline.saturating_duration_since(Instant::now()).as_millis() + 1;
    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
}

/// Copies the available bytes; returns their number.
fn pass_on(messages: &mut ChildStdout) -> io::Result<usize> {
    let mut buffer = [0; 4096];
    let count = messages.read(&mut buffer)?;
    let mut out = io::stdout();
    // A controller that no longer listens has closed, or is about to close, the keep-alive pipe:
    // that ends the testbed.
    drop(out.write_all(&buffer[..count]).and_then(|()| out.flush()));
    Ok(count)
}
