//! The two worker processes of a series, and what they say.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use btu_suite::activity::{Order, Word};
use btu_suite::pipe::End;
use btu_testbed::house::Signals;

/// The longest word: a point with times of single exchanges is some kilobytes.
const LONGEST_WORD_BYTES: u64 = 16 << 20;

/// A look at the interruption is due so often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What an end says.
#[derive(Debug)]
pub(super) enum Said {
    /// A word.
    Word(Word),
    /// Something that is none.
    Nonsense(String),
    /// Nothing more.
    End,
}

/// Both workers; dropping them kills them.
pub(super) struct Ends {
    workers: Vec<(End, Worker)>,
    to: Sender<(End, Said)>,
    words: Receiver<(End, Said)>,
}

struct Worker {
    child: Child,
    orders: ChildStdin,
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
        end: End,
        mut command: Command,
        order: &Order,
        signals: &Signals,
    ) -> anyhow::Result<()> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = signals.start(&mut command).context("starting a worker")?;
        let (orders, words) = child.stdin.take().zip(child.stdout.take()).context("a worker's pipes are missing")?;
        let to = self.to.clone();
        thread::Builder::new().name("words".to_owned()).spawn(move || listen(end, words, &to))?;
        let worker = Worker { child, orders };
        self.workers.push((end, worker));
        self.tell(end, &serde_json::to_string(order)?);
        Ok(())
    }

    /// Both begin, the far end first.
    pub(super) fn go(&mut self) {
        self.tell(End::Far, "go");
        self.tell(End::Near, "go");
    }

    /// Tells an end something; one that is gone is found out when it says nothing more.
    fn tell(&mut self, end: End, line: &str) {
        if let Some((_, worker)) = self.workers.iter_mut().find(|(which, _)| *which == end) {
            writeln!(worker.orders, "{line}").and_then(|()| worker.orders.flush()).ok();
        }
    }

    /// What is said next, within `patience` and as long as nothing `interrupts`.
    pub(super) fn next<E: Into<anyhow::Error>>(
        &self,
        patience: Duration,
        interrupts: impl Fn() -> Option<E>,
    ) -> anyhow::Result<(End, Said)> {
        let until = Instant::now() + patience;
        loop {
            if let Some(error) = interrupts() {
                return Err(error.into());
            }
            match self.words.recv_timeout(LOOK_EVERY) {
                Ok(said) => return Ok(said),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => bail!("neither end has said anything for {} s", patience.as_secs()),
            }
        }
    }

    /// How an end ended, if it has within a moment.
    pub(super) fn epitaph(&mut self, end: End, patience: Duration) -> Option<String> {
        let until = Instant::now() + patience;
        let (_, worker) = self.workers.iter_mut().find(|(which, _)| *which == end)?;
        loop {
            if let Ok(Some(status)) = worker.child.try_wait() {
                return (!status.success()).then(|| status.to_string());
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for both to exit, which they do when they are done.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        for (_, worker) in &mut self.workers {
            worker.child.wait().context("waiting for a worker")?;
        }
        Ok(())
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        for (_, worker) in &mut self.workers {
            // One that is gone already has nothing left to be killed.
            worker.child.kill().ok();
            worker.child.wait().ok();
        }
    }
}

/// Passes on what a worker says, until it says no more.
fn listen(end: End, words: ChildStdout, to: &Sender<(End, Said)>) {
    let mut words = BufReader::new(words);
    loop {
        let mut line = String::new();
        let said = match (&mut words).take(LONGEST_WORD_BYTES).read_line(&mut line) {
            Ok(1..) => serde_json::from_str(&line).map_or_else(|error| Said::Nonsense(error.to_string()), Said::Word),
            _ => Said::End,
        };
        let is_over = !matches!(said, Said::Word(_));
        if to.send((end, said)).is_err() || is_over {
            return;
        }
    }
}
