//! One host beside this machine: the far end of what is measured between the two.
//!
//! Its lease is kept by a thread of this room's own, so that the caller may be ordinary blocking code. All that a reservation
//! does is one cell, to which workers are added; they are ended with it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use btu_suite::activity::{Order, Word};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::super::client::AgentLink;
use super::super::error::CoordinatorError;
use super::guest::{Guest, Purpose};
use super::{Access, HostCall, notes};

/// The one cell of a reservation.
const CELL: u64 = 1;

/// How often a caller that waits looks whether it was interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long looking at a host before there is a run takes, for those who ask meanwhile.
const LOOK_MS: u64 = 30_000;

/// Says why the caller shall not wait any longer, once that is so.
pub type Stop = Arc<dyn Fn() -> Option<CoordinatorError> + Send + Sync>;

/// A host that is ours, beside this machine.
pub struct Counterpart {
    name: String,
    controller: String,
    guest: Mutex<Guest>,
    stop: Stop,
    /// Last, since the others' tasks are its own.
    runtime: Runtime,
}

impl Counterpart {
    /// Reaches and reserves a host, for this run if there is one already; nothing is measured yet.
    ///
    /// # Errors
    /// A host that cannot be reached, trusted, understood or reserved, or why the caller shall not wait.
    pub fn reach(call: &HostCall, access: &Access, run: Option<&str>, stop: Stop) -> Result<Self, CoordinatorError> {
        // One thread beside the caller's: it renews the lease once a second and reads what the host's workers say.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime
            .map_err(|source| CoordinatorError::System { operation: "starting the coordinator's runtime", source })?;
        let (name, controller) = (call.name.clone(), access.controller.clone());
        let guest = wait(&runtime, &stop, async {
            let mut guest = Guest::call(call, access).await?;
            guest.reserve(&purpose(run.unwrap_or("a survey"), &controller, LOOK_MS)).await?;
            Ok(guest)
        })?;
        Ok(Self { name, controller, guest: Mutex::new(guest), stop, runtime })
    }

    /// Reserves the host for this run, expected to take so long; workers of the one before are ended.
    ///
    /// # Errors
    /// A host that was lost or is somebody else's, or why the caller shall not wait.
    pub fn reserve(&self, run: &str, expected: Duration) -> Result<(), CoordinatorError> {
        let expected = u64::try_from(expected.as_millis()).unwrap_or(u64::MAX);
        let purpose = purpose(run, &self.controller, expected);
        self.wait(async {
            let mut guest = self.guest.lock().await;
            guest.release().await;
            guest.reserve(&purpose).await
        })
    }

    /// What the host is like, with its name and where its clocks stand: the environment as a run stores it.
    ///
    /// # Errors
    /// A host that was lost, or why the caller shall not wait.
    pub fn environment(&self) -> Result<Value, CoordinatorError> {
        self.wait(async {
            let mut guest = self.guest.lock().await;
            let reply = guest.describe().await?;
            notes::document(&reply, &self.name, guest.clock().as_ref())
        })
    }

    /// Has a worker made; where it listens, if it does. No two of a reservation have the same `step`.
    ///
    /// # Errors
    /// What the host's policy forbids or its worker cannot do, a host that was lost, or why the caller shall not wait.
    pub fn prepare(&self, step: u32, order: &Order) -> Result<Option<SocketAddr>, CoordinatorError> {
        self.wait(async { self.link().await.prepare(CELL, step as usize, order).await })
    }

    /// Starts a prepared worker, and any other that is prepared. Each of its words is handed to `hear`, on another thread, then
    /// that nothing more comes, or why its words were lost; until it is not heard any more.
    ///
    /// # Errors
    /// A host that was lost, or why the caller shall not wait.
    pub fn start(
        &self,
        step: u32,
        mut hear: impl FnMut(Result<Option<Word>, CoordinatorError>) -> bool + Send + 'static,
    ) -> Result<(), CoordinatorError> {
        let mut words = self.wait(async {
            let mut link = self.link().await;
            link.start(CELL).await?;
            link.follow(CELL, step).await
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

    fn wait<T>(&self, asked: impl Future<Output = Result<T, CoordinatorError>>) -> Result<T, CoordinatorError> {
        wait(&self.runtime, &self.stop, asked)
    }

    async fn link(&self) -> AgentLink {
        self.guest.lock().await.link.clone()
    }
}

/// Gives the host back; one that does not take it is freed by the end of its lease.
impl Drop for Counterpart {
    fn drop(&mut self) {
        let Self { guest, runtime, .. } = self;
        runtime.block_on(async { guest.get_mut().release().await });
    }
}

fn purpose(run: &str, controller: &str, expected_ms: u64) -> Purpose {
    let left_ms = Arc::new(AtomicU64::new(expected_ms));
    Purpose { run: run.to_owned(), controller: controller.to_owned(), left_ms }
}

/// Waits for the host's answer, or until `stop` says why not.
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
