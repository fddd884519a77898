//! The controller's side of a testbed: a thread that starts the outer process, listens to it, and
//! outlives it.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::error::TestbedError;
use super::messages::{Ending, Grants, Message, Order, ProcessExit, TestbedProcess, send};

/// The time for a testbed to end before its outer process is killed, and again for the killed one.
const TEAR_DOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The end of the pipe that keeps a testbed up. Clones share it: closing any clone takes the
/// testbed down.
///
/// Closing is one `close(2)` under a lock, so a thread that waits for signals may do it at once.
#[derive(Debug, Clone)]
pub struct KeepAlive(Arc<Mutex<Option<ChildStdin>>>);

impl KeepAlive {
    /// Takes the testbed down. It takes a moment (at most about a second);
    /// [`super::RaisedNetwork::lower`] waits for it.
    pub fn cut(&self) {
        drop(locked(&self.0).take());
    }

    /// Whether the testbed has been ended.
    pub(super) fn is_cut(&self) -> bool {
        locked(&self.0).is_none()
    }
}

/// A running outer process.
#[derive(Debug)]
pub(super) struct TestbedHandle {
    keep_alive: KeepAlive,
    outer: Arc<Mutex<Child>>,
    settled: Receiver<Result<Grants, TestbedError>>,
    events: Receiver<ProcessExit>,
    /// A channel without messages; it closes when the outer process has ended and was reaped.
    gone: Receiver<()>,
}

