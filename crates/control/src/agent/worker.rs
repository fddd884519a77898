//! A worker process, from the agent's side.
//!
//! Until it is ready the agent exchanges messages with it directly. From then on a task monitors
//! it: the task stores the worker's messages, kills it at its deadline or when its [`Worker`] is
//! dropped, and writes its account, even if no caller waits for it.

mod monitor;
mod process;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use btu_contract::activity::Word;
use btu_contract::bounds::BoundedOrder;
use btu_contract::record::{Failure, Report};
use btu_testbed::note;
use btu_units::Span;
use nix::unistd::Pid;
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::budget::{KeptWords, WorkClaim};
use super::internal;
use crate::clock;
use crate::protocol::{MESSAGE_LIMIT_BYTES, Status};
use monitor::{Due, Monitor, account, final_message};
use process::{Process, tell};

/// The time limit of setting up; creating a large disk file is the slowest.
const PREPARE_LIMIT: Span = Span::from_seconds(30);

/// The time for a serving worker to end after its `stop`.
const STOP_LIMIT: Duration = Duration::from_secs(3);

/// The time for a load to end after its `stop`: a busy disk finishes its block first.
pub(super) const LOAD_STOP_LIMIT: Duration = Duration::from_secs(10);

/// A worker that has set up its activity; it is killed when this is dropped.
pub(super) struct Worker {
    orders: ChildStdin,
    kill_handle: KillHandle,
    heard: watch::Receiver<WorkerOutput>,
    is_started: bool,
    process: Option<Pid>,
    /// Where the activity listens, if it does.
    pub(super) endpoint: Option<SocketAddr>,
}

/// A worker's messages since its start.
#[derive(Debug)]
pub(super) struct WorkerOutput {
    /// Words, each as JSON.
    pub(super) words: Vec<String>,
    bytes: usize,
    /// `Result<Report, Failure>` as JSON, when it has ended.
    pub(super) account: Option<String>,
    room: KeptWords,
}

impl WorkerOutput {
    fn new(room: KeptWords) -> Self {
        Self { words: Vec::new(), bytes: 0, account: None, room }
    }

    /// Stores a message if there is room: the limit of one controller's reply, and of all callers
    /// together.
    fn keep(&mut self, line: String) -> Result<(), String> {
        let bytes = self.bytes + line.len();
        if bytes > MESSAGE_LIMIT_BYTES {
            return Err(format!("it reported more than {MESSAGE_LIMIT_BYTES} bytes of points"));
        }
        self.room.keep(line.len())?;
        self.bytes = bytes;
        self.words.push(line);
        Ok(())
    }

    /// It has ended so.
    fn end(&mut self, result: &Result<Report, Failure>) {
        let whole = account(result);
        // Once here and once in the account of its cell.
        let kept = self.room.keep(2 * whole.len()).map_err(|message| Failure::Failed { message });
        if let Err(failure) = result.as_ref().map(|_| ()).map_err(Clone::clone).and(kept.clone()) {
            self.words.push(final_message(&failure));
        }
        self.account = Some(kept.map_or_else(|failure| account(&Err(failure)), |()| whole));
    }
}

/// Ends a worker from afar.
#[derive(Debug, Clone)]
pub(super) struct KillHandle(mpsc::Sender<Command>);

#[derive(Debug, Clone, Copy)]
enum Command {
    /// It gets a `stop`, and this time to end.
    Stopped(Duration),
    /// A finished account counts; else it is killed.
    Settle,
    Kill,
}

impl KillHandle {
    /// Kills it, unless it has finished; its account then says that the controller was lost.
    pub(super) fn settle(&self) {
        self.command(Command::Settle);
    }

    /// Kills the worker.
    pub(super) fn kill(&self) {
        self.command(Command::Kill);
    }

    fn command(&self, command: Command) {
        // A full queue means that it is ending already, a closed one that it has ended.
        let _ = self.0.try_send(command);
    }
}

