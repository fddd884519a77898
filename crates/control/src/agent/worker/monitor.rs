//! Watches a worker from its start to its end, whether or not a caller waits for it.

use std::time::Duration;

use btu_contract::activity::Word;
use btu_contract::record::{Failure, Report};
use btu_testbed::note;
use btu_units::Span;
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::super::budget::ProcessClaim;
use super::process::{EXIT_LIMIT, Words, exit_reason};
use super::{Command, WorkerOutput};

/// The time for reading the messages of a worker that has finished already.
const SETTLE_LIMIT: Duration = Duration::from_millis(100);

/// The time at which a silent worker is given up, and the reason.
struct WorkerTimeout {
    due: Instant,
    failure: Failure,
}

/// The deadline of a worker, and its length when it was prepared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) at: Instant,
    pub(super) deadline: Span,
}

pub(super) struct Monitor {
    pub(super) child: Child,
    pub(super) words: Words,
    pub(super) wishes: mpsc::Receiver<Command>,
    pub(super) told: watch::Sender<WorkerOutput>,
    pub(super) claim: ProcessClaim,
}

impl Monitor {
    pub(super) async fn attend(mut self, Due { at, deadline }: Due) {
        let limit = WorkerTimeout {
            due: at,
            failure: Failure::Deadline { deadline_ns: deadline.nanoseconds() },
        };
        let result = self.listen(limit).await;
        // Waiting makes its CPU time count; it only has to exit.
        if timeout(EXIT_LIMIT, self.child.wait()).await.is_err() {
            self.kill().await;
        }
        // A caller that learns of its end may order another one at once.
        drop(self.claim);
        self.told.send_modify(|heard| heard.end(&result));
    }

    async fn listen(&mut self, mut limit: WorkerTimeout) -> Result<Report, Failure> {
        loop {
            tokio::select! {
                biased;
                word = self.words.next() => {
                    if let Some(result) = self.hear(word).await {
                        return result;
                    }
                }
                () = sleep_until(limit.due) => {
                    self.kill().await;
                    return Err(limit.failure);
                }
                command = self.wishes.recv() => {
                    limit = limit_after(command.unwrap_or(Command::Kill), limit);
                    // A timer is rounded up: the worker would have seen the end of its input
                    // meanwhile and died of that.
                    if limit.due <= Instant::now() {
                        self.kill().await;
                        return Err(limit.failure);
                    }
                }
            }
        }
    }

    /// Stores a message; returns the account if it was the last.
    async fn hear(
        &mut self,
        word: Result<Option<(Word, String)>, String>,
    ) -> Option<Result<Report, Failure>> {
        let failed = |message: String| Some(Err(Failure::Failed { message }));
        match word {
            Ok(Some((Word::Done(report), line))) => Some(
                self.keep(line).map(|()| *report).map_err(|message| Failure::Failed { message }),
            ),
            Ok(Some((Word::Failed { message }, _))) => failed(message),
            Ok(Some((Word::Point(_) | Word::Step(_) | Word::Sample(_) | Word::View(_), line))) => {
                let Err(message) = self.keep(line) else { return None };
                self.kill().await;
                failed(message)
            }
            Ok(Some((Word::Ready { .. }, _))) => {
                self.kill().await;
                failed("it sent an unexpected message".to_owned())
            }
            Ok(None) => Some(Err(Failure::Died { status: exit_reason(&mut self.child).await })),
            Err(status) => {
                self.kill().await;
                Some(Err(Failure::Died { status }))
            }
        }
    }

    /// Stores a message if there is room.
    fn keep(&self, line: String) -> Result<(), String> {
        let mut kept = Ok(());
        self.told.send_modify(|heard| kept = heard.keep(line));
        kept
    }

    async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            note!("agent: killing a worker: {error}");
        }
    }
}

fn limit_after(command: Command, limit: WorkerTimeout) -> WorkerTimeout {
    let failed = |limit: Duration, message: &str| WorkerTimeout {
        due: Instant::now() + limit,
        failure: Failure::Failed { message: message.to_owned() },
    };
    match command {
        // A worker past its deadline gets no more time.
        Command::Stopped(_) if limit.due <= Instant::now() => limit,
        Command::Stopped(limit) => {
            failed(limit, &format!("did not stop within {} s", limit.as_secs()))
        }
        Command::Settle => failed(SETTLE_LIMIT, "killed: its controller was not heard any more"),
        Command::Kill => failed(Duration::ZERO, "killed: it was abandoned"),
    }
}

/// The last message for a worker that failed, from itself or from the agent.
pub(super) fn final_message(failure: &Failure) -> String {
    let message = match failure {
        Failure::Deadline { deadline_ns } => {
            format!("not finished after {}", Span::from_nanoseconds(*deadline_ns))
        }
        Failure::Failed { message } => message.clone(),
        Failure::Died { status } => format!("it died: {status}"),
        Failure::NotStarted => "it was not started".to_owned(),
    };
    serde_json::to_string(&Word::Failed { message }).unwrap_or_default()
}

pub(super) fn account(result: &Result<Report, Failure>) -> String {
    // Neither has a map with keys that are not text, the one thing that JSON cannot write.
    serde_json::to_string(result).unwrap_or_default()
}