impl TestbedHandle {
    /// Starts `executable internal testbed` with `order`.
    pub(super) fn start(executable: &Path, order: &Order) -> Result<Self, TestbedError> {
        let failed = |error: io::Error| {
            TestbedError::process(
                format!("start the testbed's process {}", executable.display()),
                &error,
            )
        };
        let (started_to, started) = channel();
        let (settled_to, settled) = channel();
        let (events_to, events) = channel();
        let (gone_to, gone) = channel();
        let mut command = Command::new(executable);
        command.args(["internal", "testbed"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // The outer process dies with the thread that starts it, so that thread stays until it is
        // gone.
        let keep = move || {
            let _hangs_up_at_the_end: Sender<()> = gone_to;
            match spawn(&mut command) {
                Ok((outer, keep_alive, messages)) => {
                    let outer = Arc::new(Mutex::new(outer));
                    drop(started_to.send(Ok((Arc::clone(&outer), keep_alive))));
                    listen(messages, &settled_to, &events_to);
                    await_end(&outer, &settled_to, &events_to);
                }
                Err(error) => drop(started_to.send(Err(error))),
            }
        };
        thread::Builder::new().name("testbed".to_owned()).spawn(keep).map_err(failed)?;
        let lost = |_| TestbedError::protocol("start the testbed's process", "its thread ended");
        let (outer, keep_alive) = started.recv().map_err(lost)?.map_err(failed)?;
        let handle = Self {
            keep_alive: KeepAlive(Arc::new(Mutex::new(Some(keep_alive)))),
            outer,
            settled,
            events,
            gone,
        };
        handle.order(order)?;
        Ok(handle)
    }

    /// Waits until the testbed is up or is refused.
    pub(super) fn wait_ready(&self, timeout: Duration) -> Result<Grants, TestbedError> {
        let reason = match self.settled.recv_timeout(timeout) {
            Ok(settled) => return settled,
            Err(RecvTimeoutError::Timeout) => format!("no answer within {} s", timeout.as_secs()),
            Err(RecvTimeoutError::Disconnected) => "its process ended without a message".to_owned(),
        };
        Err(TestbedError::protocol("start the testbed", reason))
    }

    /// The processes that ended since the testbed was up, for a separate thread; afterwards there
    /// is nothing to receive here.
    pub(super) fn take_events(&mut self) -> Receiver<ProcessExit> {
        std::mem::replace(&mut self.events, channel().1)
    }

    /// Waits until the outer process is gone and reaped.
    pub(super) fn await_gone(&self) {
        // No message is ever sent: the channel closes.
        let _ = self.gone.recv();
    }

    /// The pipe that keeps the testbed up.
    pub(super) fn keep_alive(&self) -> &KeepAlive {
        &self.keep_alive
    }

    /// Closes the keep-alive pipe and waits until nothing of the testbed is left; kills processes
    /// that take too long.
    pub(super) fn lower(&self) -> Result<(), TestbedError> {
        self.keep_alive.cut();
        if self.is_gone_within(TEAR_DOWN_TIMEOUT) {
            return Ok(());
        }
        let killed = locked(&self.outer).kill();
        killed.map_err(|error| TestbedError::process("kill the testbed's process", &error))?;
        if self.is_gone_within(TEAR_DOWN_TIMEOUT) {
            return Ok(());
        }
        Err(TestbedError::protocol(
            "lower the testbed",
            "its process did not end though it was killed",
        ))
    }

    fn order(&self, order: &Order) -> Result<(), TestbedError> {
        let mut keep_alive = locked(&self.keep_alive.0);
        let sent = keep_alive.as_mut().map_or(Ok(()), |pipe| send(pipe, order));
        sent.map_err(|error| {
            TestbedError::protocol("give the order to the testbed's process", error)
        })
    }

    fn is_gone_within(&self, timeout: Duration) -> bool {
        matches!(self.gone.recv_timeout(timeout), Err(RecvTimeoutError::Disconnected))
    }
}

impl Drop for TestbedHandle {
    fn drop(&mut self) {
        // A caller that needs the result calls `lower` first; a second call does nothing.
        drop(self.lower());
    }
}

type Pipes = (Child, ChildStdin, ChildStdout);

fn spawn(command: &mut Command) -> io::Result<Pipes> {
    let mut outer = command.spawn()?;
    let missing = || io::Error::other("a pipe is missing");
    let keep_alive = outer.stdin.take().ok_or_else(missing)?;
    let messages = outer.stdout.take().ok_or_else(missing)?;
    Ok((outer, keep_alive, messages))
}

/// Distributes the testbed's messages until it ends.
fn listen(
    messages: ChildStdout,
    settled: &Sender<Result<Grants, TestbedError>>,
    events: &Sender<ProcessExit>,
) {
    let mut granted = None;
    for line in BufReader::new(messages).lines().map_while(Result::ok) {
        let answer = match (serde_json::from_str(&line), granted) {
            (Ok(Message::Granted { privilege }), _) => {
                granted = Some(privilege);
                continue;
            }
            (Ok(Message::Ended { event }), _) => {
                // The receiver need not listen to events.
                let _ = events.send(event);
                continue;
            }
            (Ok(Message::Ready { own_protocol_work }), Some(privilege)) => {
                Ok(Grants { privilege, own_protocol_work })
            }
            (Ok(Message::Refused { error }), _) => Err(error),
            (Ok(Message::Ready { .. }), None) => {
                Err(TestbedError::protocol("start the testbed", "it was ready too early"))
            }
            (Err(error), _) => {
                Err(TestbedError::protocol("understand the testbed's process", error))
            }
        };
        // The caller waits for the first answer only.
        let _ = settled.send(answer);
    }
}

/// Waits for the end of the outer process, and reports it.
fn await_end(
    outer: &Mutex<Child>,
    settled: &Sender<Result<Grants, TestbedError>>,
    events: &Sender<ProcessExit>,
) {
    let pid = Pid::from_raw(locked(outer).id().cast_signed());
    // Without reaping and without the lock, so that `lower` may kill it meanwhile without hitting
    // an unrelated process.
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
        == Err(nix::Error::EINTR)
    {}
    if let Ok(status) = locked(outer).wait() {
        let event = ProcessExit { who: TestbedProcess::Outer, how: Ending::from(status) };
        // A receiver may still listen to either of these.
        let _ = settled.send(Err(TestbedError::protocol("start the testbed", &event)));
        let _ = events.send(event);
    }
}

/// A panic elsewhere leaves these values whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