impl Worker {
    /// Makes the process, sends its order and waits until it is ready. Its deadline begins here, so
    /// that one that is never started ends, too.
    pub(super) async fn prepare(
        executable: &Path,
        bounded: &BoundedOrder,
        claim: WorkClaim,
    ) -> Result<Self, Status> {
        let (deadline, began) = (bounded.order.deadline, Instant::now());
        let order_json = serde_json::to_string(bounded).map_err(internal("writing the order"))?;
        let mut process = Process::spawn(executable).map_err(|error| {
            Status::internal(format!("starting a worker ({}): {error}", executable.display()))
        })?;
        let kind = bounded.order.activity.kind();
        let limit = PREPARE_LIMIT.min(deadline);
        match timeout(limit.into(), process.exchange(&order_json)).await {
            Ok(Ok(Word::Ready { endpoint })) => {
                let due = Due { at: began + Duration::from(deadline), deadline };
                Ok(Self::new(process, due, claim, endpoint))
            }
            Ok(Ok(Word::Failed { message })) => Err(Status::internal(message)),
            Ok(Ok(
                Word::Point(_) | Word::Step(_) | Word::Sample(_) | Word::View(_) | Word::Done(_),
            )) => Err(Status::internal("the worker was done before it began")),
            Ok(Err(trouble)) => Err(Status::internal(format!("preparing {kind}: {trouble}"))),
            Err(_) => Err(Status::internal(format!("preparing {kind}: not ready after {limit}"))),
        }
    }

    fn new(process: Process, due: Due, claim: WorkClaim, endpoint: Option<SocketAddr>) -> Self {
        let Process { child, orders, words } = process;
        let process = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let (kill_handle, wishes) = mpsc::channel(4);
        let (told, heard) = watch::channel(WorkerOutput::new(claim.words));
        tokio::spawn(Monitor { child, words, wishes, told, claim: claim.process }.attend(due));
        Self {
            orders,
            kill_handle: KillHandle(kill_handle),
            heard,
            is_started: false,
            process,
            endpoint,
        }
    }

    /// Sends `go`, once. The agent detects a worker that is already gone when it fetches its
    /// account.
    pub(super) async fn start(&mut self) {
        if !self.is_started {
            self.go().await;
        }
    }

    /// Sends `go`, to a worker that measures in turns again for each turn.
    pub(super) async fn go(&mut self) {
        self.is_started = true;
        if let Err(error) = tell(&mut self.orders, "go").await {
            note!("agent: starting a worker: {error}");
        }
    }

    /// Its CPU time since it was made; `None` once it has ended.
    pub(super) fn cpu(&self) -> Option<Span> {
        let has_ended = self.heard.borrow().account.is_some();
        self.process.filter(|_| !has_ended).and_then(|process| clock::cpu_of(process).ok())
    }

    /// Asks it to end in order; it is killed if it does not.
    pub(super) async fn ask_to_stop(&mut self, limit: Duration) {
        // A failure to send means that it is gone, which its monitor detects.
        let _ = tell(&mut self.orders, "stop").await;
        self.kill_handle.command(Command::Stopped(limit));
    }

    /// The account of a worker that ends by itself, as JSON; it is killed at its deadline.
    pub(super) async fn finish(&mut self) -> String {
        if !self.is_started {
            // It sends no messages.
            self.kill_handle.kill();
        }
        let ended = self.heard.wait_for(|heard| heard.account.is_some()).await;
        ended.ok().and_then(|heard| heard.account.clone()).unwrap_or_else(|| {
            account(&Err(Failure::Died { status: "its agent lost sight of it".to_owned() }))
        })
    }

    /// The account of a serving worker, which gets a `stop`.
    pub(super) async fn stop(&mut self) -> String {
        self.ask_to_stop(STOP_LIMIT).await;
        self.finish().await
    }

    pub(super) fn kill_handle(&self) -> KillHandle {
        self.kill_handle.clone()
    }

    pub(super) fn heard(&self) -> watch::Receiver<WorkerOutput> {
        self.heard.clone()
    }
}
