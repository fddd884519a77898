//! One worker process as its agent sees it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use btu_suite::activity::{Order, Word};
use btu_suite::record::{Failure, Report};
use btu_units::Span;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};
use tonic::Status;

use crate::protocol::MESSAGE_LIMIT_BYTES;

/// How long setting up may take; creating a large disk file is the slowest.
const PREPARE_LIMIT: Duration = Duration::from_secs(30);

/// How long a serving worker may take to end after it was told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(3);

/// How long a worker that has said its last word may take to exit.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// A worker that has set up its activity.
pub(super) struct Worker {
    child: Child,
    orders: ChildStdin,
    words: BufReader<ChildStdout>,
    deadline: Span,
    due: Option<Instant>,
    /// Where the activity listens, if it does.
    pub(super) endpoint: Option<SocketAddr>,
}

impl Worker {
    /// Makes the process, gives it its order and waits until it is ready.
    pub(super) async fn prepare(executable: &Path, order_json: &str) -> Result<Self, Status> {
        let order: Order = serde_json::from_str(order_json)
            .map_err(|error| Status::invalid_argument(format!("reading the order: {error}")))?;
        let mut worker = Self::spawn(executable, order.deadline)
            .map_err(|error| Status::internal(format!("starting a worker ({}): {error}", executable.display())))?;
        match timeout(PREPARE_LIMIT, worker.exchange(order_json)).await {
            Ok(Ok(Word::Ready { endpoint })) => Ok(Self { endpoint, ..worker }),
            Ok(Ok(Word::Failed { message })) => Err(Status::aborted(message)),
            Ok(Ok(Word::Point(_) | Word::Step(_) | Word::Done(_))) => {
                Err(Status::internal("the worker was done before it began"))
            }
            Ok(Err(trouble)) => Err(Status::internal(format!("preparing {}: {trouble}", order.activity.kind()))),
            Err(_) => Err(Status::deadline_exceeded(format!(
                "preparing {}: not ready after {} s",
                order.activity.kind(),
                PREPARE_LIMIT.as_secs()
            ))),
        }
    }

    fn spawn(executable: &Path, deadline: Span) -> std::io::Result<Self> {
        let mut child = Command::new(executable)
            .args(["internal", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || std::io::Error::other("the worker's pipes are missing");
        let orders = child.stdin.take().ok_or_else(missing)?;
        let words = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Self { child, orders, words, deadline, due: None, endpoint: None })
    }

    async fn exchange(&mut self, order_json: &str) -> Result<Word, String> {
        // An order is one line; JSON strings never hold a raw line break, but a foreign formatter may add some.
        self.tell(&order_json.replace('\n', " ")).await.map_err(|error| error.to_string())?;
        self.hear().await
    }

    async fn tell(&mut self, line: &str) -> std::io::Result<()> {
        self.orders.write_all(format!("{line}\n").as_bytes()).await?;
        self.orders.flush().await
    }

    /// The worker's next word; an error tells how it ended instead.
    async fn hear(&mut self) -> Result<Word, String> {
        let mut line = String::new();
        let mut limited = (&mut self.words).take(MESSAGE_LIMIT_BYTES as u64);
        let read = limited.read_line(&mut line).await.map_err(|error| format!("reading its words: {error}"))?;
        if read == 0 {
            return Err(self.epitaph().await);
        }
        serde_json::from_str(&line).map_err(|error| format!("it said something unknown: {error}"))
    }

    async fn epitaph(&mut self) -> String {
        match timeout(EXIT_LIMIT, self.child.wait()).await {
            Ok(Ok(status)) => describe(status),
            Ok(Err(error)) => format!("its end could not be seen: {error}"),
            Err(_) => "it closed its output and went on".to_owned(),
        }
    }

    /// Says `go`. A worker that is already gone is found out when its account is fetched.
    pub(super) async fn start(&mut self) {
        self.due = Some(Instant::now() + Duration::from(self.deadline));
        if let Err(error) = self.tell("go").await {
            eprintln!("agent: starting a worker: {error}");
        }
    }

    /// The account of a worker that ends by itself; it is killed at its deadline.
    pub(super) async fn finish(&mut self) -> Result<Report, Failure> {
        let due = self.due.unwrap_or_else(Instant::now);
        if let Ok(word) = timeout_at(due, self.hear()).await {
            return self.last_word(word).await;
        }
        self.kill().await;
        Err(Failure::Deadline { deadline_ns: self.deadline.nanoseconds() })
    }

    /// The account of a serving worker, which is told to stop.
    pub(super) async fn stop(&mut self) -> Result<Report, Failure> {
        if let Err(error) = self.tell("stop").await {
            return Err(Failure::Died { status: format!("{} ({error})", self.epitaph().await) });
        }
        if let Ok(word) = timeout(STOP_LIMIT, self.hear()).await {
            return self.last_word(word).await;
        }
        self.kill().await;
        Err(Failure::Failed { message: format!("did not stop within {} s", STOP_LIMIT.as_secs()) })
    }

    async fn last_word(&mut self, word: Result<Word, String>) -> Result<Report, Failure> {
        let result = match word {
            Ok(Word::Done(report)) => Ok(*report),
            Ok(Word::Failed { message }) => Err(Failure::Failed { message }),
            Ok(Word::Ready { .. } | Word::Point(_) | Word::Step(_)) => {
                Err(Failure::Failed { message: "it said a word that was not due".to_owned() })
            }
            Err(status) => Err(Failure::Died { status }),
        };
        // Waiting makes its CPU time count; it has nothing left to do but exit.
        if timeout(EXIT_LIMIT, self.child.wait()).await.is_err() {
            self.kill().await;
        }
        result
    }

    async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            eprintln!("agent: killing a worker: {error}");
        }
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ => status.to_string(),
    }
}
