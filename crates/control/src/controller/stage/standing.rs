//! Workers that stay from one cell to the next: they are started one by one, take turns, and send
//! messages while they work.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use btu_contract::activity::{Order, Word};
use btu_contract::network::HostName;
use btu_contract::pipe::End;
use btu_contract::record::WireAccount;
use btu_testbed::wire::WireClient;
use btu_units::Span;
use futures_util::stream::{self, BoxStream, SelectAll};
use futures_util::{FutureExt, StreamExt};
use tokio::time::timeout;

use super::super::client::AgentLink;
use super::super::error::ControllerError;
use super::{Ground, Stage};
use crate::protocol::WorkerCommand;

/// The time for a worker to end after its last message.
const EXIT_LIMIT: Duration = Duration::from_secs(5);

/// The identity of a worker: its end and its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerId {
    /// An end of the pipe with this number.
    End(usize, End),
    /// The load on the machine.
    Load,
    /// A worker serves the load.
    Server,
}

impl WorkerId {
    /// Whether it is at the far end's place.
    pub(crate) fn is_far(self) -> bool {
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

/// A message of a worker, or `None` when it has ended; an error if its agent is lost.
pub(crate) type WorkerEvent = (WorkerId, Result<Option<Word>, ControllerError>);

/// The same of the worker with this step.
type StepEvent = (u32, Result<Option<Word>, ControllerError>);

/// The workers of one cell, to which more may be added.
pub(crate) struct Standing {
    cell: u64,
    /// By their steps.
    workers: BTreeMap<u32, Worker>,
    events: SelectAll<BoxStream<'static, StepEvent>>,
}

struct Worker {
    who: WorkerId,
    host: HostName,
    is_started: bool,
    /// Whether it has sent its account.
    is_done: bool,
}

impl Standing {
    /// Makes a worker that waits for its start; returns its address, if it listens.
    pub(crate) async fn prepare(
        &mut self,
        stage: &Stage,
        (who, host): (WorkerId, &HostName),
        order: &Order,
    ) -> Result<Option<SocketAddr>, ControllerError> {
        let step = self.workers.last_key_value().map_or(1, |(last, _)| last + 1);
        let endpoint = stage.agent(host)?.prepare(self.cell, step as usize, order).await?;
        let worker = Worker { who, host: host.clone(), is_started: false, is_done: false };
        self.workers.insert(step, worker);
        Ok(endpoint)
    }

    /// Starts a worker, or gives it its next turn.
    pub(crate) async fn go(&mut self, stage: &Stage, who: WorkerId) -> Result<(), ControllerError> {
        let cell = self.cell;
        let found = self.workers.iter_mut().rfind(|(_, worker)| worker.who == who);
        let Some((&step, Worker { host, is_started, .. })) = found else { return Ok(()) };
        let mut link = stage.agent(host)?;
        let is_new = !std::mem::replace(is_started, true);
        // An older agent elsewhere can only start all that is prepared.
        if is_new && stage.is_reserved(host) {
            link.start(cell).await?;
        } else {
            link.direct(cell, step, WorkerCommand::Go).await?;
        }
        if is_new {
            self.events.push(words(link, cell, step)?);
        }
        Ok(())
    }

    /// Asks a worker to end in order; its last word is its account.
    pub(crate) async fn stop(&self, stage: &Stage, who: WorkerId) -> Result<(), ControllerError> {
        self.direct(stage, who, WorkerCommand::Stop).await.map(drop)
    }

    /// CPU time of a worker since it was made; `None` when it has ended, and on a reserved host,
    /// because the wait for its answer would fall between two sizes.
    pub(crate) async fn cpu(&self, stage: &Stage, who: WorkerId) -> Option<Span> {
        let (_, worker) = self.newest(who)?;
        if stage.is_reserved(&worker.host) {
            return None;
        }
        self.direct(stage, who, WorkerCommand::Look).await.ok().flatten()
    }

    async fn direct(
        &self,
        stage: &Stage,
        who: WorkerId,
        direction: WorkerCommand,
    ) -> Result<Option<Span>, ControllerError> {
        let Some((&step, worker)) = self.newest(who) else { return Ok(None) };
        stage.agent(&worker.host)?.direct(self.cell, step, direction).await
    }

    fn newest(&self, who: WorkerId) -> Option<(&u32, &Worker)> {
        self.workers.iter().rfind(|(_, worker)| worker.who == who)
    }

    /// The next message within this time; `None` if there is none. The far ends' accounts are not
    /// told, nor that a worker with an account has ended.
    pub(crate) async fn next(&mut self, within: Duration) -> Option<WorkerEvent> {
        timeout(within, self.next_event()).await.ok().flatten()
    }

    /// Like `next`, a message that has arrived already.
    pub(crate) fn already_said(&mut self) -> Option<WorkerEvent> {
        self.next_event().now_or_never().flatten()
    }

    async fn next_event(&mut self) -> Option<WorkerEvent> {
        loop {
            let (step, said) = self.events.next().await?;
            let Some(worker) = self.workers.get_mut(&step) else { continue };
            let who = worker.who;
            match &said {
                Ok(None) if worker.is_done => drop(self.workers.remove(&step)),
                Ok(Some(Word::Done(_))) => {
                    worker.is_done = true;
                    if !matches!(who, WorkerId::End(_, End::Far)) {
                        return Some((who, said));
                    }
                }
                _ => return Some((who, said)),
            }
        }
    }

    /// Waits until all started ends have ended, so that they do not disturb what follows.
    pub(crate) async fn finish(mut self) -> Result<(), ControllerError> {
        let is_left =
            |worker: &Worker| worker.is_started && matches!(worker.who, WorkerId::End(..));
        while self.workers.values().any(is_left) {
            let event = timeout(EXIT_LIMIT, self.events.next()).await.ok().flatten();
            let (step, said) = event.ok_or_else(|| ControllerError::silent(EXIT_LIMIT))?;
            if said?.is_none() {
                self.workers.remove(&step);
            }
        }
        Ok(())
    }
}

/// Functions for workers that stay.
impl Stage {
    /// Begins a cell with workers that are directed one by one.
    pub(crate) fn stand(&mut self) -> Standing {
        self.next_cell += 1;
        Standing { cell: self.next_cell, workers: BTreeMap::new(), events: SelectAll::new() }
    }

    /// Resets the account of the emulator, if there is one.
    pub(crate) fn reset_wire(&mut self) -> Result<(), ControllerError> {
        Ok(self.wire().map_or(Ok(()), WireClient::reset)?)
    }

    /// The account of the emulator since its reset; `None` without one.
    pub(crate) fn wire_account(&mut self) -> Result<Option<WireAccount>, ControllerError> {
        Ok(self.wire().map(WireClient::account).transpose()?)
    }

    fn wire(&mut self) -> Option<&mut WireClient> {
        match &mut self.ground {
            Ground::Testbed(testbed) => testbed.wire.as_mut(),
            Ground::Hosts(_) => None,
        }
    }

    /// Whether the host is a machine that was reserved, and not this one.
    pub(crate) fn is_reserved(&self, host: &HostName) -> bool {
        matches!(&self.ground, Ground::Hosts(hosts) if hosts.machines.of(host).is_some())
    }
}

/// The messages of a started worker, and at last their end.
fn words(
    link: AgentLink,
    cell: u64,
    step: u32,
) -> Result<BoxStream<'static, StepEvent>, ControllerError> {
    let words = link.follow(cell, step)?;
    let told = stream::unfold(Some(words), move |words| async move {
        let mut words = words?;
        let word = words.next().await;
        let is_last = !matches!(word, Ok(Some(_)));
        Some(((step, word), (!is_last).then_some(words)))
    });
    Ok(told.boxed())
}

#[cfg(test)]
impl Standing {
    /// Workers that were started and send these messages.
    pub(crate) fn telling(events: Vec<WorkerEvent>) -> Self {
        let host = HostName::from(btu_contract::network::HostRole::Test);
        let mut standing = Self { cell: 1, workers: BTreeMap::new(), events: SelectAll::new() };
        let mut told = Vec::new();
        for (who, said) in events {
            let known = standing.newest(who).map(|(step, _)| *step);
            let step = known.unwrap_or(standing.workers.len() as u32 + 1);
            let worker = Worker { who, host: host.clone(), is_started: true, is_done: false };
            standing.workers.entry(step).or_insert(worker);
            told.push((step, said));
        }
        standing.events.push(stream::iter(told).boxed());
        standing
    }
}
