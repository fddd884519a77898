//! One worker process as its agent sees it.
//!
//! Until the start the agent speaks with it directly. From then on a task attends it: keeps its words, kills it at its
//! deadline or when nobody holds its [`Worker`] any more, and writes its account, whether somebody waits for it or not.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use btu_suite::activity::{Order, Word};
use btu_suite::record::{Failure, Report};
use btu_units::{Bytes, Span};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tonic::Status;

use crate::protocol::MESSAGE_LIMIT_BYTES;

/// How long setting up may take; creating a large disk file is the slowest.
const PREPARE_LIMIT: Duration = Duration::from_secs(30);

/// How long a serving worker may take to end after it was told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(3);

/// How long a worker that has said its last word may take to exit.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// How long the words of a worker that has finished already may take to be read.
const SETTLE_LIMIT: Duration = Duration::from_millis(100);

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

async fn tell(orders: &mut ChildStdin, line: &str) -> std::io::Result<()> {
    orders.write_all(format!("{line}\n").as_bytes()).await?;
    orders.flush().await
}

/// A child process with its pipes.
struct Process {
    child: Child,
    orders: ChildStdin,
    words: Words,
}

impl Process {
    fn spawn(executable: &Path, most: Option<Bytes>) -> std::io::Result<Self> {
        let limit = most.map(|most| format!("--file-bytes={}", most.count()));
        let mut child = Command::new(executable)
            .args(["internal", "worker"])
            .args(limit)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || std::io::Error::other("the worker's pipes are missing");
        let orders = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        Ok(Self { child, orders, words: Words { output: BufReader::new(output), line: Vec::new() } })
    }

    async fn exchange(&mut self, order_json: &str) -> Result<Word, String> {
        // An order is one line; JSON strings never hold a raw line break, but a foreign formatter may add some.
        tell(&mut self.orders, &order_json.replace('\n', " ")).await.map_err(|error| error.to_string())?;
        match self.words.next().await? {
            Some((word, _)) => Ok(word),
            None => Err(epitaph(&mut self.child).await),
        }
    }
}

/// What a worker says, line by line.
struct Words {
    output: BufReader<ChildStdout>,
    /// What of the next line has been read already.
    line: Vec<u8>,
}

impl Words {
    /// The next word, parsed and as it was said; nothing at the end. Can be given up and called again.
    async fn next(&mut self) -> Result<Option<(Word, String)>, String> {
        let room = (MESSAGE_LIMIT_BYTES - self.line.len()) as u64;
        let mut limited = (&mut self.output).take(room);
        limited.read_until(b'\n', &mut self.line).await.map_err(|error| format!("reading its words: {error}"))?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap_or_default();
        let word = serde_json::from_str(&line).map_err(|error| format!("it said something unknown: {error}"))?;
        Ok(Some((word, line.trim_end().to_owned())))
    }
}

/// When a worker that says nothing is given up, and what for.
struct Patience {
    due: Instant,
    failure: Failure,
}

struct Attendant {
    child: Child,
    words: Words,
    wishes: mpsc::Receiver<Wish>,
    told: watch::Sender<Heard>,
}

impl Attendant {
    async fn attend(mut self, due: Instant, deadline: Span) {
        let patience = Patience { due, failure: Failure::Deadline { deadline_ns: deadline.nanoseconds() } };
        let result = self.listen(patience).await;
        // Waiting makes its CPU time count; it has nothing left to do but exit.
        if timeout(EXIT_LIMIT, self.child.wait()).await.is_err() {
            self.kill().await;
        }
        self.told.send_modify(|heard| {
            if let Err(failure) = &result {
                heard.words.push(farewell(failure));
            }
            heard.account = Some(account(&result));
        });
    }

    async fn listen(&mut self, mut patience: Patience) -> Result<Report, Failure> {
        loop {
            tokio::select! {
                biased;
                word = self.words.next() => {
                    if let Some(result) = self.hear(word).await {
                        return result;
                    }
                }
                () = sleep_until(patience.due) => {
                    self.kill().await;
                    return Err(patience.failure);
                }
                wish = self.wishes.recv() => patience = patience_after(wish.unwrap_or(Wish::Kill), patience),
            }
        }
    }

    /// Keeps a word; the account if it was the last.
    async fn hear(&mut self, word: Result<Option<(Word, String)>, String>) -> Option<Result<Report, Failure>> {
        let failed = |message: String| Some(Err(Failure::Failed { message }));
        match word {
            Ok(Some((Word::Done(report), line))) => {
                self.keep(line);
                Some(Ok(*report))
            }
            Ok(Some((Word::Failed { message }, _))) => failed(message),
            Ok(Some((Word::Point(_) | Word::Step(_), line))) => {
                if self.keep(line) {
                    return None;
                }
                self.kill().await;
                failed(format!("it told more than {MESSAGE_LIMIT_BYTES} bytes of points"))
            }
            Ok(Some((Word::Ready { .. }, _))) => {
                self.kill().await;
                failed("it said a word that was not due".to_owned())
            }
            Ok(None) => Some(Err(Failure::Died { status: epitaph(&mut self.child).await })),
            Err(status) => {
                self.kill().await;
                Some(Err(Failure::Died { status }))
            }
        }
    }

    /// Whether there was room.
    fn keep(&self, line: String) -> bool {
        let bytes = self.told.borrow().bytes + line.len();
        let room = bytes <= MESSAGE_LIMIT_BYTES;
        if room {
            self.told.send_modify(|heard| {
                heard.bytes = bytes;
                heard.words.push(line);
            });
        }
        room
    }

    async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            eprintln!("agent: killing a worker: {error}");
        }
    }
}

fn patience_after(wish: Wish, patience: Patience) -> Patience {
    let failed = |limit: Duration, message: &str| Patience {
        due: Instant::now() + limit,
        failure: Failure::Failed { message: message.to_owned() },
    };
    match wish {
        // One whose deadline has passed is not given more.
        Wish::Stopped if patience.due <= Instant::now() => patience,
        Wish::Stopped => failed(STOP_LIMIT, &format!("did not stop within {} s", STOP_LIMIT.as_secs())),
        Wish::Settle => failed(SETTLE_LIMIT, "killed: its controller was not heard any more"),
        Wish::Kill => failed(Duration::ZERO, "killed: it was abandoned"),
    }
}

async fn epitaph(child: &mut Child) -> String {
    match timeout(EXIT_LIMIT, child.wait()).await {
        Ok(Ok(status)) => describe(status),
        Ok(Err(error)) => format!("its end could not be seen: {error}"),
        Err(_) => "it closed its output and went on".to_owned(),
    }
}

/// The last word in the name of a worker that failed, whether it said so itself or not.
fn farewell(failure: &Failure) -> String {
    let message = match failure {
        Failure::Deadline { deadline_ns } => format!("not finished after {}", Span::from_nanoseconds(*deadline_ns)),
        Failure::Failed { message } => message.clone(),
        Failure::Died { status } => format!("it died: {status}"),
    };
    serde_json::to_string(&Word::Failed { message }).unwrap_or_default()
}

fn account(result: &Result<Report, Failure>) -> String {
    // Neither has a map with keys that are not text, the one thing that JSON cannot write.
    serde_json::to_string(result).unwrap_or_default()
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ => status.to_string(),
    }
}
