//! The worker processes of a run, and what they say.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use btu_control::coordinator::CoordinatorError;
use btu_suite::activity::{Order, Word};
use btu_suite::pipe::End;
use btu_testbed::house::Signals;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::elsewhere::There;

/// The longest word: a point with times of single exchanges is some kilobytes.
const LONGEST_WORD_BYTES: u64 = 16 << 20;

/// A look at the interruption is due so often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a worker may take to end when it is asked to. Who stands for it in a station then collects it; when that one is killed
/// instead, the worker is left to the machine's first process, which may take seconds, and its network cannot go down before.
const IN_ORDER: Duration = Duration::from_millis(100);

/// The word that starts a worker, and each of its turns.
pub(super) const GO: &str = "go";

/// Which worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// An end of the pipe with this number.
    End(usize, End),
    /// What the machine does besides.
    Load,
    /// Who serves the load.
    Server,
}

impl Who {
    /// Whether it is where the far end is.
    pub(super) fn is_far(self) -> bool {
        matches!(self, Self::End(_, End::Far) | Self::Server)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::End(_, End::Near) => "the near end",
            Self::End(_, End::Far) => "the far end",
            Self::Load => "the load",
            Self::Server => "the load's server",
        })
    }
}

/// What a worker says.
#[derive(Debug)]
pub(super) enum Said {
    /// A word.
    Word(Word),
    /// Something that is none.
    Nonsense(String),
    /// Nothing can be heard of it any more: its host is lost.
    Lost(CoordinatorError),
    /// Nothing more.
    End,
}

/// The workers; dropping them ends them.
pub(super) struct Ends {
    workers: Vec<(Who, Worker)>,
    to: Sender<(Who, Said)>,
    words: Receiver<(Who, Said)>,
}

/// Where a worker is.
enum Worker {
    Here {
        child: Child,
        orders: ChildStdin,
    },
    /// Its agent sees to it.
    There(There),
}

impl Worker {
    fn child(&mut self) -> Option<&mut Child> {
        match self {
            Self::Here { child, .. } => Some(child),
            Self::There(_) => None,
        }
    }
}

impl Ends {
    /// None yet.
    pub(super) fn new() -> Self {
        let (to, words) = channel();
        Self { workers: Vec::new(), to, words }
    }

    /// Starts a worker and gives it its order. It is killed when the calling thread ends.
    pub(super) fn start(
        &mut self,
        who: Who,
        mut command: Command,
        order: &Order,
        signals: &Signals,
    ) -> anyhow::Result<()> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = signals.start(&mut command).context("starting a worker")?;
        let (orders, words) = child.stdin.take().zip(child.stdout.take()).context("a worker's pipes are missing")?;
        let to = self.to.clone();
        thread::Builder::new().name("words".to_owned()).spawn(move || listen(who, words, &to))?;
        self.workers.push((who, Worker::Here { child, orders }));
        self.tell(who, &serde_json::to_string(order)?);
        Ok(())
    }

    /// Takes in a worker that waits on another machine; where it listens, if it does.
    pub(super) fn adopt(&mut self, who: Who, worker: There) -> Option<SocketAddr> {
        let endpoint = worker.endpoint;
        self.workers.push((who, Worker::There(worker)));
        endpoint
    }

    /// Tells a worker something; one that is gone is found out when it says nothing more. One on another machine can only be
    /// told to start: it ends by itself, or with its reservation.
    pub(super) fn tell(&mut self, who: Who, line: &str) {
        match self.workers.iter_mut().find(|(which, _)| *which == who) {
            Some((_, Worker::Here { orders, .. })) => {
                writeln!(orders, "{line}").and_then(|()| orders.flush()).ok();
            }
            Some((_, Worker::There(worker))) if line == GO => {
                let to = self.to.clone();
                let hear = move |word| to.send((who, said(word))).is_ok();
                if let Err(error) = worker.counterpart.start(worker.step, hear) {
                    self.to.send((who, Said::Lost(error))).ok();
                }
            }
            Some((_, Worker::There(_))) | None => {}
        }
    }

    /// What is said next, within `patience` and as long as nothing `interrupts`.
    pub(super) fn next<E: Into<anyhow::Error>>(
        &self,
        patience: Duration,
        interrupts: impl Fn() -> Option<E>,
    ) -> anyhow::Result<(Who, Said)> {
        let until = Instant::now() + patience;
        loop {
            if let Some(error) = interrupts() {
                return Err(error.into());
            }
            match self.words.recv_timeout(LOOK_EVERY) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => bail!("nobody has said anything for {} s", patience.as_secs()),
            }
        }
    }

    /// What has been said already, if anything.
    pub(super) fn already_said(&self) -> Option<(Who, Said)> {
        self.words.try_recv().ok()
    }

    /// What went wrong on another machine, if that is told within `patience`.
    pub(super) fn trouble_elsewhere(&self, patience: Duration) -> Option<(Who, Said)> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (who, said) = self.words.recv_timeout(left).ok()?;
            if who.is_far() && matches!(said, Said::Word(Word::Failed { .. }) | Said::Lost(_)) {
                return Some((who, said));
            }
        }
    }

    /// Who was killed or failed, and how, if somebody has within `patience`.
    pub(super) fn epitaph(&mut self, patience: Duration) -> Option<(Who, ExitStatus)> {
        let until = Instant::now() + patience;
        loop {
            let ended =
                self.workers.iter_mut().filter_map(|(who, worker)| Some((*who, worker.child()?.try_wait().ok()??)));
            // Who was killed comes before who only found that the other is gone.
            let worst = ended.filter(|(_, status)| !status.success()).max_by_key(|(_, status)| was_killed(*status));
            if worst.is_some_and(|(_, status)| was_killed(status)) || Instant::now() >= until {
                return worst;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for all to exit, which they do when they are done.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        for child in self.workers.iter_mut().filter_map(|(_, worker)| worker.child()) {
            child.wait().context("waiting for a worker")?;
        }
        Ok(())
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let mut left: Vec<&mut Child> = self.workers.iter_mut().filter_map(|(_, worker)| worker.child()).collect();
        // Only one that has not been waited for still has its number.
        left.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        for child in &left {
            kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).ok();
        }
        let until = Instant::now() + IN_ORDER;
        while !left.is_empty() && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
            left.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        }
        for child in left {
            // One that is gone already has nothing left to be killed.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// What was heard of another machine.
fn said(word: Result<Option<Word>, CoordinatorError>) -> Said {
    match word {
        Ok(Some(word)) => Said::Word(word),
        Ok(None) => Said::End,
        Err(error) => Said::Lost(error),
    }
}

/// Whether a signal ended it. Who stands for a command in a station ends as the command does.
pub(super) fn was_killed(status: ExitStatus) -> bool {
    status.signal().is_some()
}

/// Passes on what a worker says, until it says no more.
fn listen(who: Who, words: ChildStdout, to: &Sender<(Who, Said)>) {
    let mut words = BufReader::new(words);
    loop {
        let mut line = String::new();
        let said = match (&mut words).take(LONGEST_WORD_BYTES).read_line(&mut line) {
            Ok(1..) => serde_json::from_str(&line).map_or_else(|error| Said::Nonsense(error.to_string()), Said::Word),
            _ => Said::End,
        };
        let is_over = !matches!(said, Said::Word(_));
        if to.send((who, said)).is_err() || is_over {
            return;
        }
    }
}
