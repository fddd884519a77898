//! The workers of a run, and their messages.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::bail;
use btu_control::coordinator::{CoordinatorError, PreparedWorker, WorkerHost};
use btu_suite::activity::{Order, Word};
use btu_suite::pipe::End;
use btu_units::Span;

/// The interval of checks for an interruption.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The time for a worker to end after its last message.
const EXIT_LIMIT: Duration = Duration::from_secs(5);

/// The identity of a worker: its end and its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerId {
    /// An end of the pipe with this number.
    End(usize, End),
    /// The load on the machine.
    Load,
    /// A worker serves the load.
    Server,
}

impl WorkerId {
    /// Whether it is at the far end's place.
    pub(super) fn is_far(self) -> bool {
        matches!(self, Self::End(_, End::Far) | Self::Server)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::End(_, End::Near) => "the near end",
            Self::End(_, End::Far) => "the far end",
            Self::Load => "the load",
            Self::Server => "the load's server",
        })
    }
}

/// A message of a worker.
#[derive(Debug)]
pub(super) enum WorkerEvent {
    /// A worker sent a message.
    Word(Word),
    /// No messages arrive any more: its agent is lost.
    Lost(CoordinatorError),
    /// The end of its messages: it has ended.
    End,
}

/// The workers; dropping them kills those that are left.
pub(super) struct Workers {
    active: Vec<Worker>,
    to: Sender<(WorkerId, WorkerEvent)>,
    words: Receiver<(WorkerId, WorkerEvent)>,
}

struct Worker {
    who: WorkerId,
    host: Arc<WorkerHost>,
    step: u32,
    is_started: bool,
}

impl Workers {
    /// Starts without workers.
    pub(super) fn new() -> Self {
        let (to, words) = channel();
        Self { active: Vec::new(), to, words }
    }

    /// Makes a worker that waits for its start; returns its address, if it listens.
    pub(super) fn prepare(
        &mut self,
        who: WorkerId,
        host: Arc<WorkerHost>,
        order: &Order,
    ) -> Result<Option<SocketAddr>, CoordinatorError> {
        let PreparedWorker { step, endpoint } = host.prepare(order)?;
        self.active.push(Worker { who, host, step, is_started: false });
        Ok(endpoint)
    }

    /// Starts a worker, or gives it its next turn. A failure to reach the worker appears as its
    /// next message.
    pub(super) fn go(&mut self, who: WorkerId) {
        let Some(worker) = self.active.iter_mut().find(|worker| worker.who == who) else { return };
        let told = if std::mem::replace(&mut worker.is_started, true) {
            worker.host.go_on(worker.step)
        } else {
            let to = self.to.clone();
            worker.host.start(worker.step, move |word| to.send((who, said(word))).is_ok())
        };
        self.note(who, told);
    }

    /// Asks a worker to end in order.
    pub(super) fn stop(&mut self, who: WorkerId) {
        let told = self.worker(who).map_or(Ok(()), |worker| worker.host.stop(worker.step));
        self.note(who, told);
    }

    /// CPU time of a worker so far; `None` if it is not known.
    pub(super) fn cpu(&self, who: WorkerId) -> Option<Span> {
        let worker = self.worker(who)?;
        worker.host.cpu(worker.step).ok().flatten()
    }

    fn worker(&self, who: WorkerId) -> Option<&Worker> {
        self.active.iter().find(|worker| worker.who == who)
    }

    fn note(&self, who: WorkerId, told: Result<(), CoordinatorError>) {
        if let Err(error) = told {
            // This struct holds the other end of the channel, too.
            let _ = self.to.send((who, WorkerEvent::Lost(error)));
        }
    }

    /// The next message, within `timeout` and unless `interrupts` returns an error.
    pub(super) fn next<E: Into<anyhow::Error>>(
        &self,
        timeout: Duration,
        interrupts: impl Fn() -> Option<E>,
    ) -> anyhow::Result<(WorkerId, WorkerEvent)> {
        let until = Instant::now() + timeout;
        loop {
            if let Some(error) = interrupts() {
                return Err(error.into());
            }
            match self.words.recv_timeout(LOOK_EVERY) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => bail!("no worker has sent a message for {} s", timeout.as_secs()),
            }
        }
    }

    /// A message that has arrived already, if any.
    pub(super) fn already_said(&self) -> Option<(WorkerId, WorkerEvent)> {
        self.words.try_recv().ok()
    }

    /// A message that arrives before this moment, if any.
    pub(super) fn said_until(&self, moment: Instant) -> Option<(WorkerId, WorkerEvent)> {
        self.words.recv_timeout(moment.saturating_duration_since(Instant::now())).ok()
    }

    /// Waits until every started worker has ended, so that it does not disturb the next; `gone` are
    /// those with a known end.
    pub(super) fn finish(mut self, gone: &[WorkerId]) -> anyhow::Result<()> {
        let started =
            self.active.iter().filter(|worker| worker.is_started).map(|worker| worker.who);
        let mut left: Vec<WorkerId> = started.filter(|who| !gone.contains(who)).collect();
        while !left.is_empty() {
            match self.next(EXIT_LIMIT, || None::<CoordinatorError>)? {
                (who, WorkerEvent::End) => left.retain(|one| *one != who),
                (_, WorkerEvent::Lost(error)) => return Err(error.into()),
                (_, WorkerEvent::Word(_)) => {}
            }
        }
        self.active.clear();
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &self.active {
            // If the request fails, its agent is gone, and so is the worker.
            let _ = worker.host.kill(worker.step);
        }
    }
}

/// A message about a worker.
fn said(word: Result<Option<Word>, CoordinatorError>) -> WorkerEvent {
    match word {
        Ok(Some(word)) => WorkerEvent::Word(word),
        Ok(None) => WorkerEvent::End,
        Err(error) => WorkerEvent::Lost(error),
    }
}
