//! A host with workers that receive single orders and send messages while they work, for
//! measurements between two ends.
//!
//! A local host is an agent behind a local socket. A remote one is reserved, and a thread of its
//! own keeps the lease, so that the caller may be ordinary blocking code. The workers of a run are
//! one cell, to which steps are added.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use btu_suite::activity::{Order, Word};
use btu_suite::network::HostName;
use btu_units::{Bytes, Span};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::super::client::AgentLink;
use super::super::error::CoordinatorError;
use super::remote_host::{Purpose, RemoteHost};
use super::{Access, HostCall, notes};
use crate::protocol::Direction;

/// The interval at which a waiting caller checks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The expected time of examining a host before a run, for other controllers.
const LOOK_MS: u64 = 30_000;

/// Returns why the caller must not wait any longer, once there is a reason.
pub type Stop = Arc<dyn Fn() -> Option<CoordinatorError> + Send + Sync>;

/// A host with workers that are directed one by one.
pub struct WorkerHost {
    name: String,
    agent: Agent,
    stop: Stop,
    /// The cell that the workers of this run belong to, and the number of the next one.
    cell: AtomicU64,
    next_step: AtomicU32,
    /// The runtime, declared last because it runs the tasks of the others.
    runtime: Runtime,
}

/// The connection to the agent of the host.
enum Agent {
    /// On this machine, behind a socket that only this user can open.
    Local(AgentLink),
    /// Reserved for the run.
    Reserved { controller: String, host: Box<Mutex<RemoteHost>> },
}

/// A worker that waits for its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparedWorker {
    /// Its number among the workers of this run on this host.
    pub step: u32,
    /// Its address, if it listens.
    pub endpoint: Option<SocketAddr>,
}

impl WorkerHost {
    /// Connects to the agent of `station` behind `socket`.
    ///
    /// # Errors
    /// No process listens there, an agent of another version does, or the caller must not wait
    /// (with the reason).
    pub fn local(station: HostName, socket: &Path, stop: Stop) -> Result<Self, CoordinatorError> {
        let runtime = runtime()?;
        let name = station.to_string();
        let link = wait(&runtime, &stop, AgentLink::connect(station, socket))?;
        Ok(Self::over(name, Agent::Local(link), stop, runtime))
    }

    /// Reaches and reserves a host, for this run if there is one already; nothing is measured yet.
    ///
    /// # Errors
    /// A host that cannot be reached, trusted, understood or reserved, or why the caller must not
    /// wait.
    pub fn reach(
        call: &HostCall,
        access: &Access,
        run: Option<&str>,
        stop: Stop,
    ) -> Result<Self, CoordinatorError> {
        let runtime = runtime()?;
        let (name, controller) = (call.name.clone(), access.controller.clone());
        let host = wait(&runtime, &stop, async {
            let mut host = RemoteHost::call(call, access).await?;
            host.reserve(&purpose(run.unwrap_or("a survey"), &controller, LOOK_MS)).await?;
            Ok(host)
        })?;
        Ok(Self::over(
            name,
            Agent::Reserved { controller, host: Box::new(Mutex::new(host)) },
            stop,
            runtime,
        ))
    }

    fn over(name: String, agent: Agent, stop: Stop, runtime: Runtime) -> Self {
        Self { name, agent, stop, cell: AtomicU64::new(1), next_step: AtomicU32::new(1), runtime }
    }

    /// Reserves the host for this run with its expected time; workers of the former run are ended.
    ///
    /// # Errors
    /// The host was lost, or another controller has it, or the caller must not wait (with the
    /// reason).
    pub fn begin(&self, run: &str, expected: Duration) -> Result<(), CoordinatorError> {
        self.next_step.store(1, Ordering::Relaxed);
        self.cell.fetch_add(1, Ordering::Relaxed);
        let Agent::Reserved { controller, host } = &self.agent else { return Ok(()) };
        let expected = u64::try_from(expected.as_millis()).unwrap_or(u64::MAX);
        let purpose = purpose(run, controller, expected);
        self.wait(async {
            let mut host = host.lock().await;
            host.release().await;
            host.reserve(&purpose).await
        })
    }

    /// The description of the host, with its name and, for a remote one, its clock offsets: the
    /// environment as a run stores it.
    ///
    /// # Errors
    /// A host that was lost, or why the caller must not wait.
    pub fn environment(&self) -> Result<Value, CoordinatorError> {
        self.wait(async {
            match &self.agent {
                Agent::Local(link) => {
                    notes::document(&link.clone().describe().await?, &self.name, None)
                }
                Agent::Reserved { host, .. } => {
                    let mut host = host.lock().await;
                    let reply = host.describe().await?;
                    notes::document(&reply, &self.name, host.clock().as_ref())
                }
            }
        })
    }

    /// Has the host hold a source file for the disk activity; returns the path for its workers.
    ///
    /// # Errors
    /// A directory without room, a host that was lost, or why the caller must not wait.
    pub fn prepare_disk_file(
        &self,
        directory: &Path,
        file: Bytes,
        seed: u64,
    ) -> Result<PathBuf, CoordinatorError> {
        self.wait(async { self.link().await.prepare_disk_file(directory, file, seed).await })
    }

