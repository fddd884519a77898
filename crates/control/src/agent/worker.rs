//! One worker process as its agent sees it.
//!
//! Until the start the agent speaks with it directly. From then on a task attends it: keeps its words, kills it at its
//! deadline or when nobody holds its [`Worker`] any more, and writes its account, whether somebody waits for it or not.

mod attendant;
mod process;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use btu_suite::activity::{Order, Word};
use btu_suite::record::Failure;
use btu_units::{Bytes, Span};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tonic::Status;

use attendant::{Attendant, account};
use process::{Process, tell};

/// How long setting up may take; creating a large disk file is the slowest.
const PREPARE_LIMIT: Duration = Duration::from_secs(30);

/// How long a serving worker may take to end after it was told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(3);

/// A worker that has set up its activity; it is killed when this is dropped.
pub(super) struct Worker {
    orders: ChildStdin,
    rein: Rein,
    heard: watch::Receiver<Heard>,
    /// What attends it from the start on.
    attendant: Option<Attendant>,
    deadline: Span,
    /// Where the activity listens, if it does.
    pub(super) endpoint: Option<SocketAddr>,
}

/// What a worker has said since its start.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Words, each as JSON.
    pub(super) words: Vec<String>,
    bytes: usize,
    /// `Result<Report, Failure>` as JSON, when it has ended.
    pub(super) account: Option<String>,
}

/// Ends a worker from afar.
#[derive(Debug, Clone)]
pub(super) struct Rein(mpsc::Sender<Wish>);

#[derive(Debug, Clone, Copy)]
enum Wish {
    /// It was told to stop.
    Stopped,
    /// What it has finished counts; else it is killed.
    Settle,
    Kill,
}

impl Rein {
    /// Kills it, unless it has finished; its account then says that its controller was not heard any more.
    pub(super) fn settle(&self) {
        self.wish(Wish::Settle);
    }

    /// Kills it.
    pub(super) fn kill(&self) {
        self.wish(Wish::Kill);
    }

    fn wish(&self, wish: Wish) {
        // A full queue means that its end is under way already, a closed one that it has ended.
        self.0.try_send(wish).ok();
    }
}

impl Worker {
    /// Makes the process, gives it its order and waits until it is ready. None of its files may be longer than `most`.
    pub(super) async fn prepare(
        executable: &Path,
        most: Option<Bytes>,
        order: &Order,
        order_json: &str,
    ) -> Result<Self, Status> {
        let mut process = Process::spawn(executable, most)
            .map_err(|error| Status::internal(format!("starting a worker ({}): {error}", executable.display())))?;
        let kind = order.activity.kind();
        match timeout(PREPARE_LIMIT, process.exchange(order_json)).await {
            Ok(Ok(Word::Ready { endpoint })) => Ok(Self::new(process, order.deadline, endpoint)),
            Ok(Ok(Word::Failed { message })) => Err(Status::aborted(message)),
            Ok(Ok(Word::Point(_) | Word::Step(_) | Word::Done(_))) => {
                Err(Status::internal("the worker was done before it began"))
            }
            Ok(Err(trouble)) => Err(Status::internal(format!("preparing {kind}: {trouble}"))),
            Err(_) => Err(Status::deadline_exceeded(format!(
                "preparing {kind}: not ready after {} s",
                PREPARE_LIMIT.as_secs()
            ))),
        }
    }

    fn new(process: Process, deadline: Span, endpoint: Option<SocketAddr>) -> Self {
        let Process { child, orders, words } = process;
        let (rein, wishes) = mpsc::channel(4);
        let (told, heard) = watch::channel(Heard::default());
        let attendant = Some(Attendant { child, words, wishes, told });
        Self { orders, rein: Rein(rein), heard, attendant, deadline, endpoint }
    }

    /// Says `go`, once. A worker that is already gone is found out when its account is fetched.
    pub(super) async fn start(&mut self) {
        if self.attendant.is_none() {
            return;
        }
        let due = Instant::now() + Duration::from(self.deadline);
        if let Err(error) = tell(&mut self.orders, "go").await {
            eprintln!("agent: starting a worker: {error}");
        }
        self.attend(due);
    }

    fn attend(&mut self, due: Instant) {
        if let Some(attendant) = self.attendant.take() {
            tokio::spawn(attendant.attend(due, self.deadline));
        }
    }

    /// The account of a worker that ends by itself, as JSON; it is killed at its deadline.
    pub(super) async fn finish(&mut self) -> String {
        // One that was never started has nothing to say.
        self.attend(Instant::now());
        let ended = self.heard.wait_for(|heard| heard.account.is_some()).await;
        ended
            .ok()
            .and_then(|heard| heard.account.clone())
            .unwrap_or_else(|| account(&Err(Failure::Died { status: "its agent lost sight of it".to_owned() })))
    }

    /// The account of a serving worker, which is told to stop.
    pub(super) async fn stop(&mut self) -> String {
        // One that cannot be told is gone, and its attendant sees that.
        tell(&mut self.orders, "stop").await.ok();
        self.attend(Instant::now() + STOP_LIMIT);
        self.rein.wish(Wish::Stopped);
        self.finish().await
    }

    pub(super) fn rein(&self) -> Rein {
        self.rein.clone()
    }

    pub(super) fn heard(&self) -> watch::Receiver<Heard> {
        self.heard.clone()
    }
}