    /// Has the host make a worker.
    ///
    /// # Errors
    /// The host's policy forbids it, its worker cannot perform it, a host that was lost, or why the
    /// caller must not wait.
    pub fn prepare(&self, order: &Order) -> Result<PreparedWorker, CoordinatorError> {
        let step = self.next_step.fetch_add(1, Ordering::Relaxed);
        let endpoint = self
            .wait(async { self.link().await.prepare(self.cell(), step as usize, order).await })?;
        Ok(PreparedWorker { step, endpoint })
    }

    /// Starts a prepared worker; on a remote host any other that is prepared, too. Each of its
    /// messages is passed to `hear`, on another thread, and at last their end, or why messages were
    /// lost; until the receiver stops.
    ///
    /// # Errors
    /// A host that was lost, or why the caller must not wait.
    pub fn start(
        &self,
        step: u32,
        mut hear: impl FnMut(Result<Option<Word>, CoordinatorError>) -> bool + Send + 'static,
    ) -> Result<(), CoordinatorError> {
        let mut words = self.wait(async {
            let mut link = self.link().await;
            match self.agent {
                Agent::Local(_) => drop(link.direct(self.cell(), step, Direction::Go).await?),
                Agent::Reserved { .. } => link.start(self.cell()).await?,
            }
            link.follow(self.cell(), step).await
        })?;
        self.runtime.spawn(async move {
            loop {
                let word = words.next().await;
                let is_over = !matches!(word, Ok(Some(_)));
                if !hear(word) || is_over {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Gives a worker that measures in turns its next turn.
    ///
    /// # Errors
    /// As for all that follow: a host that was lost, or why the caller must not wait.
    pub fn go_on(&self, step: u32) -> Result<(), CoordinatorError> {
        self.direct(step, Direction::Go).map(drop)
    }

    /// Asks a worker to end in order; its last word is its account.
    ///
    /// # Errors
    /// See [`Self::go_on`].
    pub fn stop(&self, step: u32) -> Result<(), CoordinatorError> {
        self.direct(step, Direction::Stop).map(drop)
    }

    /// Kills a worker, if it has not ended. One of a reserved host ends with its reservation: a
    /// request could take as long as the wait for a lost host.
    ///
    /// # Errors
    /// See [`Self::go_on`].
    pub fn kill(&self, step: u32) -> Result<(), CoordinatorError> {
        match self.agent {
            Agent::Local(_) => self.direct(step, Direction::Kill).map(drop),
            Agent::Reserved { .. } => Ok(()),
        }
    }

    /// CPU time of a worker since it was made; `None` when it has ended, and on a reserved host,
    /// because the wait for its answer would fall between two sizes.
    ///
    /// # Errors
    /// See [`Self::go_on`].
    pub fn cpu(&self, step: u32) -> Result<Option<Span>, CoordinatorError> {
        match self.agent {
            Agent::Local(_) => self.direct(step, Direction::Look),
            Agent::Reserved { .. } => Ok(None),
        }
    }

    fn direct(&self, step: u32, direction: Direction) -> Result<Option<Span>, CoordinatorError> {
        self.wait(async { self.link().await.direct(self.cell(), step, direction).await })
    }

    fn cell(&self) -> u64 {
        self.cell.load(Ordering::Relaxed)
    }

    fn wait<T>(
        &self,
        asked: impl Future<Output = Result<T, CoordinatorError>>,
    ) -> Result<T, CoordinatorError> {
        wait(&self.runtime, &self.stop, asked)
    }

    async fn link(&self) -> AgentLink {
        match &self.agent {
            Agent::Local(link) => link.clone(),
            Agent::Reserved { host, .. } => host.lock().await.link.clone(),
        }
    }
}

/// Releases a reserved host; the end of the lease frees one that does not answer.
impl Drop for WorkerHost {
    fn drop(&mut self) {
        if let Agent::Reserved { host, .. } = &mut self.agent {
            self.runtime.block_on(async { host.get_mut().release().await });
        }
    }
}

/// One thread in addition to the caller's: it renews the lease once a second and reads the messages
/// of the host's workers.
fn runtime() -> Result<Runtime, CoordinatorError> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|source| CoordinatorError::System {
        operation: "starting the coordinator's runtime",
        source,
    })
}

fn purpose(run: &str, controller: &str, expected_ms: u64) -> Purpose {
    let left_ms = Arc::new(AtomicU64::new(expected_ms));
    Purpose { run: run.to_owned(), controller: controller.to_owned(), left_ms }
}

/// Waits for the host's answer, or until `stop` returns a reason.
fn wait<T>(
    runtime: &Runtime,
    stop: &Stop,
    asked: impl Future<Output = Result<T, CoordinatorError>>,
) -> Result<T, CoordinatorError> {
    let stopped = async {
        loop {
            if let Some(error) = stop() {
                return error;
            }
            sleep(LOOK_EVERY).await;
        }
    };
    runtime.block_on(async {
        tokio::select! {
            answer = asked => answer,
            error = stopped => Err(error),
        }
    })
}
